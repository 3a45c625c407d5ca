"""Logical types of Avro, as far as Java checks them. An invalid one is an ordinary property."""

import math
from typing import Any

from gralha.registry.schemas.avro.model import Type

_KINDS = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "big-decimal": ("bytes",),
}


def logical_properties(schema: Type) -> dict[str, Any]:
    """The properties of a valid logical type in their normal order."""
    name = schema.properties.get("logicalType")
    if not isinstance(name, str):
        return {}
    if name == "decimal":
        return _decimal(schema)
    if name == "uuid":
        valid = schema.kind == "string" or (schema.kind == "fixed" and schema.size == 16)
    elif name == "duration":
        valid = schema.kind == "fixed" and schema.size == 12
    else:
        valid = schema.kind in _KINDS.get(name, ())
    return {"logicalType": name} if valid else {}


def _decimal(schema: Type) -> dict[str, Any]:
    precision = schema.properties.get("precision")
    scale = schema.properties.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or bool in (type(precision), type(scale)):
        return {}
    if schema.kind == "fixed":
        digits_max = math.floor(math.log10(2) * (8 * schema.size - 1))
    else:
        digits_max = 2**31 - 1 if schema.kind == "bytes" else 0
    if not 0 < precision <= min(digits_max, 2**31 - 1) or not 0 <= scale <= precision:
        return {}
    found = {"logicalType": "decimal", "precision": precision}
    if scale:
        found["scale"] = scale
    return found
