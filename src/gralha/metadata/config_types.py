"""A configuration key: its type, its default, the values that it allows, and how its text is read.

The keys are data (`topic_configs`, `broker_configs`, `group_configs`). This module reads a value as Kafka
does and says what is wrong with it. `config_keys` decides where a value comes from. This module uses neither
dataclasses nor regular expressions, because every command and the start of a broker import it.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

ConfigValue = bool | int | float | str | list[str] | None

LONG_MAX: Final = 2**63 - 1
# The documentation of a key begins with this if nothing reads its value. The reason follows after a colon.
WITHOUT_EFFECT: Final = "Accepted without effect"


class ConfigType(IntEnum):
    """The type of a value. The numbers are those of DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSource(IntEnum):
    """The place where a value is set. The numbers are those of DescribeConfigs."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class UpdateMode(IntEnum):
    """Whether a broker config may change while the broker runs, for one broker or for all."""

    READ_ONLY = 0
    PER_BROKER = 1
    CLUSTER_WIDE = 2


class ConfigError(ValueError):
    """A key does not accept a value. `str()` of the error is a sentence for a person."""

    def __init__(self, name: str, value: str | None, why: str, allowed: str = "") -> None:
        self.name = name
        self.value = value
        self.why = why
        self.allowed = allowed
        super().__init__(f"Invalid value {value} for configuration {name}: {why}")


class Validator:
    """A rule for values beyond their type."""

    __slots__ = ("check", "shows_list", "text")

    def __init__(
        self, text: str, check: Callable[[ConfigValue], str | None], shows_list: bool = False
    ) -> None:
        """`check` returns what is wrong, with {name} for the key. With `shows_list`, errors show lists in
        brackets.
        """
        self.text = text
        self.check = check
        self.shows_list = shows_list


class ConfigKey:
    """One configuration key, for a topic, a broker or a group.

    `synonyms` names the broker configs that give a topic config its default, best first. Each has the factor
    from its unit to the unit of the topic config (`log.retention.hours` has 3,600,000).
    """

    __slots__ = (
        "default",
        "default_text",
        "documentation",
        "importance",
        "internal",
        "name",
        "required",
        "synonyms",
        "type",
        "update_mode",
        "validator",
    )

    def __init__(
        self,
        name: str,
        type_: ConfigType,
        default: ConfigValue,
        documentation: str = "",
        required: bool = False,
    ) -> None:
        self.name = name
        self.type = type_
        self.default = default
        # The default as DescribeConfigs shows it.
        self.default_text = format_value(default)
        self.documentation = documentation
        self.required = required
        self.importance = "MEDIUM"
        self.validator: Validator | None = None
        self.update_mode = UpdateMode.READ_ONLY
        self.synonyms: tuple[tuple[str, int], ...] = ()
        self.internal = False

    @property
    def sensitive(self) -> bool:
        """True for a password, which is never shown."""
        return self.type is ConfigType.PASSWORD

    @property
    def read_only(self) -> bool:
        """True if a broker config needs a restart to change."""
        return self.update_mode is UpdateMode.READ_ONLY

    @property
    def has_effect(self) -> bool:
        """False for a setting that is accepted only so that a Kafka user's file works unchanged."""
        return not self.documentation.startswith(WITHOUT_EFFECT)

    @property
    def allowed(self) -> str:
        """The allowed values, in a few words."""
        return self.validator.text if self.validator else _ALLOWED_BY_TYPE[self.type]

    def __repr__(self) -> str:
        return f"ConfigKey({self.name!r}, {self.type.name}, default={self.default!r})"


_ALLOWED_BY_TYPE: Final[dict[ConfigType, str]] = {
    ConfigType.UNKNOWN: "any text",
    ConfigType.BOOLEAN: "true or false",
    ConfigType.STRING: "any text",
    ConfigType.INT: "a whole number of 32 bits",
    ConfigType.SHORT: "a whole number of 16 bits",
    ConfigType.LONG: "a whole number of 64 bits",
    ConfigType.DOUBLE: "a number",
    ConfigType.LIST: "a list separated by commas",
    ConfigType.CLASS: "a class name",
    ConfigType.PASSWORD: "any text",
}

_INTEGER_BITS: Final[dict[ConfigType, int]] = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def parse_value(key: ConfigKey, text: str) -> ConfigValue:
    """Reads `text` as a value of `key`. Raises ConfigError if the type or the validator refuses it."""
    value = _parse_type(key, text)
    if key.validator is not None:
        why = key.validator.check(value)
        if why is not None:
            raise _refusal(key, _shown(key.validator, value), why.replace("{name}", key.name))
    return value


def _shown(validator: Validator, value: ConfigValue) -> str:
    if isinstance(value, list) and validator.shows_list:
        return f"[{', '.join(value)}]"
    return format_value(value) or ""


def _refusal(key: ConfigKey, text: str, why: str) -> ConfigError:
    return ConfigError(key.name, "[hidden]" if key.sensitive else text, why, key.allowed)


def _parse_type(key: ConfigKey, text: str) -> ConfigValue:
    trimmed = text.strip()
    if key.type is ConfigType.BOOLEAN:
        if trimmed.lower() not in ("true", "false"):
            raise _refusal(key, text, "Expected value to be either true or false")
        return trimmed.lower() == "true"
    if key.type in _INTEGER_BITS:
        return _parse_integer(key, text)
    if key.type is ConfigType.DOUBLE:
        return _parse_double(key, text)
    if key.type is ConfigType.LIST:
        return split_list(trimmed)
    return trimmed


