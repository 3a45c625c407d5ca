"""From a FileDescriptorProto, which Confluent's registry accepts in base64, to declarations."""

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, text_encoding
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as Proto

from gralha.registry.schemas.protobuf.model import (
    BOOLEAN,
    ENUM,
    MAP,
    NUMBER,
    STRING,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Literal,
    Message,
    OneOf,
    Option,
    ProtoFile,
    Range,
    Rpc,
    Service,
)

_FILE_OPTIONS = (
    "java_package",
    "java_outer_classname",
    "java_multiple_files",
    "java_generate_equals_and_hash",
    "java_string_check_utf8",
    "optimize_for",
    "go_package",
    "cc_generic_services",
    "java_generic_services",
    "py_generic_services",
    "deprecated",
    "cc_enable_arenas",
    "objc_class_prefix",
    "csharp_namespace",
    "swift_prefix",
    "php_class_prefix",
    "php_namespace",
    "php_metadata_namespace",
    "ruby_package",
    "features",
)
_MESSAGE_OPTIONS = ("no_standard_descriptor_accessor", "deprecated", "map_entry", "features")
_FIELD_OPTIONS = (
    "ctype",
    "packed",
    "jstype",
    "deprecated",
    "debug_redact",
    "retention",
    "targets",
    "edition_defaults",
    "features",
    "feature_support",
)
_ENUM_OPTIONS = ("allow_alias", "deprecated", "features")
_VALUE_OPTIONS = ("deprecated", "debug_redact", "features", "feature_support")
_RANGE_OPTIONS = ("declaration", "features", "verification")
_RPC_OPTIONS = ("deprecated", "idempotency_level", "features")
_SERVICE_OPTIONS = ("deprecated", "features")

_LABELS = {1: "optional", 2: "required", 3: "repeated"}
_TYPES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()
}


def file_of(descriptor: descriptor_pb2.FileDescriptorProto) -> ProtoFile:
    """The declarations of a file."""
    syntax = descriptor.syntax if descriptor.syntax in ("proto2", "proto3") else None
    edition = None
    if descriptor.syntax == "editions":
        edition = descriptor_pb2.Edition.Name(descriptor.edition).removeprefix("EDITION_")
    file = ProtoFile(syntax, edition, descriptor.package or None)
    special = {*descriptor.public_dependency, *descriptor.weak_dependency}
    for index, name in enumerate(descriptor.dependency):
        if index not in special:
            file.imports.append(name)
    file.public_imports = [descriptor.dependency[index] for index in descriptor.public_dependency]
    file.weak_imports = [descriptor.dependency[index] for index in descriptor.weak_dependency]
    is_proto3 = syntax == "proto3"
    file.types = [_message(message, is_proto3) for message in descriptor.message_type]
    file.types += [_enum(enum) for enum in descriptor.enum_type]
    file.services = [_service(service) for service in descriptor.service]
    file.extends = _extends(descriptor.extension, is_proto3)
    file.options = _options(descriptor.options, _FILE_OPTIONS)
    return file


def _message(descriptor: descriptor_pb2.DescriptorProto, is_proto3: bool) -> Message:
    message = Message(descriptor.name)
    oneofs = [OneOf(one.name, options=_options(one.options, ("features",))) for one in descriptor.oneof_decl]
    for field in descriptor.field:
        if field.HasField("oneof_index") and not field.proto3_optional:
            member = _field(field, is_proto3)
            member.label = None
            oneofs[field.oneof_index].fields.append(member)
        else:
            message.fields.append(_field(field, is_proto3))
    message.oneofs = [oneof for oneof in oneofs if oneof.fields]
    message.types = [_message(nested, is_proto3) for nested in descriptor.nested_type]
    message.types += [_enum(enum) for enum in descriptor.enum_type]
    message.reserved = [[_range(one.start, one.end - 1)] for one in descriptor.reserved_range]
    message.reserved += [[name] for name in descriptor.reserved_name]
    for one in descriptor.extension_range:
        options = _options(one.options, _RANGE_OPTIONS)
        message.extensions.append(Extensions([_range(one.start, one.end - 1)], options))
    message.extends = _extends(descriptor.extension, is_proto3)
    message.options = _options(descriptor.options, _MESSAGE_OPTIONS)
    return message


