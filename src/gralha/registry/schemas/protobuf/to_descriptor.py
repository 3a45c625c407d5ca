"""From declarations to a FileDescriptorProto: the format "serialized" of the registry.

Only options that Protobuf itself defines are in it. Custom options stay in the text.
"""

from typing import Any

from google.protobuf import descriptor_pb2, text_encoding
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as Proto

from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.protobuf.model import (
    LIST,
    MAP,
    NUMBER_MAX,
    SCALARS,
    STRING,
    Enum,
    Extend,
    Field,
    Group,
    Literal,
    Message,
    Option,
    ProtoFile,
    Range,
    Service,
    map_parts,
)
from gralha.registry.schemas.protobuf.names import Names, Scope
from gralha.registry.schemas.protobuf.normal import as_map

_F = descriptor_pb2.FieldDescriptorProto


def descriptor_of(file: ProtoFile, names: Names, name: str = "default") -> descriptor_pb2.FileDescriptorProto:
    """The descriptor of a file whose types are all known."""
    return _Builder(file, names).build(name)


class _Builder:
    def __init__(self, file: ProtoFile, names: Names) -> None:
        self._file = file
        self._names = names

    def build(self, name: str) -> descriptor_pb2.FileDescriptorProto:
        file = self._file
        built = descriptor_pb2.FileDescriptorProto(name=name)
        if file.package is not None:
            built.package = file.package
        if file.edition is not None:
            built.syntax = "editions"
            built.edition = _edition(file.edition)
        elif file.syntax is not None:
            built.syntax = file.syntax
        for kinds in (file.imports, file.public_imports, file.weak_imports):
            for imported in kinds:
                if kinds is file.public_imports:
                    built.public_dependency.append(len(built.dependency))
                elif kinds is file.weak_imports:
                    built.weak_dependency.append(len(built.dependency))
                built.dependency.append(imported)
        for one in file.types:
            if isinstance(one, Message):
                self._message(one, built.message_type.add(), (one.name,))
            else:
                _enum(one, built.enum_type.add())
        for service in file.services:
            self._service(service, built.service.add())
        self._extends(file.extends, built.extension, ())
        _set_options(built, file.options)
        return built

    def _message(self, message: Message, built: descriptor_pb2.DescriptorProto, scope: Scope) -> None:
        built.name = message.name
        for field in message.fields:
            self._field(field, built.field.add(), scope, built)
        for index, oneof in enumerate(message.oneofs):
            _set_options(built.oneof_decl.add(name=oneof.name), oneof.options)
            for member in oneof.fields:
                self._field(member, built.field.add(oneof_index=index), scope, built)
            for group in oneof.groups:
                self._group(group, built.field.add(oneof_index=index), scope, built)
        for group in message.groups:
            self._group(group, built.field.add(), scope, built)
        for one in message.types:
            if isinstance(one, Message):
                self._message(one, built.nested_type.add(), (*scope, one.name))
            else:
                _enum(one, built.enum_type.add())
        for extensions in message.extensions:
            for value in extensions.values:
                start, end = _ends(value)
                _set_options(built.extension_range.add(start=start, end=end + 1), extensions.options)
        self._extends(message.extends, built.extension, scope)
        for reserved in message.reserved:
            for entry in reserved:
                if isinstance(entry, str):
                    built.reserved_name.append(entry)
                else:
                    start, end = _ends(entry)
                    built.reserved_range.add(start=start, end=end + 1)
        _set_options(built, message.options)
        for proto_field in built.field:
            if proto_field.proto3_optional:
                proto_field.oneof_index = len(built.oneof_decl)
                built.oneof_decl.add(name=f"_{proto_field.name}")

    def _field(
        self, field: Field, built: Any, scope: Scope, owner: descriptor_pb2.DescriptorProto | None
    ) -> None:
        built.name, built.number = field.name, field.number
        built.label = {"required": 2, "repeated": 3}.get(field.label or "", 1)
        if field.label == "optional" and self._file.syntax == "proto3" and owner is not None:
            built.proto3_optional = True
        parts = map_parts(field.type)
        if parts is not None and owner is not None:
            built.label = 3
            entry = Message(_entry_name(field.name))
            entry.fields = [Field("optional", parts[0], "key", 1), Field("optional", parts[1], "value", 2)]
            entry.options = [Option("map_entry", "boolean", "true")]
            nested = owner.nested_type.add()
            self._plain_entry(entry, nested, scope)
            full = [*([self._file.package] if self._file.package else []), *scope, entry.name]
            built.type, built.type_name = _F.TYPE_MESSAGE, "." + ".".join(full)
        else:
            self._type(field.type, built, scope)
        if field.default is not None:
            built.default_value = _escaped(field.default) if field.type == "bytes" else field.default
        if field.json_name is not None:
            built.json_name = field.json_name
        _set_options(built, field.options)

    def _plain_entry(self, entry: Message, built: descriptor_pb2.DescriptorProto, scope: Scope) -> None:
        built.name = entry.name
        for field in entry.fields:
            self._type(field.type, built.field.add(name=field.name, number=field.number, label=1), scope)
        built.options.map_entry = True

    def _type(self, type_name: str, built: Any, scope: Scope) -> None:
        if type_name in SCALARS:
            built.type = _F.Type.Value(f"TYPE_{type_name.upper()}")
            return
        info = self._names.find(type_name, scope)
        if info is None:
            raise InvalidSchemaError(f"The type '{type_name}' is not defined.")
        built.type = _F.TYPE_ENUM if isinstance(info.type, Enum) else _F.TYPE_MESSAGE
        built.type_name = f".{info.full_name}"

    def _group(self, group: Group, built: Any, scope: Scope, owner: descriptor_pb2.DescriptorProto) -> None:
        built.name, built.number = group.name.lower(), group.number
        built.label = {"required": 2, "repeated": 3}.get(group.label or "", 1)
        package = [self._file.package] if self._file.package else []
        built.type, built.type_name = _F.TYPE_GROUP, "." + ".".join([*package, *scope, group.name])
        nested = owner.nested_type.add(name=group.name)
        for field in group.fields:
            self._field(field, nested.field.add(), (*scope, group.name), nested)

    def _extends(self, extends: list[Extend], built: Any, scope: Scope) -> None:
        for extend in extends:
            extendee = self._names.resolve(extend.name, scope)
            for field in extend.fields:
                added = built.add(extendee=f".{extendee}" if extendee else extend.name)
                self._field(field, added, scope, None)

    def _service(self, service: Service, built: descriptor_pb2.ServiceDescriptorProto) -> None:
        built.name = service.name
        for rpc in service.rpcs:
            method = built.method.add(
                name=rpc.name,
                input_type=f".{self._names.resolve(rpc.request, ())}",
                output_type=f".{self._names.resolve(rpc.response, ())}",
            )
            if rpc.request_streams:
                method.client_streaming = True
            if rpc.response_streams:
                method.server_streaming = True
            _set_options(method, rpc.options)
        _set_options(built, service.options)


