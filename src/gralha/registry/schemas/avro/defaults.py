"""Default values of Avro fields: which ones Java accepts, and how its objects for them are written."""

import re
import struct
from collections.abc import Callable
from typing import Any

from gralha.registry.schemas.avro.model import NO_DEFAULT, Type
from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.json_text import java_double

_DOUBLE = re.compile(r"\s*([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?))\s*")
# A default may be a record whose fields have defaults in turn, without an end.
_DEPTH_MAX = 200


def parse_double(text: str) -> float:
    """The number in a default that is a string."""
    match = _DOUBLE.fullmatch(text)
    if match is None:
        raise InvalidSchemaError(f"The default '{text}' is no number.")
    digits = match.group(1)
    return float(digits if digits.endswith(("NaN", "Infinity")) else digits.rstrip("fFdD"))


def is_valid_default(field_type: Type, value: Any, depth: int = 0) -> bool:
    """Whether Java accepts the default. NO_DEFAULT is a field that a record's default leaves out."""
    if value is NO_DEFAULT:
        return False
    if depth > _DEPTH_MAX:
        raise InvalidSchemaError("A default is nested too deeply.")
    kind = field_type.kind
    if kind in _SIMPLE:
        return _SIMPLE[kind](value)
    if kind == "union":
        return any(is_valid_default(branch, value, depth + 1) for branch in field_type.inner)
    if kind == "array":
        return isinstance(value, list) and all(
            is_valid_default(field_type.inner[0], item, depth + 1) for item in value
        )
    if not isinstance(value, dict):
        return False
    if not field_type.is_complete:
        raise InvalidSchemaError(f"A default is inside of its own type '{field_type.full_name}'.")
    if kind == "map":
        return all(is_valid_default(field_type.inner[0], item, depth + 1) for item in value.values())
    return all(
        is_valid_default(field.type, value.get(field.name, field.default), depth + 1)
        for field in field_type.fields
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_int(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and -(2**31) <= value < 2**31


def _is_long(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and -(2**63) <= value < 2**63


_SIMPLE: dict[str, Callable[[Any], bool]] = {
    "string": _is_text,
    "bytes": _is_text,
    "enum": _is_text,
    "fixed": _is_text,
    "int": _is_int,
    "long": _is_long,
    "float": _is_number,
    "double": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


class Float(float):
    """A number in single precision. Java writes the fewest digits that name it among its kind."""

    def __str__(self) -> str:
        return java_double(self, _shortest(self))


def _shortest(number: float) -> str:
    for precision in range(1, 10):
        digits = f"{number:.{precision}g}"
        if _single(float(digits)) == number:
            return _with_point(digits)
    return repr(number)


def _with_point(digits: str) -> str:
    mantissa, e, exponent = digits.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def _single(number: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return rounded


def java_object(value: Any, field_type: Type | None) -> Any:
    """The default as the object that Java makes of it for this type; NO_DEFAULT where Java makes none."""
    if value is None:
        return None
    kind = field_type.kind if field_type else ""
    if field_type is not None and kind == "union":
        for branch in field_type.inner:
            made = NO_DEFAULT if branch.kind == "null" else java_object(value, branch)
            if made is not NO_DEFAULT:
                return made
        return NO_DEFAULT
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _java_number(value, kind)
    if isinstance(value, str):
        return value if kind in ("", "string", "enum", "bytes", "fixed") else NO_DEFAULT
    if isinstance(value, list):
        inner = field_type.inner[0] if field_type is not None and kind == "array" else None
        return [java_object(item, inner) for item in value]
    return {key: java_object(item, _part(field_type, key)) for key, item in sorted(value.items())}


def _java_number(value: int | float, kind: str) -> Any:
    if kind == "double":
        return float(value)
    if kind == "float":
        return Float(_single(float(value)))
    if isinstance(value, float):
        return value if kind == "" else NO_DEFAULT
    fits = {"": _is_long(value), "int": _is_long(value), "long": _is_long(value)}.get(kind, False)
    return value if fits else NO_DEFAULT


def _part(field_type: Type | None, key: str) -> Type | None:
    if field_type is None:
        return None
    if field_type.kind == "map":
        return field_type.inner[0]
    if field_type.kind == "record" and key in field_type.by_name:
        return field_type.by_name[key].type
    return None
