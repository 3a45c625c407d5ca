"""The SASL settings of a node, checked before it starts.

A setting may have the prefix of a listener, of a mechanism, or of both, as in Kafka. The most exact one wins:

    listener.name.<listener>.<mechanism>.<setting>
    listener.name.<listener>.<setting>
    <mechanism>.<setting>
    <setting>

`sasl.jaas.config` always needs the mechanism. Its value may have passwords, so no error shows it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from gralha.metadata.config_types import ConfigError, ConfigKey, ConfigValue, parse_value
from gralha.security.sasl.exchange import GSSAPI, MECHANISMS, OAUTHBEARER, PLAIN, SCRAM_MECHANISMS
from gralha.security.sasl.jaas import JaasError, LoginModule, module_of, parse_jaas
from gralha.security.sasl.tokens import TokenRules

ENABLED: Final = "sasl.enabled.mechanisms"
JAAS: Final = "sasl.jaas.config"
JWKS_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
ALLOWED_URLS: Final = "gralha.sasl.oauthbearer.allowed.urls"
INTER_BROKER: Final = "sasl.mechanism.inter.broker.protocol"
TO_CONTROLLERS: Final = "sasl.mechanism.controller.protocol"
SASL_PROTOCOLS: Final = ("SASL_PLAINTEXT", "SASL_SSL")
_USER: Final = "user_"


class SaslSettingError(Exception):
    """A setting is wrong or missing. `name` is the setting to change."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(problem)
        self.name = name


class TokenSettings(NamedTuple):
    """How OAUTHBEARER tokens are validated."""

    rules: TokenRules
    keys_url: str
    refresh_ms: int
    retry_ms: int
    retry_max_ms: int


class MechanismSettings(NamedTuple):
    """One mechanism of a listener."""

    name: str
    max_reauth_ms: int
    passwords: Mapping[str, str]  # the users of PLAIN
    tokens: TokenSettings | None

    def __repr__(self) -> str:
        return f"MechanismSettings({self.name}, {len(self.passwords)} users)"


class SaslListener(NamedTuple):
    """The SASL settings of one listener."""

    mechanisms: Mapping[str, MechanismSettings]
    max_receive_bytes: int


class SaslLogin(NamedTuple):
    """How this node logs in to other nodes."""

    mechanism: str
    user: str
    password: str
    is_token: bool = False

    def __repr__(self) -> str:
        return f"SaslLogin({self.mechanism}, {self.user})"


class Lookup:
    """Finds the setting that counts for a listener and a mechanism."""

    def __init__(
        self, texts: Mapping[str, str], values: Mapping[str, ConfigValue], keys: Mapping[str, ConfigKey]
    ) -> None:
        self._texts = texts
        self._values = values
        self._keys = keys

    def place(self, name: str, listener: str, mechanism: str = "") -> str | None:
        """The full name of the setting that counts. None if no line of the file sets it."""
        of_listener = f"listener.name.{listener.lower()}."
        of_mechanism = f"{mechanism.lower()}." if mechanism else ""
        for prefix in (of_listener + of_mechanism, of_listener, of_mechanism, ""):
            if prefix + name in self._texts and (name != JAAS or prefix.endswith(of_mechanism or " ")):
                return prefix + name
        return None

    def value(self, name: str, listener: str, mechanism: str = "") -> ConfigValue:
        """The value of a setting, or its default."""
        place = self.place(name, listener, mechanism)
        if place is None or place == name:
            return self._values[name]
        return parse_value(self._keys[name], self._texts[place])

    def text(self, place: str) -> str:
        return self._texts[place]

    def number(self, name: str, listener: str, mechanism: str) -> int:
        value = self.value(name, listener, mechanism)
        assert isinstance(value, int), name
        return value

    def items(self, name: str, listener: str, mechanism: str = "") -> list[str]:
        value = self.value(name, listener, mechanism)
        assert value is None or isinstance(value, list), name
        return value or []


def sasl_listener(lookup: Lookup, listener: str) -> SaslListener:
    """The settings of a listener that uses SASL. Raises SaslSettingError."""
    place = lookup.place(ENABLED, listener)
    if place is None:
        raise SaslSettingError(
            ENABLED,
            f"{ENABLED} is missing: the listener {listener} uses SASL, and Kafka's default is Kerberos "
            f"(GSSAPI), which is not supported. Write for example {ENABLED}=SCRAM-SHA-512",
        )
    mechanisms = {}
    for name in lookup.items(ENABLED, listener):
        _check_mechanism(place, name)
        mechanisms[name] = _mechanism(lookup, listener, name)
    if not mechanisms:
        raise SaslSettingError(place, f"{place} is empty. Write one or more of {', '.join(MECHANISMS)}")
    size = lookup.number("sasl.server.max.receive.size", listener, "")
    return SaslListener(mechanisms, size)


