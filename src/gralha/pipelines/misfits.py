"""Explains why a JSON value does not fit a schema. The reason is a header of the dead letter.

Spark's `from_json` knows that a value does not fit, but not why. Bad values are rare, so they are parsed
again here to name the field, its value, and the expected type.
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
# A sentence has whole keys of maps, which may be long.
SENTENCE_CHARACTERS = 500
DOES_NOT_FIT = "the value does not fit the schema"


def reason(value: bytes, schema: StructType) -> str:
    """Why a value does not fit a schema, as valid UTF-8. The value must not be None."""
    try:
        # JSON may have half of a surrogate pair ("\\ud800"), which is not valid text.
        return _told(value, schema)[:SENTENCE_CHARACTERS].encode("utf-8", "replace").decode()
    except Exception:  # a value must never be able to stop the query
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
    """The error in one value, if its kind shows it."""
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
            return None  # Spark converts anything to text
        case BooleanType():
            return None if isinstance(value, bool) else complaint
        case IntegralType():
            whole = isinstance(value, int) and not isinstance(value, bool)
            return None if whole and _in_range(value, expected) else complaint
        case NumericType():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return None if number or value in ("NaN", "Infinity", "-Infinity") else complaint
        case _:
            # Dates, timestamps and binary values are parsed from text, and only Spark knows the formats.
            return (
                complaint if isinstance(value, bool | list | dict) or _unreadable(value, expected) else None
            )


def _in_range(value: int, expected: IntegralType) -> bool:
    bits = {"tinyint": 8, "smallint": 16, "int": 32}.get(expected.simpleString(), 64)
    return -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _unreadable(value: Any, expected: DataType) -> bool:
    """Returns True if a text is not the expected date or time. This is a hint: Spark has decided already."""
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