def _field(descriptor: descriptor_pb2.FieldDescriptorProto, is_proto3: bool) -> Field:
    label: str | None = _LABELS[descriptor.label]
    if is_proto3 and label != "repeated" and not descriptor.proto3_optional:
        label = None
    type_name = descriptor.type_name or _TYPES[descriptor.type]
    field = Field(label, type_name, descriptor.name, descriptor.number)
    if descriptor.HasField("default_value") and not is_proto3:
        field.default = descriptor.default_value
        if type_name == "bytes":
            field.default = text_encoding.CUnescape(field.default).decode("latin-1")
    if descriptor.HasField("json_name"):
        field.json_name = descriptor.json_name
    field.options = _options(descriptor.options, _FIELD_OPTIONS)
    return field


def _enum(descriptor: descriptor_pb2.EnumDescriptorProto) -> Enum:
    enum = Enum(descriptor.name, _options(descriptor.options, _ENUM_OPTIONS))
    for value in descriptor.value:
        enum.constants.append(Constant(value.name, value.number, _options(value.options, _VALUE_OPTIONS)))
    enum.reserved = [[_range(one.start, one.end)] for one in descriptor.reserved_range]
    enum.reserved += [[name] for name in descriptor.reserved_name]
    return enum


def _service(descriptor: descriptor_pb2.ServiceDescriptorProto) -> Service:
    service = Service(descriptor.name, options=_options(descriptor.options, _SERVICE_OPTIONS))
    for method in descriptor.method:
        rpc = Rpc(method.name, method.input_type, method.output_type)
        rpc.request_streams, rpc.response_streams = method.client_streaming, method.server_streaming
        rpc.options = _options(method.options, _RPC_OPTIONS)
        service.rpcs.append(rpc)
    return service


def _extends(fields: Iterable[descriptor_pb2.FieldDescriptorProto], is_proto3: bool) -> list[Extend]:
    found: dict[str, Extend] = {}
    for field in fields:
        extend = found.setdefault(field.extendee, Extend(field.extendee, []))
        extend.fields.append(_field(field, is_proto3))
    return list(found.values())


def _range(start: int, end: int) -> int | Range:
    return start if start == end else Range(start, end)


def _options(options: Proto, names: Sequence[str]) -> list[Option]:
    """The options that are set, in Confluent's order."""
    found = []
    by_name = {field.name: (field, value) for field, value in options.ListFields() if not field.is_extension}
    for name in names:
        if name in by_name:
            field, value = by_name[name]
            values = value if field.is_repeated else [value]
            found += [_option(name, field, one) for one in values]
    for field, value in options.ListFields():
        if field.is_extension:
            values = value if field.is_repeated else [value]
            found += [_option(field.full_name, field, one, parenthesized=True) for one in values]
    return found


def _option(name: str, field: FieldDescriptor, value: Any, parenthesized: bool = False) -> Option:
    kind = _kind(field)
    if kind == MAP:
        return Option(name, MAP, _map(value), parenthesized)
    return Option(name, kind, _plain(field, value), parenthesized)


def _map(message: Proto) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        key = f"[{field.full_name}]" if field.is_extension else field.name
        values = [_map_value(field, one) for one in (value if field.is_repeated else [value])]
        found[key] = values if field.is_repeated else values[0]
    return found


def _map_value(field: FieldDescriptor, value: Any) -> Any:
    kind = _kind(field)
    if kind == MAP:
        return _map(value)
    plain = _plain(field, value)
    return plain if kind == STRING else Literal(kind, plain)


def _kind(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return MAP
    if field.enum_type is not None:
        return ENUM
    if field.type == FieldDescriptor.TYPE_BOOL:
        return BOOLEAN
    return STRING if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES) else NUMBER


def _plain(field: FieldDescriptor, value: Any) -> str:
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named is not None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
