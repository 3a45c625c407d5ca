"""Our own client logs in: from settings, with tokens, and again while answers are on their way."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from random import Random

import pytest

from gralha.client.addresses import Address
from gralha.client.connection import Connection, answered
from gralha.client.delegation_token_calls import ClientToken
from gralha.client.errors import LoginFailedError, SettingsError
from gralha.client.login import ClientLogin, login_of
from gralha.client.security import ClientSecurity
from gralha.protocol.apis import ApiKey
from gralha.protocol.message import Message
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from gralha.protocol.messages.sasl_handshake import SaslHandshakeResponse
from gralha.security.sasl.exchange import AuthenticationError, ServerExchange
from gralha.security.sasl.oauthbearer import InvalidTokenError, OAuthBearerServer, ValidToken
from gralha.security.sasl.plain import PlainServer
from gralha.security.sasl.scram import new_credential
from gralha.security.sasl.scram_server import ScramServer, ScramUser, ScramUsers
from tests.client.fake_broker import FakeBroker, Handler

CREDENTIAL = new_credential("SCRAM-SHA-256", "secret", b"salt", 4096)
USERS = ScramUsers(
    lambda name: ScramUser(name, CREDENTIAL) if name == "ana" else None,
    lambda _: None,
    lambda _: (b"", 4096),
    lambda _: (b"", 4096),
)
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
TOKEN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SASL = {"security.protocol": "SASL_PLAINTEXT"}


def validate(token: str) -> ValidToken:
    if token != "a.good.token":
        raise InvalidTokenError("another token")
    return ValidToken("ana", 1)


class Door:
    """The part of a broker that clients log in at."""

    def __init__(self, lifetime_ms: int = 0) -> None:
        self.lifetime_ms = lifetime_ms
        self.logins = 0
        self._exchange: ServerExchange | None = None
        self.handlers: dict[int, Handler] = {
            ApiKey.SASL_HANDSHAKE: self.handshake,
            ApiKey.SASL_AUTHENTICATE: self.authenticate,
            ApiKey.FIND_COORDINATOR: self.find,
        }

    def handshake(self, request: Message, version: int) -> Message:
        mechanism = request.mechanism  # type: ignore[attr-defined]
        self.logins += 1
        if mechanism == "PLAIN":
            self._exchange = PlainServer({"ana": "secret"}.get)
        elif mechanism == "OAUTHBEARER":
            self._exchange = OAuthBearerServer(validate)
        elif mechanism == "SCRAM-SHA-256":
            self._exchange = ScramServer(mechanism, USERS, Random(1).randbytes)
        else:
            return SaslHandshakeResponse(error_code=33, mechanisms=["PLAIN"])
        return SaslHandshakeResponse(mechanisms=["PLAIN"])

    def authenticate(self, request: Message, version: int) -> Message:
        assert isinstance(request, SaslAuthenticateRequest)
        assert self._exchange is not None
        try:
            answer = self._exchange.step(request.auth_bytes)
        except AuthenticationError:
            return SaslAuthenticateResponse(error_code=58, error_message="Authentication failed")
        return SaslAuthenticateResponse(
            error_message=None, auth_bytes=answer, session_lifetime_ms=self.lifetime_ms
        )

    def find(self, request: Message, version: int) -> Message:
        assert self._exchange is not None
        return FindCoordinatorResponse(
            error_message=self._exchange.user,
            throttle_time_ms=len(request.key),  # type: ignore[attr-defined]
        )


def log_in(broker: FakeBroker, options: dict[str, str]) -> Connection:
    return Connection.open(
        Address("127.0.0.1", broker.port), security=ClientSecurity.from_kafka({**SASL, **options})
    )


def name_at(connection: Connection) -> str | None:
    request = FindCoordinatorRequest(key="k")
    return connection.send(request, FindCoordinatorResponse, max_version=3).error_message


@pytest.mark.parametrize(
    "options",
    [
        {"sasl.mechanism": "PLAIN", "sasl.username": "ana", "sasl.password": "secret"},
        {"sasl.mechanisms": "SCRAM-SHA-256", "sasl.username": "ana", "sasl.password": "secret"},
        {
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN_MODULE} required username="ana" password="secret";',
        },
    ],
)
def test_names_of_java_and_of_librdkafka(options: dict[str, str]) -> None:
    door = Door()
    with FakeBroker(door.handlers) as broker, log_in(broker, options) as connection:
        assert name_at(connection) == "ana"
        assert door.logins == 1


def test_a_wrong_password_ends_the_connection_and_is_not_shown() -> None:
    with FakeBroker(Door().handlers) as broker:
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            options = {"sasl.mechanism": mechanism, "sasl.username": "ana", "sasl.password": "hidden"}
            with pytest.raises(LoginFailedError, match="does not accept the login with") as error:
                log_in(broker, options)
            assert "hidden" not in str(error.value) + repr(login_of({**SASL, **options}))


def test_a_mechanism_that_the_broker_does_not_offer() -> None:
    options = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "ana", "sasl.password": "secret"}
    with FakeBroker(Door().handlers) as broker, pytest.raises(LoginFailedError, match="it offers PLAIN"):
        log_in(broker, options)


def test_a_token_from_a_file_is_read_for_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("a.good.token\n")
    url = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": file.as_uri()}
    with FakeBroker(Door().handlers) as broker:
        with log_in(broker, url) as connection:
            assert name_at(connection) == "ana"
        file.write_text("a.bad.token")
        with pytest.raises(LoginFailedError, match="Authentication failed"):
            log_in(broker, url)
        file.unlink()
        with pytest.raises(LoginFailedError, match="cannot be read: No such file"):
            log_in(broker, url)


class Issuer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        is_right = self.headers["Authorization"] == "Basic Y2xpZW50OnNlY3JldA=="
        is_right = is_right and form == "grant_type=client_credentials&scope=kafka"
        self.send_response(200 if is_right else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": "a.good.token"} if is_right else {}).encode())

    def log_message(self, *_arguments: object) -> None:
        """Tests are silent."""


def test_a_token_from_its_issuer() -> None:
    with HTTPServer(("127.0.0.1", 0), Issuer) as issuer, FakeBroker(Door().handlers) as broker:
        threading.Thread(target=issuer.serve_forever, daemon=True).start()
        url = {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{issuer.server_port}/token",
        }
        jaas = f'{TOKEN_MODULE} required clientId="client" clientSecret="secret" scope="kafka";'
        with log_in(broker, {**url, "sasl.jaas.config": jaas}) as connection:
            assert name_at(connection) == "ana"
        with pytest.raises(LoginFailedError, match="gave no token: Unauthorized") as error:
            log_in(broker, {**url, "sasl.jaas.config": jaas.replace("secret", "hidden")})
        assert "hidden" not in str(error.value)
        issuer.shutdown()


class Redirects(BaseHTTPRequestHandler):
    """Sends clients to another server, here to itself."""

    requests: list[str]

    def _answer(self) -> None:
        self.requests.append(f"{self.command} {self.path}")
        self.send_response(302 if self.path == "/token" else 401)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = _answer  # noqa: N815  # the names that http.server calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of the base class
        pass


def test_the_secret_for_an_issuer_goes_to_no_other_server() -> None:
    Redirects.requests = []
    with HTTPServer(("127.0.0.1", 0), Redirects) as issuer:
        threading.Thread(target=issuer.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{issuer.server_port}/token"
        login = ClientLogin("OAUTHBEARER", "client", "secret", token_url=url)
        with pytest.raises(LoginFailedError, match="gave no token: Found"):
            login.new_exchange()
        issuer.shutdown()
    assert Redirects.requests == ["POST /token"]


def test_a_client_logs_in_again_while_answers_are_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gralha.client.connection.SESSION_PART", 0.0)
    door = Door(lifetime_ms=60_000)
    options = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ana", "sasl.password": "secret"}
    with FakeBroker(door.handlers) as broker, log_in(broker, options) as connection:
        begun = [
            connection.begin(FindCoordinatorRequest(key="k" * length), max_version=3) for length in range(3)
        ]
        assert door.logins == 4
        assert answered(0.0, [connection])
        answers = [connection.complete(one, FindCoordinatorResponse) for one in begun]
        assert [answer.throttle_time_ms for answer in answers] == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, "sasl.mechanism=GSSAPI is not supported: use PLAIN"),
        ({"sasl.mechanism": "DIGEST"}, "sasl.mechanism=DIGEST is not known"),
        ({"sasl.mechanism": "PLAIN"}, f"PLAIN needs a user and a password.*{PLAIN_MODULE} required"),
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": "hidden"}, "sasl.jaas.config: "),
        ({"sasl.mechanism": "OAUTHBEARER"}, "OAUTHBEARER needs a token"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://issuer"},
            "needs clientId and clientSecret",
        ),
    ],
)
def test_mistakes_say_what_to_set(options: dict[str, str], error: str) -> None:
    with pytest.raises(SettingsError, match=error) as caught:
        login_of({**SASL, **options})
    assert "hidden" not in str(caught.value)


def test_settings_with_the_same_login_are_equal() -> None:
    options = {**SASL, "sasl.mechanism": "PLAIN", "sasl.username": "ana", "sasl.password": "hidden"}
    assert login_of(options) == login_of(dict(options)) == ClientLogin("PLAIN", "ana", "hidden")
    assert login_of({"security.protocol": "PLAINTEXT"}) is None


@pytest.mark.parametrize(("value", "is_token"), [("true", True), ("TRUE", True), ("false", False)])
def test_a_delegation_token_logs_in_with_its_extension(value: str, is_token: bool) -> None:
    jaas = f'{SCRAM_MODULE} required username="its id" password="its hmac" tokenauth="{value}";'
    login = login_of({**SASL, "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas})
    assert login == ClientLogin("SCRAM-SHA-512", "its id", "its hmac", is_token)
    assert login.new_exchange().first().endswith(b",tokenauth=true") is is_token
    assert "its hmac" not in repr(login)


def test_no_secret_of_a_token_is_shown() -> None:
    token = ClientToken("its id", b"its hmac", "User:ana", "User:ana", (), 1, 2, 3)
    assert repr(token) == "ClientToken(its id, User:ana, secret hidden)"
