"""OAUTHBEARER: the messages, and the validation of tokens with real keys."""

import base64
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from gralha.security.sasl.exchange import AuthenticationError
from gralha.security.sasl.oauthbearer import (
    InvalidTokenError,
    OAuthBearerClient,
    OAuthBearerServer,
    ValidToken,
)
from gralha.security.sasl.tokens import KeySet, TokenRules, TokenValidator, parse_key_set

NOW_S = 1_800_000_000
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
CLAIMS: dict[str, Any] = {
    "sub": "alice",
    "aud": "kafka",
    "iss": "https://issuer.example",
    "exp": NOW_S + 60,
    "iat": NOW_S,
}


def key_set() -> KeySet:
    rsa_entry = {**RSAAlgorithm.to_jwk(RSA_KEY.public_key(), as_dict=True), "kid": "rsa", "use": "sig"}
    ec_entry = {**ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True), "kid": "ec", "alg": "ES256"}
    shared = {"kty": "oct", "k": "AAAA", "kid": "shared"}
    encryption = {**rsa_entry, "kid": "encryption", "use": "enc"}
    return parse_key_set(json.dumps({"keys": [rsa_entry, ec_entry, shared, encryption]}))


KEYS = key_set()
RULES = TokenRules(audiences=("kafka", "other"), issuer="https://issuer.example")


def token(
    claims: dict[str, Any] | None = None, *, key: Any = RSA_KEY, algorithm: str = "RS256", kid: str = "rsa"
) -> str:
    return jwt.encode({**CLAIMS, **(claims or {})}, key, algorithm=algorithm, headers={"kid": kid})


def validator(rules: TokenRules = RULES, now_s: float = NOW_S) -> TokenValidator:
    return TokenValidator(rules, lambda: KEYS, lambda: int(now_s * 1000))


def server() -> OAuthBearerServer:
    return OAuthBearerServer(validator())


def test_a_valid_token_authenticates_its_subject() -> None:
    client, exchange = OAuthBearerClient(token(), {"logicalCluster": "one"}), server()
    assert client.step(exchange.step(client.first())) is None
    assert exchange.is_done
    assert (exchange.user, exchange.expires_ms) == ("alice", (NOW_S + 60) * 1000)


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA_KEY, "RS512", "rsa"), (RSA_KEY, "PS256", "rsa"), (EC_KEY, "ES256", "ec")],
)
def test_algorithms_with_public_keys_are_accepted(key: Any, algorithm: str, kid: str) -> None:
    assert validator()(token(key=key, algorithm=algorithm, kid=kid)).user == "alice"


def test_other_claims_can_name_the_user_and_the_scope() -> None:
    rules = RULES._replace(subject_claim="client", scope_claim="scp")
    claims = {"client": " service ", "scp": ["read", "write"]}
    assert validator(rules)(token(claims)) == ValidToken(
        "service", (NOW_S + 60) * 1000, frozenset({"read", "write"})
    )


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": NOW_S - 31}, "expired"),
        ({"exp": None}, "no valid claim exp"),
        ({"exp": "soon"}, "no valid claim exp"),
        ({"exp": True}, "no valid claim exp"),
        ({"exp": float("inf")}, "no valid claim exp"),
        ({"nbf": NOW_S + 31}, "not valid yet"),
        ({"iat": NOW_S + 31}, "issued in the future"),
        ({"aud": "somebody"}, "another audience"),
        ({"aud": None}, "another audience"),
        ({"aud": ["somebody"]}, "another audience"),
        ({"aud": {"kafka": 1}}, "another audience"),
        ({"iss": "https://false.example"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"sub": None}, "no claim sub"),
        ({"sub": " "}, "no claim sub"),
        ({"scope": 1}, "scope"),
        ({"scope": ["a", 1]}, "scope"),
    ],
)
def test_tokens_with_other_claims_are_refused(claims: dict[str, Any], why: str) -> None:
    encoded = _signed({name: value for name, value in {**CLAIMS, **claims}.items() if value is not None})
    with pytest.raises(InvalidTokenError, match=why):
        validator()(encoded)


