"""Says why a JSON value does not fit a schema: the reason that a dead letter carries.

Spark's `from_json` knows that a value does not fit, but not why. Misfits are rare, so the few that there are
get parsed once more, here, to find the sentence that helps: which field, what it holds, what was expected.
"""

import json
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructType,
)

SHOWN_CHARACTERS = 60
# Keys of a map are named in full, and there is no limit to them.
SENTENCE_CHARACTERS = 500
DOES_NOT_FIT = "the value does not fit the schema"


def reason(value: bytes, schema: StructType) -> str:
    """Why a value does not fit a schema, in a sentence that can be written as UTF-8; raises for no value."""
    try:
        # JSON may hold half a character ("\\ud800"), which is no text.
        return _told(value, schema)[:SENTENCE_CHARACTERS].encode("utf-8", "replace").decode()
    except Exception:  # whoever wrote the value must not be able to stop the query
        return DOES_NOT_FIT


def _told(value: bytes, schema: StructType) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        return f"the value is not text in UTF-8: byte {error.start} is 0x{value[error.start]:02x}"
    if not text.strip():
        return "the value is empty"
    try:
        parsed = json.loads(text)
    except ValueError as error:
        return f"the value is not JSON: {error}"
    except RecursionError:
        return "the value is nested too deeply"
    if not isinstance(parsed, dict):
        return f"the value is {_kind(parsed)}, not a JSON object: {_shown(parsed)}"
    return _misfit(parsed, schema, "") or DOES_NOT_FIT


def _misfit(value: dict[str, Any], schema: StructType, path: str) -> str | None:
    for field in schema.fields:
        name = f"{path}{field.name}"
        inner = value.get(field.name)
        if inner is None:
            if not field.nullable and not path:
                return f"the field {name} is {'null' if field.name in value else 'missing'}"
            continue
        found = _wrong(inner, field.dataType, name)
        if found:
            return found
    return None


def _wrong(value: Any, expected: DataType, name: str) -> str | None:
    """What is wrong with one value, if that can be told from its kind."""
    complaint = f"the field {name} is {_kind(value)}, not {expected.simpleString().upper()}: {_shown(value)}"
    match expected:
        case StructType():
            return _misfit(value, expected, f"{name}.") if isinstance(value, dict) else complaint
        case ArrayType():
            if not isinstance(value, list):
                return complaint
            items = [_wrong(one, expected.elementType, f"{name}[{i}]") for i, one in enumerate(value) if one]
            return next((one for one in items if one), None)
        case MapType():
            if not isinstance(value, dict):
                return complaint
            items = [_wrong(one, expected.valueType, f"{name}.{key}") for key, one in value.items() if one]
            return next((one for one in items if one), None)
        case StringType():
            return None  # Spark turns anything into text
        case BooleanType():
            return None if isinstance(value, bool) else complaint
        case IntegralType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            return None if whole and _in_range(value, expected) else complaint
        case NumericType():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return None if number or value in ("NaN", "Infinity", "-Infinity") else complaint
        case _:
            # Dates, timestamps, binary: they are read from text, and Spark alone knows its formats.
            return (
                complaint if isinstance(value, bool | list | dict) or _unreadable(value, expected) else None
            )


def _in_range(value: int, expected: IntegralType) -> bool:
    bits = {"tinyint": 8, "smallint": 16, "int": 32}.get(expected.simpleString(), 64)
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _unreadable(value: Any, expected: DataType) -> bool:
    """Whether a text holds no date where one is expected; only a hint, Spark has judged already."""
    if expected.simpleString() not in ("timestamp", "timestamp_ntz", "date") or not isinstance(value, str):
        return False
    from datetime import datetime

    try:
        datetime.fromisoformat(value)
    except ValueError:
        return True
    return False


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."