def _check_mechanism(place: str, name: str) -> None:
    if name == GSSAPI:
        raise SaslSettingError(
            place, f"{place}: Kerberos (GSSAPI) is not supported. Use SCRAM-SHA-512, or one of {_others()}"
        )
    if name not in MECHANISMS:
        raise SaslSettingError(
            place, f"{place}: {name} is no SASL mechanism of Kafka; allowed: {', '.join(MECHANISMS)}"
        )


def _others() -> str:
    return ", ".join(one for one in MECHANISMS if one != "SCRAM-SHA-512")


def _mechanism(lookup: Lookup, listener: str, name: str) -> MechanismSettings:
    module = login_module(lookup, listener, name)
    passwords: dict[str, str] = {}
    if name == PLAIN:
        options = {} if module is None else module.options
        passwords = {
            key.removeprefix(_USER): value for key, value in options.items() if key.startswith(_USER)
        }
        if not passwords:
            place = jaas_name(listener, name)
            raise SaslSettingError(
                place, f'{place}: PLAIN has no users. Write {module_of(PLAIN)} required user_alice="...";'
            )
    tokens = _tokens(lookup, listener) if name == OAUTHBEARER else None
    max_reauth_ms = lookup.number("connections.max.reauth.ms", listener, name)
    return MechanismSettings(name, max_reauth_ms, passwords, tokens)


def jaas_name(listener: str, mechanism: str) -> str:
    """The full name of the setting with a login module."""
    return f"listener.name.{listener.lower()}.{mechanism.lower()}.{JAAS}"


def login_module(lookup: Lookup, listener: str, mechanism: str) -> LoginModule | None:
    """The login module of a mechanism, if the file has one. Raises SaslSettingError."""
    place = lookup.place(JAAS, listener, mechanism)
    if place is None:
        return None
    try:
        return parse_jaas(lookup.text(place), mechanism)
    except JaasError as error:
        raise SaslSettingError(place, f"{place}: {error}") from None


def _tokens(lookup: Lookup, listener: str) -> TokenSettings:
    def place(name: str) -> str:
        return lookup.place(name, listener, OAUTHBEARER) or name

    def text(name: str) -> str | None:
        value = lookup.value(name, listener, OAUTHBEARER)
        return None if value is None else str(value)

    url = text(JWKS_URL)
    if not url:
        raise SaslSettingError(
            place(JWKS_URL),
            f"{JWKS_URL} is missing: OAUTHBEARER needs the public keys of the issuer. "
            "Write for example file:///etc/gralha/jwks.json",
        )
    _check_url(place(JWKS_URL), url, lookup.items(ALLOWED_URLS, listener))

    def number(name: str) -> int:
        return lookup.number(name, listener, OAUTHBEARER)

    rules = TokenRules(
        tuple(lookup.items("sasl.oauthbearer.expected.audience", listener, OAUTHBEARER)),
        text("sasl.oauthbearer.expected.issuer"),
        text("sasl.oauthbearer.sub.claim.name") or "sub",
        text("sasl.oauthbearer.scope.claim.name") or "scope",
        number("sasl.oauthbearer.clock.skew.seconds"),
    )
    return TokenSettings(
        rules,
        url,
        number("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
    )


def _check_url(place: str, url: str, allowed: Iterable[str]) -> None:
    scheme = urlsplit(url).scheme.lower()
    if scheme == "file" or (scheme in ("http", "https") and url in allowed):
        return
    if scheme not in ("http", "https"):
        raise SaslSettingError(place, f"{place}: {url} is no address. Write file:///path or https://...")
    raise SaslSettingError(place, f"{place}: {url} is not allowed. Write {ALLOWED_URLS}={url}")


def own_login(lookup: Lookup, setting: str, listener: str) -> SaslLogin:
    """How this node logs in on a listener of other nodes. Raises SaslSettingError."""
    mechanism = str(lookup.value(setting, listener))
    _check_mechanism(setting, mechanism)
    if setting == TO_CONTROLLERS and mechanism in SCRAM_MECHANISMS:
        raise SaslSettingError(
            setting,
            f"{setting}: a controller knows the users of SCRAM only after the quorum has a leader. "
            "Write PLAIN",
        )
    module = login_module(lookup, listener, mechanism)
    options = {} if module is None else module.options
    place = jaas_name(listener, mechanism)
    if mechanism == OAUTHBEARER:
        raise SaslSettingError(
            setting, f"{setting}: a node cannot log in with OAUTHBEARER. Write PLAIN or SCRAM-SHA-512"
        )
    user, password = options.get("username"), options.get("password")
    if not user or not password:
        raise SaslSettingError(
            place,
            f"{place}: the node's own user is missing. Write "
            f'{module_of(mechanism)} required username="..." password="...";',
        )
    return SaslLogin(mechanism, user, password, options.get("tokenauth", "").lower() == "true")


def sasl_problems(checks: Iterable[Callable[[], object]]) -> Iterable[SaslSettingError]:
    """The errors that the checks raise."""
    for check in checks:
        try:
            check()
        except SaslSettingError as error:
            yield error
        except ConfigError as error:
            yield SaslSettingError(error.name, str(error))
