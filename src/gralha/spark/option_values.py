"""Parses the value of one option: a number, a boolean, a duration, JSON. A wrong value raises OptionError.

Messages spell option names as Spark's Kafka source does. The options themselves are case-insensitive.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from gralha.client.errors import ClientError
from gralha.client.values import TopicPartition

Options = Mapping[str, str]
PartitionOffsets = dict[TopicPartition, int]

OFFSET_MAX: Final = 2**63 - 1
_DURATION: Final = re.compile(r"(\d+)\s*([a-z]*)")
# Spark's units of time. A number without a unit is milliseconds.
_UNITS_MS: Final = {
    "": 1.0,
    "us": 0.001,
    "ms": 1.0,
    "s": 1_000.0,
    "m": 60_000.0,
    "min": 60_000.0,
    "h": 3_600_000.0,
    "d": 86_400_000.0,
}


class OptionError(ClientError):
    """An option has a wrong value. The message says what to write instead."""


def boolean(options: Options, name: str, default: bool) -> bool:
    """`true` or `false`."""
    text = options.get(name)
    if text is None:
        return default
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise OptionError(f"Option '{name}' is '{text}': write true or false.")
    return lowered == "true"


def integer(options: Options, name: str, *, lowest: int = 1) -> int | None:
    """A whole number. None if the option is not set."""
    text = options.get(name)
    if text is None:
        return None
    try:
        value = int(text.strip())
    except ValueError:
        raise OptionError(f"Option '{name}' is '{text}': write a whole number.") from None
    if not lowest <= value <= OFFSET_MAX:
        raise OptionError(f"Option '{name}' is {value}: it must be {lowest} or more.")
    return value


def duration_ms(options: Options, name: str) -> int | None:
    """A duration as Spark writes it (`500ms`, `10s`, `15m`, `2h`), in milliseconds."""
    text = options.get(name)
    if text is None:
        return None
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or found[2] not in _UNITS_MS:
        raise OptionError(f"Option '{name}' is '{text}': write a duration such as 500ms, 10s, 15m or 2h.")
    return int(int(found[1]) * _UNITS_MS[found[2]])


def timestamp_ms(options: Options, name: str) -> int | None:
    """Milliseconds since 1970. None if the option is not set."""
    text = options.get(name)
    if text is None:
        return None
    if not text.strip().isascii() or not text.strip().isdigit() or int(text) > OFFSET_MAX:
        raise OptionError(
            f"Option '{name}' is '{text}': write milliseconds since 1970-01-01 UTC, "
            "for example 1700000000000."
        )
    return int(text)


def partition_numbers(options: Options, name: str) -> list[TopicPartition]:
    """Partitions in JSON: `{"sales": [0, 1]}`."""
    example = f"""Option '{name}' is '{options[name]}': write JSON such as {{"sales": [0, 1]}}."""
    topics = _json_object(options[name], example)
    partitions = []
    for topic, numbers in topics.items():
        if not isinstance(numbers, list) or not all(_is_number(number) and number >= 0 for number in numbers):
            raise OptionError(example)
        partitions += [TopicPartition(topic, number) for number in numbers]
    return sorted(set(partitions))


def partition_offsets(options: Options, name: str, *, lowest: int) -> PartitionOffsets:
    """A number for each partition in JSON: `{"sales": {"0": 23, "1": -2}}`."""
    example = (
        f"""Option '{name}' is '{options[name]}': write JSON such as {{"sales": {{"0": 23, "1": 42}}}}"""
        + (", where -1 means latest and -2 means earliest." if lowest < 0 else ".")
    )
    offsets: PartitionOffsets = {}
    for topic, numbers in _json_object(options[name], example).items():
        if not isinstance(numbers, dict):
            raise OptionError(example)
        for partition, number in numbers.items():
            is_partition = partition.isascii() and partition.isdigit()
            if not is_partition or not _is_number(number) or not lowest <= number <= OFFSET_MAX:
                raise OptionError(example)
            offsets[TopicPartition(topic, int(partition))] = number
    return offsets


def _json_object(text: str, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        raise OptionError(example) from None
    if not isinstance(value, dict):
        raise OptionError(example)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
