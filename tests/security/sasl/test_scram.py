"""SCRAM against the examples of its RFCs, and against messages that someone has changed."""

import base64
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.security.sasl import scram
from gralha.security.sasl.exchange import (
    SCRAM_MECHANISMS,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    AuthenticationError,
)
from gralha.security.sasl.scram import new_credential
from gralha.security.sasl.scram_client import ScramClient
from gralha.security.sasl.scram_fakes import ScramFakes
from gralha.security.sasl.scram_server import ScramServer, ScramUser, ScramUsers

SALT = b"a salt of 16 byte"
CREDENTIALS = {
    (mechanism, name): new_credential(mechanism, password, SALT, 4096)
    for mechanism in SCRAM_MECHANISMS
    for name, password in (("alice", "secret"), ("a=b,c", "other"), ("jürgen", "пароль"))
}
TOKEN = new_credential(SCRAM_SHA_256, "hmac of a token", SALT, 4096)


def users(mechanism: str = SCRAM_SHA_256) -> ScramUsers:
    def by_name(name: str) -> ScramUser | None:
        credential = CREDENTIALS.get((mechanism, name))
        return None if credential is None else ScramUser(name, credential)

    def by_token_id(name: str) -> ScramUser | None:
        return ScramUser("owner", TOKEN, 1_000) if name == "token-1" else None

    fakes = ScramFakes(b"a secret of the cluster", mechanism, [])
    return ScramUsers(by_name, by_token_id, fakes.salt_and_iterations, fakes.salt_and_iterations)


def server(mechanism: str = SCRAM_SHA_256, seed: int = 1) -> ScramServer:
    return ScramServer(mechanism, users(mechanism), Random(seed).randbytes)


def client(user: str = "alice", password: str = "secret", mechanism: str = SCRAM_SHA_256) -> ScramClient:
    return ScramClient(mechanism, user, password, Random(2).randbytes)


def talk(one: ScramClient, other: ScramServer) -> None:
    token: bytes | None = one.first()
    while token is not None:
        token = one.step(other.step(token))


# RFC 5802, section 5 (with SHA-1), and RFC 7677, section 3
RFC_5802 = (
    "sha1",
    "fyko+d2lbbFgONRv9qkxdawL",
    "3rfcNHYJY1ZVvWVs7j",
    "QSXCR+Q6sek8bf92",
    "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
    "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
)
RFC_7677 = (
    "sha256",
    "rOprNGfwEbeRWgbNEkqO",
    "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    "W22ZaJ0SNY7soEsUEjb6gQ==",
    "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
)


