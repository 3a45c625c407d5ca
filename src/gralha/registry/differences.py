"""The changes between two schemas, in sentences for a person."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_NAMED: Final = ("record", "enum", "fixed", "error")
_DEPTH_MAX: Final = 50
_ARTICLES: Final = {"message": "a", "enum": "an", "oneof": "a", "service": "a"}
_PROTOBUF_BLOCK: Final = re.compile(r"^\s*(message|enum|oneof|service)\s+(\S+)\s*\{")
_PROTOBUF_FIELD: Final = re.compile(r"^\s*(.*?)\s*\b(\w+)\s*=\s*(-?\d+)\s*(\[.*\])?;")


def differences(schema_type: str, older: str, newer: str) -> list[str]:
    """The changes from the older to the newer text. Empty if a reader sees none."""
    if schema_type == "PROTOBUF":
        return list(_changed(_protobuf_parts(older), _protobuf_parts(newer)))
    describe = _avro_parts if schema_type == "AVRO" else _json_parts
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    describe(json.loads(older), "", before, 0)
    describe(json.loads(newer), "", after, 0)
    return list(_changed(before, after))


def _changed(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    """Compares descriptions by name: `field a` -> `long, default 0`."""
    for name, description in after.items():
        if name not in before:
            yield f"{name} was added: {description}"
        elif before[name] != description:
            yield f"{name} changed from {before[name]} to {description}"
    for name, description in before.items():
        if name not in after:
            yield f"{name} was removed (it was {description})"


def _avro_parts(schema: Any, path: str, parts: dict[str, str], depth: int) -> None:
    if depth > _DEPTH_MAX:
        return
    if isinstance(schema, list):
        for branch in schema:
            if not isinstance(branch, str):
                _avro_parts(branch, path, parts, depth + 1)
        return
    if not isinstance(schema, dict):
        if not path:
            parts["the schema"] = _avro_type(schema)
        return
    kind = schema.get("type")
    if not path:
        parts["the schema"] = _avro_type(schema)
    if kind in ("record", "error"):
        for field in schema.get("fields", ()):
            place = f"{path}.{field['name']}" if path else str(field["name"])
            parts[f"field {place}"] = _avro_field(field)
            _avro_parts(field["type"], place, parts, depth + 1)
    elif kind == "enum":
        for symbol in schema.get("symbols", ()):
            parts[f"symbol {symbol} of {path or schema.get('name')}"] = "a symbol"
    elif kind == "array":
        _avro_parts(schema.get("items"), f"{path}[]", parts, depth + 1)
    elif kind == "map":
        _avro_parts(schema.get("values"), f"{path}{{}}", parts, depth + 1)
    elif isinstance(kind, dict | list):
        _avro_parts(kind, path, parts, depth + 1)


def _avro_field(field: dict[str, Any]) -> str:
    text = _avro_type(field["type"])
    if "default" in field:
        text += f", default {json.dumps(field['default'])}"
    if field.get("aliases"):
        text += f", also called {', '.join(field['aliases'])}"
    return text


def _avro_type(schema: Any) -> str:
    if isinstance(schema, list):
        return " or ".join(_avro_type(branch) for branch in schema)
    if not isinstance(schema, dict):
        return str(schema)
    kind = schema.get("type")
    if kind == "array":
        return f"array of {_avro_type(schema.get('items'))}"
    if kind == "map":
        return f"map of {_avro_type(schema.get('values'))}"
    if kind in _NAMED:
        size = f" of {schema['size']} bytes" if kind == "fixed" else ""
        return f"{kind} {schema.get('name')}{size}"
    if isinstance(kind, dict | list):
        return _avro_type(kind)
    logical = schema.get("logicalType")
    return f"{kind} ({logical})" if logical else str(kind)


def _json_parts(schema: Any, path: str, parts: dict[str, str], depth: int) -> None:
    if depth > _DEPTH_MAX or not isinstance(schema, dict):
        return
    if not path:
        parts["the schema"] = _json_type(schema)
    required = schema.get("required") if isinstance(schema.get("required"), list) else []
    for name, its in (schema.get("properties") or {}).items():
        place = f"{path}.{name}" if path else str(name)
        parts[f"property {place}"] = _json_type(its) + (", required" if name in (required or ()) else "")
        _json_parts(its, place, parts, depth + 1)
    _json_parts(schema.get("items"), f"{path}[]", parts, depth + 1)
    for group in ("definitions", "$defs"):
        for name, its in (schema.get(group) or {}).items():
            _json_parts(its, f"{group}/{name}", parts, depth + 1)


def _json_type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "anything" if schema is True else "nothing" if schema is False else str(schema)
    kind = schema.get("type", schema.get("$ref", "any type"))
    text = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    shown = ("type", "$ref", "properties", "required", "items", "definitions", "$defs", "$schema", "$id")
    ignored = (*shown, "title", "description", "examples", "$comment")
    more = {name: value for name, value in schema.items() if name not in ignored}
    return text + "".join(f", {name} {json.dumps(value, sort_keys=True)}" for name, value in more.items())


def _protobuf_parts(text: str) -> dict[str, str]:
    """The fields of each message. The registry stores one field, and one end of a block, in a line."""
    parts: dict[str, str] = {}
    path: list[str] = []
    for line in text.splitlines():
        block = _PROTOBUF_BLOCK.match(line)
        field = _PROTOBUF_FIELD.match(line)
        if block is not None:
            path.append(block[2])
            parts[f"{block[1]} {'.'.join(path)}"] = f"{_ARTICLES[block[1]]} {block[1]}"
            if line.rstrip().endswith("}"):
                path.pop()
        elif field is not None and path:
            options = f" {field[4]}" if field[4] else ""
            kind = field[1] or "value"
            parts[f"field {'.'.join(path)}.{field[2]}"] = f"{kind} with number {field[3]}{options}"
        elif line.strip() == "}" and path:
            path.pop()
    return parts