def _enum(enum: Enum, built: descriptor_pb2.EnumDescriptorProto) -> None:
    built.name = enum.name
    for constant in enum.constants:
        _set_options(built.value.add(name=constant.name, number=constant.number), constant.options)
    for reserved in enum.reserved:
        for entry in reserved:
            if isinstance(entry, str):
                built.reserved_name.append(entry)
            else:
                start, end = _ends(entry)
                built.reserved_range.add(start=start, end=2**31 - 1 if end == NUMBER_MAX else end)
    _set_options(built, enum.options)


def _escaped(default: str) -> str:
    """The default of bytes as a descriptor has it. A numeric escape was read as one character."""
    data = default.encode("latin-1") if default.isascii() or max(default) <= "\xff" else default.encode()
    return str(text_encoding.CEscape(data, False))


def _entry_name(field_name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in field_name.split("_")) + "Entry"


def _ends(value: int | Range) -> tuple[int, int]:
    return (value.start, value.end) if isinstance(value, Range) else (value, value)


def _edition(name: str) -> Any:
    try:
        return descriptor_pb2.Edition.Value(f"EDITION_{name}")
    except ValueError:
        raise InvalidSchemaError(f"The edition '{name}' is unknown.") from None


def _set_options(owner: Any, options: list[Option]) -> None:
    for option in options:
        if not option.parenthesized:
            plain = as_map(option)
            first, *others = plain.name.split(".")
            value = plain.value if plain.kind in (MAP, LIST, STRING) else Literal(plain.kind, plain.value)
            for name in reversed(others):
                value = {name: value}
            _set(owner.options, first, value)


def _set(target: Proto, name: str, value: Any) -> None:
    """Sets an option if Protobuf knows it and the value is of its type."""
    field = target.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        return
    try:
        if field.message_type is not None:
            entry = getattr(target, name).add() if field.is_repeated else getattr(target, name)
            for key, inner in value.items():
                _set(entry, key, inner)
        elif field.is_repeated:
            values = value if isinstance(value, list) else [value]
            getattr(target, name).extend(_plain(field, one) for one in values)
        else:
            setattr(target, name, _plain(field, value))
    except (TypeError, ValueError, KeyError, AttributeError):
        raise InvalidSchemaError(f"The option '{name}' has a value of another type.") from None


def _plain(field: FieldDescriptor, value: Any) -> Any:
    text = value.value if isinstance(value, Literal) else value
    if field.enum_type is not None:
        return field.enum_type.values_by_name[text].number
    if field.type == FieldDescriptor.TYPE_BOOL:
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    return text if field.type == FieldDescriptor.TYPE_STRING else int(text, 0)
