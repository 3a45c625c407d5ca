"""From JSON to a graph of Avro types, by the rules of the class Schema.Parser in Java.

A name may be used before its definition: then an empty, unresolved type takes its place. After the whole
text is read, the defined types take their places, and what depends on them is checked.
"""

from typing import Any

from gralha.registry.schemas.avro.defaults import is_valid_default, parse_double
from gralha.registry.schemas.avro.equality import equal
from gralha.registry.schemas.avro.model import (
    NO_DEFAULT,
    PLAIN,
    PRIMITIVES,
    RESERVED,
    RESERVED_IN_ENUM,
    RESERVED_IN_FIELD,
    Field,
    Type,
)
from gralha.registry.schemas.avro.names import check_full_name, check_name, make_name
from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.json_text import write_json

_FIXED_SIZE_MAX = 2**31 - 1 - 8
_ORDERS = ("ascending", "descending", "ignore")


class AvroParser:
    """Parses schemas that know the names of those parsed before: first the referenced ones."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._types: dict[str, Type] = {}

    def parse(self, document: Any) -> Type:
        """The type of one document. Its names are known afterwards."""
        parsed = self._parse(document, None)
        seen: set[int] = set()
        for named in self._types.values():
            self._resolve_all(named, seen)
        result = self._resolved(parsed)
        self._resolve_all(result, seen)
        return result

    def _resolve_all(self, root: Type, seen: set[int]) -> None:
        """Puts defined types in the place of names, and checks each type after those inside of it."""
        pending = [(root, False)]
        while pending:
            current, is_done = pending.pop()
            if is_done:
                self._check_resolved(current)
            elif id(current) not in seen and not current.is_shared:
                seen.add(id(current))
                current.is_complete = False
                current.inner = [self._resolved(part) for part in current.inner]
                for field in current.fields:
                    field.type = self._resolved(field.type)
                parts = [*current.inner, *(field.type for field in current.fields)]
                pending.append((current, True))
                pending.extend((part, False) for part in reversed(parts))

    def _check_resolved(self, current: Type) -> None:
        if current.kind == "union":
            _check_union(current)
        for field in current.fields:
            self._check_default(field)
        current.is_complete = True

    def _resolved(self, part: Type) -> Type:
        if part.unresolved is None:
            # Of two equal definitions of a name, the first one counts.
            return self._types.get(part.name.full, part) if part.name else part
        if part.unresolved not in self._types:
            raise InvalidSchemaError(f"The type '{part.unresolved}' is not defined.")
        return self._types[part.unresolved]

    def _parse(self, document: Any, space: str | None) -> Type:
        if isinstance(document, str):
            return self._find(document, space)
        if isinstance(document, list):
            return Type("union", inner=[self._parse(branch, space) for branch in document])
        if not isinstance(document, dict):
            raise InvalidSchemaError(f"A schema is a string, an object or an array, not {_quote(document)}.")
        kind = document.get("type")
        if not isinstance(kind, str):
            raise InvalidSchemaError(f"A type has no name in 'type': {_quote(document)}")
        if kind in PRIMITIVES:
            return Type(kind, _properties(document, RESERVED))
        if kind in ("record", "error"):
            return self._record(document, space)
        if kind == "enum":
            return self._enum(document, space)
        if kind == "fixed":
            return self._fixed(document, space)
        if kind in ("array", "map"):
            return self._container(kind, document, space)
        return self._find(kind, space)

    def _find(self, name: str, space: str | None) -> Type:
        if name in PLAIN:
            return PLAIN[name]
        full = f"{space}.{name}" if space is not None and "." not in name else name
        found = self._types.get(full) or self._types.get(name)
        return found or Type("record", unresolved=full)

    def _container(self, kind: str, document: dict[str, Any], space: str | None) -> Type:
        key = "items" if kind == "array" else "values"
        if key not in document:
            raise InvalidSchemaError(f"The type '{kind}' has no '{key}': {_quote(document)}")
        inner = self._parse(document[key], space)
        return Type(kind, _properties(document, RESERVED), inner=[inner])

    def _named(self, kind: str, document: dict[str, Any], space: str | None) -> Type:
        own_space = _text(document, "namespace")
        name = _text(document, "name")
        if name is None:
            raise InvalidSchemaError(f"The type '{kind}' has no name: {_quote(document)}")
        made = make_name(name, space if own_space is None else own_space, self._strict)
        if made.full in PRIMITIVES:
            check_full_name(made, self._strict)
        reserved = RESERVED_IN_ENUM if kind == "enum" else RESERVED
        result = Type(kind, _properties(document, reserved), made, _text(document, "doc"))
        aliases = [make_name(alias, made.space, self._strict) for alias in _aliases(document)]
        result.aliases = list({alias.full: alias for alias in aliases}.values())
        return result

    def _put(self, named: Type) -> None:
        assert named.name is not None
        check_full_name(named.name, self._strict)
        known = self._types.setdefault(named.name.full, named)
        if known is not named and not equal(known, named):
            raise InvalidSchemaError(f"The type '{named.name.full}' has two different definitions.")

    def _record(self, document: dict[str, Any], space: str | None) -> Type:
        result = self._named("record", document, space)
        assert result.name is not None
        result.is_error = document["type"] == "error"
        fields = document.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchemaError(f"The record '{result.name.full}' has no list of fields.")
        for field_document in fields:
            field = self._field(field_document, result.name.space)
            if field.name in result.by_name:
                raise InvalidSchemaError(
                    f"The record '{result.name.full}' has two fields with the name '{field.name}'."
                )
            result.fields.append(field)
            result.by_name[field.name] = field
        self._put(result)
        return result

    def _field(self, document: Any, space: str | None) -> Field:
        if not isinstance(document, dict):
            raise InvalidSchemaError(f"A field is no object: {_quote(document)}")
        name = _text(document, "name")
        if name is None:
            raise InvalidSchemaError(f"A field has no name: {_quote(document)}")
        if "type" not in document:
            raise InvalidSchemaError(f"The field '{name}' has no type.")
        field_type = self._parse(document["type"], space)
        order = document.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise InvalidSchemaError(f"The field '{name}' has an order that is none of {', '.join(_ORDERS)}.")
        default = document.get("default", NO_DEFAULT)
        if field_type.kind in ("float", "double") and isinstance(default, str):
            default = parse_double(default)
        field = Field(
            check_name(name, self._strict),
            field_type,
            _text(document, "doc"),
            default,
            order.lower(),
            list(dict.fromkeys(_aliases(document))),
            _properties(document, RESERVED_IN_FIELD),
        )
        self._check_default(field)
        return field

    def _check_default(self, field: Field) -> None:
        if not self._strict or field.default is NO_DEFAULT or is_valid_default(field.type, field.default):
            return
        value = _quote(field.default)
        raise InvalidSchemaError(
            f"The default of the field '{field.name}' is not of the type {field.type.full_name}: {value}"
        )

    def _enum(self, document: dict[str, Any], space: str | None) -> Type:
        result = self._named("enum", document, space)
        symbols = document.get("symbols")
        if not isinstance(symbols, list):
            raise InvalidSchemaError(f"The enum '{result.full_name}' has no list of symbols.")
        result.symbols = [check_name(symbol, self._strict) for symbol in symbols]
        if len(set(result.symbols)) < len(symbols):
            raise InvalidSchemaError(f"The enum '{result.full_name}' has a symbol twice.")
        result.default_symbol = _text(document, "default")
        if result.default_symbol is not None and result.default_symbol not in result.symbols:
            raise InvalidSchemaError(
                f"The default '{result.default_symbol}' is no symbol of the enum '{result.full_name}'."
            )
        self._put(result)
        return result

    def _fixed(self, document: dict[str, Any], space: str | None) -> Type:
        result = self._named("fixed", document, space)
        size = document.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _FIXED_SIZE_MAX:
            raise InvalidSchemaError(f"The fixed '{result.full_name}' has no valid size.")
        result.size = size
        self._put(result)
        return result


def _check_union(union: Type) -> None:
    names = set()
    for branch in union.inner:
        if branch.kind == "union":
            raise InvalidSchemaError("A union is inside of another union.")
        if branch.full_name in names:
            raise InvalidSchemaError(f"A union has the type '{branch.full_name}' twice.")
        names.add(branch.full_name)


def _properties(document: dict[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in reserved}


def _text(document: dict[str, Any], key: str) -> str | None:
    value = document.get(key)
    return value if isinstance(value, str) else None


def _aliases(document: dict[str, Any]) -> list[str]:
    aliases = document.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidSchemaError(f"The aliases are no list of strings: {_quote(aliases)}")
    return aliases


def _quote(value: Any) -> str:
    text = write_json(value)
    return text if len(text) <= 200 else text[:200] + "..."
