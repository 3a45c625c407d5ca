"""Protobuf schemas as the registry sees them."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from functools import cached_property

from google.protobuf import descriptor_pb2
from google.protobuf.message import DecodeError

from gralha.registry.schemas.interface import (
    STRICT,
    InvalidSchemaError,
    ParsedSchema,
    Reference,
    fill,
    no_deep_recursion,
    normal_references,
)
from gralha.registry.schemas.levels import DIFFERENT_TYPE
from gralha.registry.schemas.protobuf.check import check_file
from gralha.registry.schemas.protobuf.compatibility import Side, templates
from gralha.registry.schemas.protobuf.from_descriptor import file_of
from gralha.registry.schemas.protobuf.known import known_names
from gralha.registry.schemas.protobuf.model import Message, ProtoFile
from gralha.registry.schemas.protobuf.names import Names
from gralha.registry.schemas.protobuf.normal import NormalWriter
from gralha.registry.schemas.protobuf.parser import parse_proto
from gralha.registry.schemas.protobuf.text import Writer
from gralha.registry.schemas.protobuf.to_descriptor import descriptor_of

# The normal form of a schema with types in types and options in options grows faster than its text.
_NORMAL_MAX = 64 * 1024 * 1024


class ProtobufSchema:
    """A valid `.proto` file."""

    schema_type = "PROTOBUF"

    def __init__(
        self,
        text: str,
        references: Sequence[Reference],
        resolved: Mapping[str, str],
        new: bool,
        is_normal: bool = False,
    ) -> None:
        self.file = read_file(text)
        self.references = tuple(references)
        self._resolved = dict(resolved)
        self.names = _names_of(self.file, self._resolved)
        if new:
            check_file(self.file, self.names)
        # The normal form is stored as it is. It orders options in another way than the canonical form.
        self.canonical = text if is_normal else Writer().file(self.file)
        _check_text(self.canonical)

    def normalized(self) -> "ProtobufSchema":
        """Fields are in the order of their numbers, and names of types are full."""
        return self._normalized

    @cached_property
    def _normalized(self) -> "ProtobufSchema":
        text = NormalWriter(self.names).file(self.file)
        return ProtobufSchema(
            text, normal_references(self.references), self._resolved, new=False, is_normal=True
        )

    def raw_or_format(self, format: str) -> str:  # noqa: A002
        """`serialized` is a descriptor in base64, `ignore_extensions` has no extensions or custom options."""
        name = format.strip().lower()
        if name == "serialized":
            descriptor = descriptor_of(self.file, self.names)
            return base64.b64encode(descriptor.SerializeToString(deterministic=True)).decode()
        if name == "ignore_extensions":
            return Writer(without_extensions=True).file(self.file)
        return self.canonical

    def has_top_level_field(self, name: str) -> bool:
        """Whether a message of the file has this field."""
        messages = [one for one in self.file.types if isinstance(one, Message)]
        return any(field.name == name for message in messages for field in message.all_fields())

    def side(self) -> Side:
        """The schema as one side of a comparison."""
        versions = {reference.name: (reference.subject, reference.version) for reference in self.references}
        return Side(self.file, self.names, versions)

    def templates(self, older: ParsedSchema, policy: str = STRICT) -> list[str]:
        """The problems, with marks for the two schemas."""
        if not isinstance(older, ProtobufSchema):
            return [DIFFERENT_TYPE]
        return templates(older.side(), self.side())

    def backward_problems(self, older: ParsedSchema) -> list[str]:
        """Reasons why this schema cannot read data written with the older schema."""
        return [fill(template, "new", "old") for template in self.templates(older)]


def parse_protobuf(
    text: str,
    references: Sequence[Reference] = (),
    resolved: Mapping[str, str] | None = None,
    *,
    new: bool = True,
) -> ProtobufSchema:
    """The schema of a text. Only a new schema must keep the rules of `check.py`."""
    with no_deep_recursion():
        return ProtobufSchema(text, references, resolved or {}, new)


def read_file(text: str) -> ProtoFile:
    """The declarations in a text, which is a `.proto` file or a descriptor in base64."""
    try:
        return parse_proto(text)
    except InvalidSchemaError:
        descriptor = _decoded(text)
        if descriptor is None:
            raise
        # A descriptor may have any text as a name. One that cannot be written is no schema.
        return parse_proto(Writer().file(file_of(descriptor)))


def _decoded(text: str) -> descriptor_pb2.FileDescriptorProto | None:
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
        descriptor = descriptor_pb2.FileDescriptorProto.FromString(data)
    except (binascii.Error, UnicodeEncodeError, DecodeError):
        return None
    # Short words are base64 by chance, but they do not describe a file.
    return descriptor if data and descriptor.ListFields() else None


def _names_of(file: ProtoFile, resolved: Mapping[str, str]) -> Names:
    referenced = Names("", [known_names()])
    for name, text in resolved.items():
        referenced.add(read_file(text), name)
    names = Names(file.package or "", [referenced])
    names.add(file, "")
    return names


def _check_text(text: str) -> None:
    if len(text) > _NORMAL_MAX:
        raise InvalidSchemaError("The schema is too large.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidSchemaError("The text has half of a surrogate pair.") from None