@pytest.mark.parametrize("vector", [RFC_5802, RFC_7677])
def test_the_examples_of_the_rfcs(vector: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    hash_name, client_nonce, server_nonce, salt, proof, signature = vector
    monkeypatch.setitem(scram.HASHES, "SCRAM-EXAMPLE", hash_name)
    nonces = iter([client_nonce, server_nonce])
    monkeypatch.setattr(scram, "new_nonce", lambda _random: next(nonces))
    credential = new_credential("SCRAM-EXAMPLE", "pencil", base64.b64decode(salt), 4096)
    one = ScramClient("SCRAM-EXAMPLE", "user", "pencil", Random(1).randbytes)
    known = ScramUsers(
        lambda name: ScramUser(name, credential), lambda _: None, lambda _: (b"", 4096), lambda _: (b"", 4096)
    )
    other = ScramServer("SCRAM-EXAMPLE", known, Random(1).randbytes)

    first = one.first()
    assert first.decode() == f"n,,n=user,r={client_nonce}"
    challenge = other.step(first)
    assert challenge.decode() == f"r={client_nonce}{server_nonce},s={salt},i=4096"
    final = one.step(challenge)
    assert final is not None
    assert final.decode() == f"c=biws,r={client_nonce}{server_nonce},p={proof}"
    answer = other.step(final)
    assert answer.decode() == f"v={signature}"
    assert one.step(answer) is None
    assert other.user == "user"


@pytest.mark.parametrize(("mechanism", "user"), CREDENTIALS)
def test_users_log_in(mechanism: str, user: str) -> None:
    password = {"alice": "secret", "a=b,c": "other", "jürgen": "пароль"}[user]
    other = server(mechanism)
    talk(client(user, password, mechanism), other)
    assert other.is_done
    assert other.user == user
    assert not other.is_token_authenticated


def test_another_spelling_of_the_name_is_the_same_user() -> None:
    other = server()
    talk(client("ju\u0308rgen", "пароль"), other)
    assert other.user == "jürgen"


def test_a_name_with_forbidden_characters_is_no_user() -> None:
    with pytest.raises(AuthenticationError, match="wrong password, or no such user"):
        talk(client("alice\u200e"), server())


def test_an_unknown_user_gets_the_same_salt_each_time_and_fails_at_the_proof() -> None:
    salts = set()
    for seed in range(3):
        other = server(seed=seed)
        one = client("nobody")
        challenge = other.step(one.first())
        assert challenge.decode().endswith(",i=4096")
        salts.add(challenge.decode().split(",")[1])
        final = one.step(challenge)
        assert final is not None
        with pytest.raises(AuthenticationError) as error:
            other.step(final)
        assert error.value.told is None
    assert len(salts) == 1
    another = client("somebody")
    assert server().step(another.first()).decode().split(",")[1] not in salts


@pytest.mark.parametrize("name", ["nobody", "jürgen"])
def test_all_spellings_of_a_name_get_the_same_salt(name: str) -> None:
    salts = {
        server().step(client(spelling).first()).decode().split(",")[1]
        for spelling in (name, name + "\u00ad", name.replace("ü", "u\u0308"))
    }
    assert len(salts) == 1


def test_a_wrong_password_and_an_unknown_user_have_the_same_error() -> None:
    errors = []
    for one in (client(password="wrong"), client("nobody")):
        with pytest.raises(AuthenticationError) as error:
            talk(one, server())
        errors.append((str(error.value), error.value.told))
    assert errors[0] == errors[1]


def test_a_delegation_token_authenticates_its_owner() -> None:
    one = ScramClient(SCRAM_SHA_256, "token-1", "hmac of a token", Random(1).randbytes, with_token=True)
    assert one.first().endswith(b",tokenauth=true")
    other = server()
    talk(one, other)
    assert (other.user, other.is_token_authenticated, other.expires_ms) == ("owner", True, 1_000)


def test_the_id_of_a_token_is_no_user_name() -> None:
    with pytest.raises(AuthenticationError):
        talk(client("token-1", "hmac of a token"), server())


@pytest.mark.parametrize(
    "message",
    [
        "",
        "n",
        "n,,",
        "n,,n=alice",
        "n,,r=abc,n=alice",  # another order
        "n,,n=,r=abc",
        "n,,n=alice,r=",
        "n,,n=al=ice,r=abc",  # a wrong escape
        "n,,n=alice,r=a c",
        "n,,n=alice,r=abc,",
        "n,,n=alice,r=abc,=x",
        "n,,m=must,n=alice,r=abc",  # a mandatory extension
        "n,,n=alice,r=abc,m=must",
        "p=tls-unique,,n=alice,r=abc",  # channel binding
        "x,,n=alice,r=abc",
        "n,alice,n=alice,r=abc",
        "n,a=,n=alice,r=abc",
        "n,a=b=x,n=alice,r=abc",
        "c=biws,r=abc,p=AAAA",  # the final message first
        "n,,n=ali\0ce,r=abc",
    ],
)
def test_wrong_first_messages_are_refused(message: str) -> None:
    other = server()
    with pytest.raises(AuthenticationError):
        other.step(message.encode())
    with pytest.raises(AuthenticationError, match="over"):
        other.step(client().first())


@pytest.mark.parametrize("header", ["n,,", "y,,", "n,a=alice,", "y,a=alice,"])
def test_the_client_must_repeat_its_header(header: str) -> None:
    for repeated in ("n,,", "y,,", "n,a=alice,", "y,a=alice,", "p=tls-unique,,", "n"):
        other = server()
        one = client()
        bare = one.first().decode().removeprefix("n,,")
        challenge = other.step((header + bare).encode()).decode()
        final = _final(bare, challenge, repeated)
        if repeated == header:
            other.step(final)
            assert other.user == "alice"
        else:
            with pytest.raises(AuthenticationError, match="channel binding"):
                other.step(final)
            assert not other.is_done


def test_an_old_librdkafka_repeats_its_nonce() -> None:
    other = server()
    bare = client().first().decode().removeprefix("n,,")
    challenge = other.step(f"n,,{bare}".encode()).decode()
    other.step(_final(bare, challenge, "n,,", bare.rpartition("r=")[2]))
    assert other.user == "alice"


@pytest.mark.parametrize("change", [lambda nonce: nonce + "x", lambda nonce: nonce[1:], lambda nonce: "x"])
def test_another_nonce_is_refused_even_with_a_right_proof(change: Callable[[str], str]) -> None:
    other = server()
    bare = client().first().decode().removeprefix("n,,")
    challenge = other.step(f"n,,{bare}".encode()).decode()
    final = _final(bare, challenge, "n,,", change=change)
    with pytest.raises(AuthenticationError, match="nonce"):
        other.step(final)


def _final(
    bare: str, challenge: str, header: str, before: str = "", change: Callable[[str], str] = str
) -> bytes:
    """A client's final message with a right proof, for any header and nonce."""
    nonce = before + change(challenge.split(",")[0].removeprefix("r="))
    without_proof = f"c={base64.b64encode(header.encode()).decode()},r={nonce}"
    signed = f"{bare},{challenge},{without_proof}".encode()
    salted = scram.salted_password("sha256", "secret", SALT, 4096)
    key = scram.client_key("sha256", salted)
    import hmac

    signature = hmac.digest(scram.stored_key("sha256", key), signed, "sha256")
    proof = base64.b64encode(scram.exclusive_or(key, signature)).decode()
    return f"{without_proof},p={proof}".encode()


def test_another_identity_is_refused_after_a_right_proof() -> None:
    other = server()
    bare = client().first().decode().removeprefix("n,,")
    challenge = other.step(f"n,a=bob,{bare}".encode()).decode()
    with pytest.raises(AuthenticationError) as error:
        other.step(_final(bare, challenge, "n,a=bob,"))
    assert error.value.told is not None
    assert not other.is_done


def test_a_recorded_exchange_cannot_be_replayed() -> None:
    one, recorded = client(), server(seed=1)
    first = one.first()
    final = one.step(recorded.step(first))
    assert final is not None
    recorded.step(final)

    other = server(seed=2)
    other.step(first)
    with pytest.raises(AuthenticationError, match="nonce"):
        other.step(final)


def test_an_exchange_ends_after_success() -> None:
    other = server()
    talk(client(), other)
    with pytest.raises(AuthenticationError, match="over"):
        other.step(client().first())


def test_extensions_are_allowed_and_signed() -> None:
    other = server()
    bare = client().first().decode().removeprefix("n,,") + ",x=1,tokenauth=false"
    challenge = other.step(f"n,,{bare}".encode()).decode()
    other.step(_final(bare, challenge, "n,,"))
    assert other.user == "alice"


@given(st.data())
def test_changed_messages_of_a_client_are_refused(data: st.DataObject) -> None:
    """One message of an exchange is changed: no other error comes, and nobody is logged in."""
    one, other = client(), server()
    first = one.first()
    which = data.draw(st.sampled_from(["first", "final"]))
    if which == "first":
        changed = data.draw(mutations(first))
        try:
            challenge = other.step(changed)
            final = one.step(challenge)
            assert final is not None
            other.step(final)
        except AuthenticationError:
            assert not other.is_done
            return
        # Only a message with the same meaning for the signature may pass.
        assert changed == first
        return
    final = one.step(other.step(first))
    assert final is not None
    changed = data.draw(mutations(final))
    if changed == final:
        other.step(changed)
        return
    with pytest.raises(AuthenticationError):
        other.step(changed)
    assert not other.is_done


def mutations(message: bytes) -> st.SearchStrategy[bytes]:
    places = st.integers(0, len(message) - 1)
    return st.one_of(
        places.map(lambda end: message[:end]),
        st.tuples(places, st.integers(0, 255)).map(
            lambda one: message[: one[0]] + bytes([one[1]]) + message[one[0] + 1 :]
        ),
        st.tuples(places, st.binary(max_size=8)).map(
            lambda one: message[: one[0]] + one[1] + message[one[0] :]
        ),
        st.tuples(places, places).map(lambda one: message[one[0] :] + message[: one[1]]),
        st.binary(max_size=80),
    )


# The client


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"r=abc,s=QSXC,i=4096",  # another nonce
        b"r=NONCE,s=QSXC,i=4096",  # nothing of the server in it
        b"r=NONCEx,s=QSXC,i=1",  # too few iterations: the password could be guessed
        b"r=NONCEx,s=QSXC,i=99999999",  # too many
        b"r=NONCEx,s=QSXC,i=4096x",
        b"r=NONCEx,s=Q,i=4096",
        b"s=QSXC,r=NONCEx,i=4096",
        b"m=x,r=NONCEx,s=QSXC,i=4096",
        b"\xff",
    ],
)
def test_the_client_refuses_wrong_challenges(answer: bytes) -> None:
    one = client()
    nonce = one.first().rpartition(b"r=")[2]
    with pytest.raises(AuthenticationError):
        one.step(answer.replace(b"NONCE", nonce))


def test_the_client_finds_a_server_that_does_not_know_the_keys() -> None:
    one = client()
    challenge = server().step(one.first())
    one.step(challenge)
    with pytest.raises(AuthenticationError, match="false broker"):
        one.step(b"v=" + base64.b64encode(bytes(32)))


def test_the_client_tells_the_error_of_the_server() -> None:
    one = client()
    one.step(server().step(one.first()))
    with pytest.raises(AuthenticationError, match="invalid-proof"):
        one.step(b"e=invalid-proof")


def test_no_repr_shows_keys_or_passwords() -> None:
    credential = CREDENTIALS[SCRAM_SHA_512, "alice"]
    shown = repr(credential) + repr(client()) + repr(server()) + repr(ScramUser("alice", credential))
    assert "secret" not in shown
    assert repr(credential.stored_key) not in shown
    assert repr(credential.salt) not in shown
