"""Rules that every `.proto` file keeps, so that its users can compile it."""

from collections.abc import Iterable

from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.protobuf.model import (
    NUMBER_MAX,
    SCALARS,
    Enum,
    Extend,
    Field,
    Group,
    Message,
    ProtoFile,
    Range,
    map_parts,
)
from gralha.registry.schemas.protobuf.names import Names, Scope

# Protobuf keeps these numbers for itself.
_KEPT = range(19_000, 20_000)


def check_file(file: ProtoFile, names: Names) -> None:
    """Refuses types that are not defined, and names and numbers that come twice."""
    _check_unique([one.name for one in file.types], "type", "the file")
    _check_unique([one.name for one in file.services], "service", "the file")
    for one in file.types:
        _check_type(one, names, (one.name,), file.syntax == "proto3")
    _check_extends(file.extends, names, ())
    for service in file.services:
        for rpc in service.rpcs:
            for name in (rpc.request, rpc.response):
                _resolve(name, names, ())


def _check_type(one: Message | Enum, names: Names, scope: Scope, is_proto3: bool) -> None:
    if isinstance(one, Enum):
        _check_enum(one, ".".join(scope), is_proto3)
        return
    fields = one.all_fields()
    where = f"the message '{'.'.join(scope)}'"
    groups = [*one.groups, *(group for oneof in one.oneofs for group in oneof.groups)]
    members: list[Field | Group] = [*fields, *groups]
    _check_unique([member.name for member in members], "field", where)
    _check_unique([member.number for member in members], "field number", where)
    _check_unique([nested.name for nested in one.types], "type", where)
    for number in [member.number for member in members]:
        if not 0 < number <= NUMBER_MAX or number in _KEPT:
            raise InvalidSchemaError(f"The number {number} of a field of {where} is not allowed.")
    _check_reserved(one, where)
    _check_fields([*fields, *(field for group in groups for field in group.fields)], names, scope)
    _check_extends(one.extends, names, scope)
    for nested in one.types:
        _check_type(nested, names, (*scope, nested.name), is_proto3)


def _check_reserved(message: Message, where: str) -> None:
    reserved = [value for values in message.reserved for value in values]
    kept_names = {value for value in reserved if isinstance(value, str)}
    ranges = [
        (value.start, value.end) if isinstance(value, Range) else (value, value)
        for value in reserved
        if not isinstance(value, str)
    ]
    for field in message.all_fields():
        if field.name in kept_names or any(start <= field.number <= end for start, end in ranges):
            raise InvalidSchemaError(f"The field '{field.name}' of {where} has a reserved name or number.")


def _check_fields(fields: Iterable[Field], names: Names, scope: Scope) -> None:
    for field in fields:
        parts = map_parts(field.type)
        type_name = field.type if parts is None else parts[1]
        if type_name not in SCALARS:
            _resolve(type_name, names, scope)


def _check_extends(extends: list[Extend], names: Names, scope: Scope) -> None:
    for extend in extends:
        _resolve(extend.name, names, scope)
        _check_fields(extend.fields, names, scope)


def _check_enum(enum: Enum, name: str, is_proto3: bool) -> None:
    if not enum.constants:
        raise InvalidSchemaError(f"The enum '{name}' has no values.")
    _check_unique([constant.name for constant in enum.constants], "value", f"the enum '{name}'")
    aliases = any(option.name == "allow_alias" and option.value == "true" for option in enum.options)
    if not aliases:
        _check_unique([constant.number for constant in enum.constants], "number", f"the enum '{name}'")
    if is_proto3 and enum.constants[0].number != 0:
        raise InvalidSchemaError(f"The first value of the enum '{name}' is not 0, as proto3 demands.")


def _resolve(name: str, names: Names, scope: Scope) -> None:
    if names.resolve(name, scope) is None:
        raise InvalidSchemaError(f"The type '{name}' is not defined.")


def _check_unique(values: list[str] | list[int], what: str, where: str) -> None:
    seen: set[str | int] = set()
    for value in values:
        if value in seen:
            raise InvalidSchemaError(f"The {what} '{value}' comes twice in {where}.")
        seen.add(value)
