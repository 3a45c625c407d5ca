"""Avro types as text: the form that Java's Schema.toString gives, and Confluent's normal form."""

from typing import Any

from gralha.registry.schemas.avro.defaults import Float, java_object
from gralha.registry.schemas.avro.logical import logical_properties
from gralha.registry.schemas.avro.model import NAMED, NO_DEFAULT, PRIMITIVES, Field, Name, Type
from gralha.registry.schemas.json_text import sort_members, write_double, write_json, write_string


def canonical_text(schema: Type, known_names: set[str]) -> str:
    """The schema as Java writes it. Names in `known_names` are not defined again."""
    parts: list[str] = []
    _write(schema, set(known_names), None, parts)
    return "".join(parts)


def _write(schema: Type, known: set[str], space: str | None, parts: list[str]) -> None:
    if schema.kind == "union":
        parts.append("[")
        for index, branch in enumerate(schema.inner):
            parts.append("," if index else "")
            _write(branch, known, space, parts)
        parts.append("]")
    elif schema.name is not None:
        _write_named(schema, schema.name, known, space, parts)
    elif schema.kind in PRIMITIVES and not schema.properties:
        parts.append(f'"{schema.kind}"')
    else:
        parts.append(f'{{"type":"{schema.kind}"')
        if schema.kind in ("array", "map"):
            parts.append(',"items":' if schema.kind == "array" else ',"values":')
            _write(schema.inner[0], known, space, parts)
        parts.append(_members(schema.properties))
        parts.append("}")


def _write_named(schema: Type, name: Name, known: set[str], space: str | None, parts: list[str]) -> None:
    if name.full in known:
        parts.append(write_string(name.seen_from(space)))
        return
    known.add(name.full)
    kind = "error" if schema.is_error else schema.kind
    parts.append(f'{{"type":"{kind}","name":{write_string(name.simple)}')
    if name.space is not None and name.space != space:
        parts.append(f',"namespace":{write_string(name.space)}')
    elif name.space is None and space is not None:
        parts.append(',"namespace":""')
    if schema.doc is not None:
        parts.append(f',"doc":{write_string(schema.doc)}')
    if schema.kind == "record":
        parts.append(',"fields":[')
        for index, field in enumerate(schema.fields):
            parts.append("," if index else "")
            _write_field(field, known, name.space, parts)
        parts.append("]")
    elif schema.kind == "enum":
        parts.append(f',"symbols":{write_json(schema.symbols)}')
        if schema.default_symbol is not None:
            parts.append(f',"default":{write_string(schema.default_symbol)}')
    else:
        parts.append(f',"size":{schema.size}')
    parts.append(_members(schema.properties))
    if schema.aliases:
        aliases = [alias.seen_from(name.space) for alias in schema.aliases]
        parts.append(f',"aliases":{write_json(aliases)}')
    parts.append("}")


def _write_field(field: Field, known: set[str], space: str | None, parts: list[str]) -> None:
    parts.append(f'{{"name":{write_string(field.name)},"type":')
    _write(field.type, known, space, parts)
    if field.doc is not None:
        parts.append(f',"doc":{write_string(field.doc)}')
    if field.default is not NO_DEFAULT:
        parts.append(f',"default":{write_json(field.default)}')
    if field.order != "ascending":
        parts.append(f',"order":"{field.order}"')
    if field.aliases:
        parts.append(f',"aliases":{write_json(field.aliases)}')
    parts.append(_members(field.properties))
    parts.append("}")


def _members(properties: dict[str, Any]) -> str:
    return "".join(f",{write_string(key)}:{write_json(value)}" for key, value in properties.items())


def normal_document(schema: Type, defined: set[str]) -> Any:
    """The document in Confluent's normal form. Parsed again, it gives the normalized schema.

    Names are full, and the properties, the aliases and the keys inside of properties are sorted.
    """
    if schema.kind == "union":
        return [normal_document(branch, defined) for branch in schema.inner]
    if schema.kind in NAMED and schema.full_name in defined:
        return schema.full_name
    document: dict[str, Any] = {}
    if schema.kind in NAMED:
        defined.add(schema.full_name)
        document["name"] = schema.full_name
    document["type"] = schema.kind
    if schema.kind == "array":
        document["items"] = normal_document(schema.inner[0], defined)
    elif schema.kind == "map":
        document["values"] = normal_document(schema.inner[0], defined)
    elif schema.kind == "enum":
        document["symbols"] = schema.symbols
    elif schema.kind == "fixed":
        document["size"] = schema.size
    elif schema.kind == "record":
        document["fields"] = [_normal_field(field, defined) for field in schema.fields]
    document.update(logical_properties(schema))
    if schema.doc:
        document["doc"] = schema.doc
    if schema.aliases:
        document["aliases"] = sorted(set(schema.alias_names()))
    if schema.default_symbol is not None:
        document["default"] = schema.default_symbol
    for key in sorted(schema.properties):
        document[key] = sort_members(schema.properties[key])
    return schema.kind if schema.kind in PRIMITIVES and len(document) == 1 else document


def _normal_field(field: Field, defined: set[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": field.name,
        "type": normal_document(field.type, defined),
        "order": field.order,
    }
    if field.doc is not None:
        document["doc"] = field.doc
    if field.aliases:
        document["aliases"] = sorted(set(field.aliases))
    if field.default is not NO_DEFAULT:
        default = java_object(field.default, field.type)
        if default is not NO_DEFAULT:
            document["default"] = default
    for key in sorted(field.properties):
        document[key] = sort_members(field.properties[key])
    return document


def document_text(document: Any) -> str:
    """The normal form as text."""
    return write_json(_plain(document))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    # JSON has no single precision: the digits that Java writes become the number.
    return float(str(value)) if isinstance(value, Float) and write_double(value)[0] != '"' else value