def _signed(claims: dict[str, Any], header: dict[str, Any] | None = None) -> str:
    """Signs without PyJWT's own checks of claims."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    parts = [{"alg": "RS256", "kid": "rsa", **(header or {})}, claims]
    text = b".".join(_base64(json.dumps(part).encode()) for part in parts)
    signature = RSA_KEY.sign(text, padding.PKCS1v15(), hashes.SHA256())
    return (text + b"." + _base64(signature)).decode()


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def test_the_clock_may_differ_by_the_skew() -> None:
    assert validator(now_s=NOW_S + 89)(token()).user == "alice"
    assert validator(now_s=NOW_S - 30)(token()).user == "alice"
    with pytest.raises(InvalidTokenError, match="expired"):
        validator(now_s=NOW_S + 90)(token())


def test_a_token_for_an_audience_needs_a_rule_about_it() -> None:
    with pytest.raises(InvalidTokenError, match="another audience"):
        validator(RULES._replace(audiences=()))(token())


@pytest.mark.parametrize(
    ("encoded", "why"),
    [
        (token(key=OTHER_KEY), "signature"),
        (token(kid="unknown"), "unknown key"),
        (token(kid=""), "unknown key"),
        (token(kid="encryption"), "unknown key"),
        (jwt.encode(CLAIMS, None, algorithm="none", headers={"kid": "rsa"}), "algorithm"),  # type: ignore[arg-type]
        (jwt.encode(CLAIMS, "k" * 32, algorithm="HS256", headers={"kid": "rsa"}), "algorithm"),
        (jwt.encode(CLAIMS, "k" * 32, algorithm="HS256", headers={"kid": "shared"}), "unknown key"),
        (token(key=EC_KEY, algorithm="ES256", kid="rsa"), "algorithm"),
        (token(algorithm="RS256", kid="ec"), "algorithm"),
        ("a.b.c", "not a JWT"),
        ("a" * 70_000, "too long"),
    ],
)
def test_tokens_without_a_right_signature_are_refused(encoded: str, why: str) -> None:
    with pytest.raises(InvalidTokenError, match=why) as error:
        validator()(encoded)
    assert encoded not in str(error.value)


def test_the_public_key_is_no_shared_secret() -> None:
    """An attacker knows the public key, and may use it as the key of an HMAC."""
    import hashlib
    import hmac

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    pem = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    parts = [{"alg": "HS256", "kid": "rsa"}, CLAIMS]
    text = b".".join(_base64(json.dumps(part).encode()) for part in parts)
    forged = text + b"." + _base64(hmac.digest(pem, text, hashlib.sha256))
    with pytest.raises(InvalidTokenError, match="algorithm"):
        validator()(forged.decode())


def test_a_changed_token_is_refused() -> None:
    header, claims, signature = token().split(".")
    body = json.loads(base64.urlsafe_b64decode(claims + "=="))
    other = _base64(json.dumps({**body, "sub": "admin"}).encode()).decode()
    with pytest.raises(InvalidTokenError, match="signature"):
        validator()(f"{header}.{other}.{signature}")


def test_an_unknown_key_asks_for_new_keys() -> None:
    asked: list[bool] = []
    validate = TokenValidator(RULES, lambda: KEYS, lambda: NOW_S * 1000, lambda: asked.append(True))
    with pytest.raises(InvalidTokenError):
        validate(token(kid="new"))
    assert asked == [True]


def test_a_critical_header_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidTokenError):
        validator()(_signed(CLAIMS, {"crit": ["magic"], "magic": 1}))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": []}', '{"keys": [1]}', '{"keys": [{"kty": "RSA"}]}']
)
def test_wrong_key_sets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="key"):
        parse_key_set(text)


# Messages


def test_a_refused_token_is_answered_with_json_and_then_with_an_error() -> None:
    client, exchange = OAuthBearerClient(token(key=OTHER_KEY)), server()
    answer = exchange.step(client.first())
    assert json.loads(answer) == {"status": "invalid_token"}
    assert client.step(answer) == b"\x01"
    with pytest.raises(AuthenticationError) as error:
        exchange.step(b"\x01")
    assert error.value.told == '{"status":"invalid_token"}'
    assert not exchange.is_done
    with pytest.raises(AuthenticationError):
        client.step(b"")


def test_after_a_refused_token_another_one_is_not_accepted() -> None:
    exchange = server()
    exchange.step(OAuthBearerClient(token(key=OTHER_KEY)).first())
    with pytest.raises(AuthenticationError):
        exchange.step(OAuthBearerClient(token()).first())


def test_the_identity_must_be_the_subject() -> None:
    server().step(f"n,a=alice,\x01auth=Bearer {token()}\x01\x01".encode())
    with pytest.raises(AuthenticationError) as error:
        server().step(f"n,a=bob,\x01auth=Bearer {token()}\x01\x01".encode())
    assert error.value.told is not None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer T\x01",
        b"y,,\x01auth=Bearer T\x01\x01",
        b"p=x,,\x01auth=Bearer T\x01\x01",
        b"n,x,\x01auth=Bearer T\x01\x01",
        b"n,,\x01auth=Basic T\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer T\x01auth=Bearer T\x01\x01",
        b"n,,\x01a1=x\x01auth=Bearer T\x01\x01",
        b"n,,\x01host=x\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
    ],
)
def test_malformed_messages_are_refused(message: bytes) -> None:
    with pytest.raises(AuthenticationError):
        server().step(message)


@given(st.data())
def test_changed_messages_do_not_crash_the_server(data: st.DataObject) -> None:
    message = OAuthBearerClient("e30.e30.e30", {"a": "b"}).first()
    place = data.draw(st.integers(0, len(message)))
    changed = (
        message[:place] + data.draw(st.binary(max_size=8)) + message[place + data.draw(st.integers(0, 9)) :]
    )
    exchange = server()
    try:
        answer = exchange.step(changed)
    except AuthenticationError:
        pass
    else:
        assert json.loads(answer) == {"status": "invalid_token"}
    assert not exchange.is_done


@pytest.mark.parametrize("extensions", [{"auth": "x"}, {"a1": "x"}, {"a": "\x01"}])
def test_the_client_refuses_extensions_that_would_change_the_message(extensions: dict[str, str]) -> None:
    with pytest.raises(AuthenticationError):
        OAuthBearerClient("token", extensions)
