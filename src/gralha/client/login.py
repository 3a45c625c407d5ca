"""How a client logs in with SASL: from the settings of Kafka's clients, or of librdkafka.

    security.protocol            SASL_PLAINTEXT or SASL_SSL
    sasl.mechanism               PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER (also sasl.mechanisms)
    sasl.username, sasl.password librdkafka's names
    sasl.jaas.config             Java's line, with the options of a login module. With tokenauth=true the user
                                 of SCRAM is the id of a delegation token, and the password its HMAC
    sasl.oauthbearer.token.endpoint.url   file:///path of a token, or the address of an issuer. There the
                                 client shows the clientId and clientSecret of sasl.jaas.config

No error and no repr shows a password or a token.
"""

import base64
import json
import os
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.error import URLError
from urllib.parse import quote_plus, unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from gralha.client.errors import LoginFailedError, SettingsError
from gralha.security.sasl.exchange import (
    GSSAPI,
    MECHANISMS,
    OAUTHBEARER,
    PLAIN,
    AuthenticationError,
    ClientExchange,
)
from gralha.security.sasl.jaas import JaasError, module_of, parse_jaas
from gralha.security.sasl.oauthbearer import OAuthBearerClient
from gralha.security.sasl.plain import PlainClient
from gralha.security.sasl.scram_client import ScramClient

PROTOCOLS: Final = ("SASL_PLAINTEXT", "SASL_SSL")
TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
# The client logs in again when this part of its session is over.
SESSION_PART: Final = 0.85
_TOKEN_TIMEOUT_S: Final = 10.0
_TOKEN_BYTES_MAX: Final = 1024 * 1024
_EXTENSION: Final = "extension_"


class ClientLogin(NamedTuple):
    """What a client logs in with. For OAUTHBEARER `user` and `password` are for the issuer of tokens."""

    mechanism: str
    user: str = ""
    password: str = ""
    is_delegation_token: bool = False
    token_url: str = ""
    scope: str | None = None
    extensions: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ClientLogin({self.mechanism})"

    @property
    def principal_name(self) -> str:
        """The name of the user for the brokers. "" if only the brokers know it."""
        return "" if self.mechanism == OAUTHBEARER or self.is_delegation_token else self.user

    def new_exchange(self) -> ClientExchange:
        """Begins an exchange. Raises LoginFailedError if there is no token for it."""
        if self.mechanism == PLAIN:
            return PlainClient(self.user, self.password)
        if self.mechanism == OAUTHBEARER:
            return OAuthBearerClient(self._token(), dict(self.extensions))
        return ScramClient(
            self.mechanism, self.user, self.password, os.urandom, with_token=self.is_delegation_token
        )

    def _token(self) -> str:
        parts = urlsplit(self.token_url)
        if parts.scheme.lower() == "file":
            return _token_in(unquote(parts.path))
        return _fetched_token(self.token_url, self.user, self.password, self.scope)


def login_of(options: Mapping[str, str]) -> ClientLogin | None:
    """How a client with these settings logs in. None if it does not. Raises SettingsError."""
    if options.get("security.protocol", "PLAINTEXT").upper() not in PROTOCOLS:
        return None
    mechanism = _mechanism(options)
    jaas = options.get("sasl.jaas.config")
    try:
        values = dict(parse_jaas(jaas, mechanism).options) if jaas else {}
    except JaasError as error:
        raise SettingsError(f"sasl.jaas.config: {error}") from None
    if mechanism == OAUTHBEARER:
        return _with_token(options, values)
    user = options.get("sasl.username") or values.get("username")
    password = options.get("sasl.password") or values.get("password")
    if not user or not password:
        raise SettingsError(
            f"{mechanism} needs a user and a password. Set sasl.username and sasl.password, or "
            f'sasl.jaas.config={module_of(mechanism)} required username="..." password="...";'
        )
    return ClientLogin(mechanism, user, password, values.get("tokenauth", "").lower() == "true")


def _mechanism(options: Mapping[str, str]) -> str:
    name = "sasl.mechanisms" if "sasl.mechanisms" in options else "sasl.mechanism"
    mechanism = options.get(name, GSSAPI)
    if mechanism not in MECHANISMS:
        why = "is not supported" if mechanism == GSSAPI else "is not known"
        raise SettingsError(
            f"{name}={mechanism} {why}: use {', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}."
        )
    return mechanism


def _with_token(options: Mapping[str, str], values: Mapping[str, str]) -> ClientLogin:
    url = options.get(TOKEN_URL, "")
    scheme = urlsplit(url).scheme.lower()
    extensions = tuple(
        (name.removeprefix(_EXTENSION), value)
        for name, value in sorted(values.items())
        if name.startswith(_EXTENSION)
    )
    if scheme == "file":
        return ClientLogin(OAUTHBEARER, token_url=url, extensions=extensions)
    if scheme not in ("http", "https"):
        raise SettingsError(
            f"OAUTHBEARER needs a token. Set {TOKEN_URL} to file:///path of a token, or to the address of "
            "its issuer."
        )
    prefix = "sasl.oauthbearer.client.credentials.client."
    client_id = options.get(f"{prefix}id") or values.get("clientId")
    secret = options.get(f"{prefix}secret") or values.get("clientSecret")
    if not client_id or not secret:
        raise SettingsError(f"{TOKEN_URL}={url} needs clientId and clientSecret in sasl.jaas.config.")
    scope = options.get("sasl.oauthbearer.scope") or values.get("scope")
    return ClientLogin(OAUTHBEARER, client_id, secret, token_url=url, scope=scope, extensions=extensions)


def _token_in(path: str) -> str:
    """The token in a file. It is read for each login, because another program may replace it."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_TOKEN_BYTES_MAX).strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LoginFailedError(f"The token in {path} cannot be read: {reason}.") from None


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirection: another server would get the secret of the client."""

    def redirect_request(self, *_arguments: object) -> Request | None:
        return None


def _fetched_token(url: str, client_id: str, secret: str, scope: str | None) -> str:
    """A token from its issuer (RFC 6749, section 4.4)."""
    form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
    credentials = f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()
    request = Request(
        url,
        urlencode(form).encode(),
        {
            "Authorization": f"Basic {base64.b64encode(credentials).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        },
    )
    try:
        with build_opener(_NoRedirect).open(request, timeout=_TOKEN_TIMEOUT_S) as answer:
            token = json.loads(answer.read(_TOKEN_BYTES_MAX))["access_token"]
    except URLError as error:
        raise LoginFailedError(f"The issuer at {url} gave no token: {error.reason}.") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise LoginFailedError(f"The issuer at {url} gave no token.") from None
    return str(token)


def what_to_check(mechanism: str) -> str:
    """The advice for a person whose login is refused."""
    if mechanism == OAUTHBEARER:
        return f"Check the token ({TOKEN_URL})"
    return "Check the user and the password (sasl.jaas.config, or sasl.username and sasl.password)"


def failure(address: object, mechanism: str, error: AuthenticationError | str) -> LoginFailedError:
    """The error for a person."""
    return LoginFailedError(f"The broker {address} does not accept the login with {mechanism}: {error}.")
