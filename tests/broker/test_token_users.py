"""Delegation tokens as users of SCRAM: whole exchanges, and what `TokenUsers` remembers."""

import asyncio
from functools import partial
from random import Random

import pytest

from gralha.broker.token_users import TokenUsers, fake_of_token
from gralha.metadata.delegation_tokens import DelegationToken, TokenKey
from gralha.security.sasl.exchange import AuthenticationError
from gralha.security.sasl.scram import to_base64
from gralha.security.sasl.scram_client import ScramClient
from gralha.security.sasl.scram_fakes import ScramFakes
from gralha.security.sasl.scram_server import ScramServer, ScramUsers

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
KEY = TokenKey("the key")
NOW_MS = 1000
SECRET = b"of the fake salts"


def token(
    name: str, owner: str = "User:alice", expires_ms: int = 5000, max_ms: int = 9000
) -> DelegationToken:
    return DelegationToken(name, owner, "User:bob", (), 0, max_ms, expires_ms)


class Tokens:
    """The tokens of a cluster, and the users made of them."""

    def __init__(self, *tokens: DelegationToken, mechanism: str = MECHANISMS[1]) -> None:
        self.tokens = {one.id: one for one in tokens}
        self.now_ms = NOW_MS
        self.mechanism = mechanism
        self.users = TokenUsers(mechanism, KEY, SECRET, lambda: self.tokens, lambda: self.now_ms)
        self.randomness = Random(1)

    def scram_users(self) -> ScramUsers:
        fake_of_user = ScramFakes(SECRET, self.mechanism, []).salt_and_iterations
        return ScramUsers(
            lambda _name: None, self.users.find, fake_of_user, partial(fake_of_token, SECRET, self.mechanism)
        )

    def login(self, name: str, password: str | None = None) -> ScramServer:
        """The server's side after an exchange. Raises AuthenticationError."""
        server = ScramServer(
            self.mechanism,
            self.scram_users(),
            self.randomness.randbytes,
        )
        secret = to_base64(KEY.secret(name)) if password is None else password
        client = ScramClient(self.mechanism, name, secret, self.randomness.randbytes, with_token=True)
        answer = client.step(server.step(client.first()))
        assert answer is not None
        assert client.step(server.step(answer)) is None
        return server


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_token_logs_in_as_its_owner_until_it_expires(mechanism: str) -> None:
    tokens = Tokens(token("t"), token("short", max_ms=2000), mechanism=mechanism)
    server = tokens.login("t")
    assert (server.user, server.expires_ms, server.is_token_authenticated) == ("alice", 5000, True)
    assert tokens.login("short").expires_ms == 2000
    # After a renewal the next login ends later.
    tokens.tokens = {"t": token("t", expires_ms=8000)}
    assert tokens.login("t").expires_ms == 8000


def test_an_expired_token_does_not_log_in_before_it_is_removed() -> None:
    tokens = Tokens(token("t"), token("old", expires_ms=9999))
    tokens.now_ms = 5000
    tokens.login("t")
    tokens.now_ms = 5001
    with pytest.raises(AuthenticationError, match="wrong password, or no such user"):
        tokens.login("t")
    tokens.now_ms = 9001
    with pytest.raises(AuthenticationError, match="wrong password, or no such user"):
        tokens.login("old")


@pytest.mark.parametrize(
    ("name", "password"), [("t", "wrong"), ("t", to_base64(KEY.secret("u"))), ("x", None), ("group", None)]
)
def test_what_is_no_token_fails_like_a_wrong_password(name: str, password: str | None) -> None:
    tokens = Tokens(token("t"), token("u"), token("group", owner="Group:alice"))
    with pytest.raises(AuthenticationError, match="wrong password, or no such user"):
        tokens.login(name, password)


def test_an_unknown_token_has_the_salt_that_it_would_have() -> None:
    tokens = Tokens(token("t"))

    def salt() -> bytes:
        server = ScramServer(tokens.mechanism, tokens.scram_users(), Random(2).randbytes)
        client = ScramClient(tokens.mechanism, "t", "x", Random(3).randbytes, with_token=True)
        return server.step(client.first())

    known = salt()
    tokens.tokens = {}
    assert salt() == known


async def test_credentials_are_computed_before_they_are_needed() -> None:
    tokens = Tokens(token("a"), token("b"))
    computed: list[str] = []
    compute = tokens.users._new_credential

    def counted(name: str) -> object:
        computed.append(name)
        return compute(name)

    tokens.users._new_credential = counted  # type: ignore[assignment, method-assign]
    running = asyncio.ensure_future(tokens.users.run())

    async def until_known(names: set[str]) -> None:
        tokens.users.changed()
        async with asyncio.timeout(20):
            while set(tokens.users._credentials) != names:
                assert not running.done()
                await asyncio.sleep(0)

    await until_known({"a", "b"})
    assert sorted(computed) == ["a", "b"]
    tokens.login("a")
    # A login that is faster than the thread does not compute twice.
    tokens.tokens = {"b": token("b"), "c": token("c")}
    tokens.login("c")
    await until_known({"b", "c"})
    assert sorted(computed) == ["a", "b", "c"]
    with pytest.raises(AuthenticationError):
        tokens.login("a")
    running.cancel()