def _parse_integer(key: ConfigKey, text: str) -> int:
    trimmed = text.strip()
    digits = trimmed[1:] if trimmed[:1] in ("+", "-") else trimmed
    limit = 1 << (_INTEGER_BITS[key.type] - 1)
    # Twenty digits are more than 64 bits, and int() needs quadratic time for a very long text.
    if not (digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) < 20):
        raise _refusal(key, text, f"Not a number of type {key.type.name}")
    value = int(trimmed)
    if not -limit <= value < limit:
        raise _refusal(key, text, f"Not a number of type {key.type.name}")
    return value


def _parse_double(key: ConfigKey, text: str) -> float:
    try:
        if "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise _refusal(key, text, "Not a number of type DOUBLE") from None


def split_list(text: str) -> list[str]:
    """The items of a comma-separated text. An empty text is an empty list."""
    trimmed = text.strip()
    return [item.strip() for item in trimmed.split(",")] if trimmed else []


def format_value(value: ConfigValue) -> str | None:
    """A value in the text form of DescribeConfigs, which is Java's."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).upper().replace("E+", "E").replace("INF", "Infinity").replace("NAN", "NaN")
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


# Validators


def at_least(minimum: int) -> Validator:
    """A number of `minimum` or more."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, int | float)
        return None if value >= minimum else f"Value must be at least {minimum}"

    return Validator(f"at least {minimum}", check)


def between(minimum: float, maximum: float) -> Validator:
    """A number from `minimum` to `maximum`, both included."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, int | float)
        if value > maximum:
            return f"Value must be no more than {maximum:g}"
        # `>=` is False for NaN, so NaN is refused too.
        return None if value >= minimum else f"Value must be at least {minimum:g}"

    return Validator(f"from {minimum} to {maximum}", check)


def between_or(minimum: int, maximum: int, other: int) -> Validator:
    """A number from `minimum` to `maximum`, or `other`."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, int)
        if value == other or minimum <= value <= maximum:
            return None
        return f"Value must be between {minimum} and {maximum} or equal to {other}"

    return Validator(f"from {minimum} to {maximum}, or {other}", check)


def one_of(*options: str) -> Validator:
    """One of the given words, exactly."""

    def check(value: ConfigValue) -> str | None:
        return None if value in options else f"String must be one of: {', '.join(options)}"

    return Validator(f"one of {', '.join(options)}", check)


def one_of_any_case(*options: str) -> Validator:
    """One of the given words, in upper or lower case."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, str)
        if value.upper() in options:
            return None
        return f"String must be one of (case insensitive): {', '.join(options)}"

    return Validator(f"one of {', '.join(options)} (in any case)", check)


def any_of(*options: str, may_be_empty: bool = True) -> Validator:
    """A list of given words."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, list)
        if not value and not may_be_empty:
            return f"must not be empty; it takes {', '.join(options)}"
        if any(item not in options for item in value):
            return f"String must be one of: {', '.join(options)}"
        return None if may_be_empty or len(set(value)) == len(value) else "Values must not be duplicated"

    return Validator(f"a list of {', '.join(options)}", check)


def distinct_items(may_be_empty: bool) -> Validator:
    """A list without repeated or empty items (KIP-1161)."""

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, list)
        if not value and not may_be_empty:
            return "must not be empty"
        if "" in value:
            return "Values must not be empty"
        return None if len(set(value)) == len(value) else "Values must not be duplicated"

    return Validator("a list of different values separated by commas", check)


def _is_throttled_replica(item: str) -> bool:
    partition, _, broker = item.partition(":")
    return all(part.isascii() and part.isdigit() for part in (partition, broker))


def throttled_replicas() -> Validator:
    """`*`, or partition:broker pairs."""
    text = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, list)
        if value == ["*"] or all(_is_throttled_replica(item) for item in value):
            return None
        return f"{{name}} must be the literal '*' or a list of replicas in the following format: {text}"

    return Validator(text, check, shows_list=True)


def connection_counts(text: str) -> dict[str, int]:
    """The addresses and numbers in `max.connections.per.ip.overrides`. Raises ValueError."""
    from gralha.protocol.ip_addresses import addresses_of  # rarely needed, and every command imports this

    counts: dict[str, int] = {}
    for item in filter(None, (one.strip() for one in text.split(","))):
        name, _, count = item.rpartition(":")
        addresses = addresses_of(name.strip().removeprefix("[").removesuffix("]"))
        if not addresses:
            raise ValueError(f"{name.strip() or item} is neither an IP address nor localhost")
        if not count.strip().isdecimal():
            raise ValueError(f"{count} is not a number of connections")
        counts |= dict.fromkeys(addresses, int(count))
    return counts


def connection_overrides() -> Validator:
    """Addresses with their numbers of connections."""
    text = "address:number,address:number,..."

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, str)
        try:
            connection_counts(value)
        except ValueError as error:
            return f"{error}; it must be {text}"
        return None

    return Validator(text, check)


def offset_reset() -> Validator:
    """The start of a share group: `latest`, `earliest`, or `by_duration:` and an ISO 8601 duration."""
    text = "latest, earliest or by_duration:PnDTnHnMn.nS"

    def check(value: ConfigValue) -> str | None:
        assert isinstance(value, str)
        known = value in ("latest", "earliest") or value.startswith("by_duration:P")
        return None if known else f"must be {text}"

    return Validator(text, check)
