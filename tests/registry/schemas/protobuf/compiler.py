"""Protobuf's own compiler, as the oracle of our parser."""

import importlib.resources
from pathlib import Path

from google.protobuf import descriptor_pb2
from grpc_tools import protoc


def compile_proto(text: str, imports: dict[str, str], folder: Path) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor that protoc makes of a file."""
    for name, content in {**imports, "main.proto": text}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    included = importlib.resources.files("grpc_tools") / "_proto"
    out = folder / "out.pb"
    arguments = ["protoc", f"-I{folder}", f"-I{included}", f"--descriptor_set_out={out}", "main.proto"]
    assert protoc.main(arguments) == 0, f"protoc refuses:\n{text}"
    files = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    return files.file[0]


def sorted_descriptor(file: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    """The descriptor without differences that have no meaning: the order of declarations and JSON names."""
    copy = descriptor_pb2.FileDescriptorProto()
    copy.CopyFrom(file)
    for message in copy.message_type:
        _sort_message(message)
    _sort_extensions(copy.extension)
    dependencies = sorted(copy.dependency)
    copy.public_dependency[:] = sorted(dependencies.index(copy.dependency[i]) for i in copy.public_dependency)
    copy.dependency[:] = dependencies
    if copy.syntax == "proto2":
        copy.ClearField("syntax")
    for service in copy.service:
        for method in service.method:
            # An empty block of options is no option.
            if not method.options.ListFields():
                method.ClearField("options")
    for enum in copy.enum_type:
        enum.value.sort(key=lambda value: (value.number, value.name))
    return copy


def _sort_message(message: descriptor_pb2.DescriptorProto) -> None:
    oneofs = [one.name for one in message.oneof_decl]
    firsts = {
        name: min(field.number for field in message.field if _home(field) == index)
        for index, name in enumerate(oneofs)
    }
    order = sorted(oneofs, key=lambda name: (name.startswith("_"), firsts[name]))
    for field in message.field:
        field.ClearField("json_name")
        if field.HasField("oneof_index"):
            field.oneof_index = order.index(oneofs[field.oneof_index])
    message.field.sort(key=lambda field: field.number)
    message.oneof_decl.sort(key=lambda one: order.index(one.name))
    message.nested_type.sort(key=lambda nested: nested.name)
    message.reserved_range.sort(key=lambda one: one.start)
    message.extension_range.sort(key=lambda one: one.start)
    _sort_extensions(message.extension)
    for nested in message.nested_type:
        _sort_message(nested)
    for enum in message.enum_type:
        enum.value.sort(key=lambda value: (value.number, value.name))


def _home(field: descriptor_pb2.FieldDescriptorProto) -> int:
    return field.oneof_index if field.HasField("oneof_index") else -1


def _sort_extensions(fields: object) -> None:
    for field in fields:  # type: ignore[attr-defined]
        field.ClearField("json_name")
    fields.sort(key=lambda field: (field.extendee, field.number))  # type: ignore[attr-defined]
