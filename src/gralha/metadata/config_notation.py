"""The notation in which configuration keys are declared.

A key is a line without indentation. Below it are the lines of its documentation, indented by four spaces. The
parts of the first line are separated by `;` and may continue in lines indented by two spaces:

    retention.ms: long = 604800000; at least -1; from log.retention.ms, log.retention.hours * 3600000
        How long records are kept.

First come the name, the type and the default. `required` means no default: a value must be set. Without `=`
the default is null. `max` is the largest number of the type. Then, in any order:

- the allowed values: `at least N`, `A to B`, `A to B or C`, `one of A, B`, `one of any case A, B`, for lists
  `some of A, B` and `at least one of A, B`, `distinct`, `distinct, not empty`, `throttled replicas`,
  `offset reset`, `connection counts`
- the importance: `high` or `low`; medium is not written
- `cluster-wide` or `per-broker` for a broker config that may change while the broker runs
- `internal` for a config that is shown only if it is set
- `from` with the broker configs that give the default
"""

from typing import Final

from gralha.metadata.config_types import (
    ConfigKey,
    ConfigType,
    ConfigValue,
    UpdateMode,
    Validator,
    any_of,
    at_least,
    between,
    between_or,
    connection_overrides,
    distinct_items,
    format_value,
    offset_reset,
    one_of,
    one_of_any_case,
    parse_value,
    throttled_replicas,
)

_IMPORTANCE: Final = {"high": "HIGH", "low": "LOW"}
_UPDATE_MODES: Final = {"cluster-wide": UpdateMode.CLUSTER_WIDE, "per-broker": UpdateMode.PER_BROKER}
_TYPES: Final = {type_.name.lower(): type_ for type_ in ConfigType}
_LARGEST: Final = {"int": str(2**31 - 1), "long": str(2**63 - 1)}


def read_keys(text: str) -> dict[str, ConfigKey]:
    """The keys that `text` declares, by name. Raises ValueError if the notation is broken."""
    keys: dict[str, ConfigKey] = {}
    head = ""
    documentation: list[str] = []
    for line in [*text.split("\n"), "end"]:
        if line.startswith("    "):
            documentation.append(line.strip())
        elif line.startswith("  "):
            head += line
        elif line:
            if head:
                key = _read_key(head, " ".join(documentation))
                if key.name in keys:
                    raise ValueError(f"{key.name} is declared twice")
                keys[key.name] = key
            head, documentation = line, []
    return keys


def _read_key(head: str, documentation: str) -> ConfigKey:
    first, *parts = (part.strip() for part in head.split(";"))
    name, _, type_and_default = first.partition(": ")
    type_name, equals, default_text = type_and_default.partition("=")
    type_words = type_name.split()
    key = ConfigKey(name, _TYPES[type_words[0]], None, documentation, required=type_words[1:] == ["required"])
    for part in parts:
        _read_part(key, part)
    if equals:
        key.default = _read_default(key, type_words[0], default_text.strip())
        key.default_text = format_value(key.default)
    return key


def _read_default(key: ConfigKey, type_name: str, text: str) -> ConfigValue:
    return parse_value(key, _LARGEST[type_name] if text == "max" else text)


def _read_part(key: ConfigKey, part: str) -> None:
    if part in _IMPORTANCE:
        key.importance = _IMPORTANCE[part]
    elif part in _UPDATE_MODES:
        key.update_mode = _UPDATE_MODES[part]
    elif part == "internal":
        key.internal = True
    elif part.startswith("from "):
        key.synonyms = tuple(_read_synonym(synonym) for synonym in part[5:].split(", "))
    else:
        key.validator = _read_validator(key, part)


def _read_synonym(text: str) -> tuple[str, int]:
    name, _, factor = text.partition(" * ")
    return name, int(factor or 1)


def _read_validator(key: ConfigKey, text: str) -> Validator:
    words = text.split()
    number = float if key.type is ConfigType.DOUBLE else int
    if text.startswith("at least one of "):
        return any_of(*_options(text, 4), may_be_empty=False)
    if text.startswith("at least "):
        return at_least(int(words[2]))
    if text.startswith("some of "):
        return any_of(*_options(text, 2))
    if text.startswith("one of any case "):
        return one_of_any_case(*_options(text, 4))
    if text.startswith("one of "):
        return one_of(*_options(text, 2))
    if words[1:2] == ["to"]:
        if len(words) == 3:
            return between(number(words[0]), number(words[2]))
        return between_or(int(words[0]), int(words[2]), int(words[4]))
    if text in _NAMED_VALIDATORS:
        return _NAMED_VALIDATORS[text]
    raise ValueError(f"{key.name}: {text!r} is not part of the notation")


def _options(text: str, words_before: int) -> list[str]:
    return text.split(maxsplit=words_before)[words_before].split(", ")


_NAMED_VALIDATORS: Final = {
    "distinct": distinct_items(may_be_empty=True),
    "distinct, not empty": distinct_items(may_be_empty=False),
    "throttled replicas": throttled_replicas(),
    "offset reset": offset_reset(),
    "connection counts": connection_overrides(),
}
