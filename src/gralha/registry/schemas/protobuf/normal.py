"""The normal form of a `.proto` file, which does not depend on the order of fields and options."""

from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.protobuf.model import (
    LIST,
    MAP,
    NESTED,
    SCALARS,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Literal,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    map_parts,
)
from gralha.registry.schemas.protobuf.names import Names
from gralha.registry.schemas.protobuf.option_text import OptionWriter
from gralha.registry.schemas.protobuf.text import Writer

_DIGITS_MAX = 400


class NormalWriter(Writer):
    """Writes the normal form. It needs all types that the file knows."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names
        self._scope: tuple[str, ...] = ()
        self._options = OptionWriter(normal_number, self._entries, opens_lists=True)

    def _writes_syntax(self, syntax: str) -> bool:
        return syntax == "proto3"

    def _imports(self, names: list[str]) -> list[str]:
        return sorted(set(names))

    def _enter(self, name: str) -> None:
        self._scope = (*self._scope, name)

    def _leave(self) -> None:
        self._scope = self._scope[:-1]

    def _is_hidden(self, one: Message | Enum) -> bool:
        info = self._names.find(one.name, self._scope)
        return info is not None and info.map_type is not None

    def _fields(self, fields: list[Field]) -> list[Field]:
        return sorted(fields, key=lambda field: field.number)

    def _groups(self, groups: list[Group]) -> list[Group]:
        return sorted(groups, key=lambda group: group.number)

    def _oneofs(self, oneofs: list[OneOf]) -> list[OneOf]:
        sorted_ones = [
            OneOf(one.name, self._fields(one.fields), one.groups, one.options) for one in oneofs if one.fields
        ]
        return sorted(sorted_ones, key=lambda one: one.fields[0].number)

    def _constants(self, constants: list[Constant]) -> list[Constant]:
        return sorted(constants, key=lambda constant: (constant.number, constant.name))

    def _all_reserved(self, reserved: list[Reserved]) -> list[Reserved]:
        single: list[Reserved] = [[value] for values in reserved for value in values]
        return sorted(single, key=lambda one: (_start(one[0]), str(one[0])))

    def _all_extensions(self, extensions: list[Extensions]) -> list[Extensions]:
        single = [Extensions([value], one.options) for one in extensions for value in one.values]
        return sorted(single, key=lambda one: _start(one.values[0]))

    def _all_extends(self, extends: list[Extend]) -> list[Extend]:
        merged: dict[str, Extend] = {}
        for extend in extends:
            name = self._resolve(extend.name)
            merged.setdefault(name, Extend(name, [])).fields.extend(extend.fields)
        return list(merged.values())

    def _type_of_rpc(self, name: str) -> str:
        return self._resolve(name)

    def _label_and_type(self, field: Field) -> tuple[str | None, str]:
        type_name = field.type
        if type_name not in SCALARS and map_parts(type_name) is None:
            type_name = self._resolve(type_name)
            map_type = self._names.types[type_name[1:]].map_type
            type_name = map_type or type_name
        parts = map_parts(type_name)
        if parts is None:
            return field.label, type_name
        key, value = parts
        if value not in SCALARS:
            value = self._resolve(value)
        return None, f"map<{key}, {value}>"

    def _resolve(self, name: str) -> str:
        full_name = self._names.resolve(name, self._scope)
        if full_name is None:
            raise InvalidSchemaError(f"The type '{name}' is not defined.")
        return f".{full_name}"

    def _range(self, value: int | Range) -> str:
        if isinstance(value, Range) and value.start == value.end:
            return str(value.start)
        return super()._range(value)

    def _option(self, option: Option) -> str:
        return self._options.option(option)

    def _entries(self, entries: dict[str, Any]) -> dict[str, Any]:
        named = {self._entry_name(key): value for key, value in reversed(entries.items()) if value != []}
        return {key: named[key] for key in sorted(named)}

    def _entry_name(self, key: str) -> str:
        if key.startswith("[") and key.endswith("]"):
            full_name = self._names.resolve_extension(key[1:-1], self._scope)
            return f"[{full_name}]" if full_name is not None else key
        return key

    def _chosen(self, options: list[Option]) -> list[Option]:
        grouped: dict[str, list[Option]] = {}
        for option in sorted((self._qualified(option) for option in options), key=lambda one: one.name):
            grouped.setdefault(option.name, []).append(option)
        chosen: list[Option] = []
        for name, same in grouped.items():
            extension = self._names.extensions.get(name)
            if extension is None or extension.label == "repeated":
                chosen += same
                continue
            merged = same[0]
            for option in same[1:]:
                merged = self._merged(extension, merged, as_map(option))
            chosen.append(merged)
        return chosen

    def _qualified(self, option: Option) -> Option:
        if not option.parenthesized:
            return option
        full_name = self._names.resolve_extension(option.name, self._scope)
        return option if full_name is None else as_map(option._replace(name=full_name))

    def _merged(self, extension: Field, first: Option, second: Option) -> Option:
        if first.kind == MAP and second.kind == MAP:
            return second._replace(value=self._merged_maps(extension, first.value, second.value))
        return second

    def _merged_maps(
        self, field: Field | None, first: dict[str, Any], second: dict[str, Any]
    ) -> dict[str, Any]:
        message = self._message_of(field)
        members = {member.name: member for member in message.fields} if message else {}
        merged = dict(first)
        for key, value in second.items():
            merged[key] = (
                self._merged_values(members.get(key), merged[key], value) if key in merged else value
            )
        return merged

    def _merged_values(self, field: Field | None, first: Any, second: Any) -> Any:
        if field is not None and field.label != "repeated":
            if isinstance(first, dict) and isinstance(second, dict) and self._message_of(field):
                return self._merged_maps(field, first, second)
            return second
        values = [*_as_list(first), *_as_list(second)]
        return [value for index, value in enumerate(values) if value not in values[:index]]

    def _message_of(self, field: Field | None) -> Message | None:
        info = self._names.find(field.type, self._scope) if field is not None else None
        return info.type if info is not None and isinstance(info.type, Message) else None


def as_map(option: Option) -> Option:
    """`(a).b = 1` as `(a) = {b: 1}`."""
    if option.kind != NESTED:
        return option
    return option._replace(kind=MAP, value=_nested_map(option.value))


def _nested_map(inner: Option) -> dict[str, Any]:
    if inner.kind == NESTED:
        return {inner.name: _nested_map(inner.value)}
    plain = inner.kind in (MAP, LIST, "string")
    return {inner.name: inner.value if plain else Literal(inner.kind, inner.value)}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _start(value: str | int | Range) -> int:
    if isinstance(value, Range):
        return value.start
    return value if isinstance(value, int) else 2**31


def normal_number(text: str) -> str:
    """A number with at most three digits after the point. Anything else, such as -inf, stays."""
    digits = text.lower().removeprefix("-")
    sign = "-" if text.startswith("-") else ""
    try:
        if digits.startswith("0x"):
            return sign + str(int(digits, 16))
        if digits.isdecimal():
            return sign + str(int(digits, 8 if len(digits) > 1 and digits.startswith("0") else 10))
        number = Decimal(text)
        if not number.is_finite() or abs(number.adjusted()) > _DIGITS_MAX:
            return text
        rounded = f"{number.quantize(Decimal('0.001'), ROUND_HALF_EVEN):f}"
    except (InvalidOperation, ValueError):
        return text
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded
