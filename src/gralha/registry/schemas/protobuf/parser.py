"""From the text of a `.proto` file to its declarations.

The grammar is that of Wire, which Confluent's registry uses, and editions, which Wire refuses. The parser is
our own because the registry stores a text, not a descriptor: options and their order must survive, and
protoc would need files and a process.
"""

from collections.abc import Callable

from gralha.registry.schemas.protobuf.model import (
    MAP_KEYS,
    NUMBER_MAX,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    OneOf,
    Option,
    ProtoFile,
    Range,
    Reserved,
    Rpc,
    Service,
    map_parts,
)
from gralha.registry.schemas.protobuf.options import read_option, read_options
from gralha.registry.schemas.protobuf.reader import Reader

_LABELS = ("required", "optional", "repeated")
_NESTING_MAX = 64


def parse_proto(text: str) -> ProtoFile:
    """The declarations of a file."""
    return _Parser(text).read_file()


class _Parser:
    def __init__(self, text: str) -> None:
        self._reader = Reader(text)
        self._file = ProtoFile()
        # A file without a syntax is proto2, where a field has a label.
        self._labels_needed = True
        self._depth = 0

    def read_file(self) -> ProtoFile:
        file, reader = self._file, self._reader
        self._read_syntax()
        readers: dict[str, Callable[[], None]] = {
            "package": self._package,
            "import": self._import,
            "option": lambda: file.options.append(self._option()),
            "message": lambda: file.types.append(self._message()),
            "enum": lambda: file.types.append(self._enum()),
            "service": lambda: file.services.append(self._service()),
            "extend": lambda: file.extends.append(self._extend()),
        }
        while not reader.at_end():
            if reader.take(";"):
                continue
            word = reader.word()
            if word not in readers:
                raise reader.error(f"'{word}' begins no declaration")
            readers[word]()
        return file

    def _read_syntax(self) -> None:
        reader = self._reader
        if reader.at_end() or not reader.peek().isalpha():
            return
        start = reader.mark()
        word = reader.word()
        if word not in ("syntax", "edition"):
            reader.back_to(start)
            return
        reader.require("=")
        value = reader.string()
        reader.require(";")
        if word == "edition":
            self._file.edition = value
        elif value in ("proto2", "proto3"):
            self._file.syntax = value
        else:
            raise reader.error(f"the syntax '{value}' is neither proto2 nor proto3")
        self._labels_needed = word == "syntax" and value == "proto2"

    def _package(self) -> None:
        self._file.package = self._reader.word()
        self._reader.require(";")

    def _import(self) -> None:
        kinds = {"public": self._file.public_imports, "weak": self._file.weak_imports}
        target = self._file.imports
        if self._reader.peek() not in "\"'":
            kind = self._reader.word()
            if kind not in kinds:
                raise self._reader.error(f"'import {kind}' is no kind of import")
            target = kinds[kind]
        target.append(self._reader.string())
        self._reader.require(";")

    def _option(self) -> Option:
        option = read_option(self._reader, "=")
        self._reader.require(";")
        return option

    def _message(self) -> Message:
        message = Message(self._reader.name())
        self._depth += 1
        if self._depth > _NESTING_MAX:
            raise self._reader.error("messages are nested too deeply")
        readers: dict[str, Callable[[], None]] = {
            "option": lambda: message.options.append(self._option()),
            "reserved": lambda: message.reserved.append(self._reserved()),
            "message": lambda: message.types.append(self._message()),
            "enum": lambda: message.types.append(self._enum()),
            "extend": lambda: message.extends.append(self._extend()),
            "oneof": lambda: message.oneofs.append(self._oneof()),
            "extensions": lambda: message.extensions.append(self._extensions()),
        }
        self._reader.require("{")
        while not self._reader.take("}"):
            if self._reader.take(";"):
                continue
            word = self._reader.word()
            if word in readers:
                readers[word]()
                continue
            declared = self._field(word)
            if isinstance(declared, Group):
                message.groups.append(declared)
            else:
                message.fields.append(declared)
        self._depth -= 1
        return message

    def _field(self, word: str) -> Field | Group:
        label = word if word in _LABELS else None
        if label == "required" and self._file.syntax == "proto3":
            raise self._reader.error("a field of proto3 is not 'required'")
        type_name = self._reader.type_name(None if label else word)
        if map_parts(type_name) is None:
            if label is None and self._labels_needed:
                raise self._reader.error(f"the field has no label before '{word}'")
            if type_name == "group":
                return self._group(label)
        elif label is not None:
            raise self._reader.error("a map has no label")
        return self._rest_of_field(label, type_name)

    def _rest_of_field(self, label: str | None, type_name: str) -> Field:
        reader = self._reader
        parts = map_parts(type_name)
        if parts is not None and parts[0] not in MAP_KEYS:
            raise reader.error(f"a map has no keys of the type '{parts[0]}'")
        name = reader.name()
        reader.require("=")
        number = reader.integer()
        field = Field(label, type_name, name, number)
        for option in read_options(reader):
            if option.name == "default":
                field.default = str(option.value)
            elif option.name == "json_name":
                field.json_name = str(option.value)
            else:
                field.options.append(option)
        reader.require(";")
        return field

    def _group(self, label: str | None) -> Group:
        reader = self._reader
        name = reader.name()
        reader.require("=")
        group = Group(label, name, reader.integer(), [])
        reader.require("{")
        while not reader.take("}"):
            declared = self._field(reader.word())
            if isinstance(declared, Group):
                raise reader.error("a group has fields only")
            group.fields.append(declared)
        return group

    def _oneof(self) -> OneOf:
        oneof = OneOf(self._reader.name())
        self._reader.require("{")
        while not self._reader.take("}"):
            if self._reader.take(";"):
                continue
            type_name = self._reader.type_name()
            if type_name == "group":
                oneof.groups.append(self._group(None))
            elif type_name == "option":
                oneof.options.append(self._option())
            elif map_parts(type_name) is not None:
                raise self._reader.error("a oneof has no maps")
            else:
                oneof.fields.append(self._rest_of_field(None, type_name))
        return oneof

    def _extend(self) -> Extend:
        extend = Extend(self._reader.word(), [])
        self._reader.require("{")
        while not self._reader.take("}"):
            if self._reader.take(";"):
                continue
            declared = self._field(self._reader.word())
            if isinstance(declared, Field):
                extend.fields.append(declared)
        return extend

    def _range(self) -> int | Range:
        start = self._reader.integer()
        if self._reader.peek() in ",;[":
            return start
        if self._reader.word() != "to":
            raise self._reader.error("expected ',', ';' or 'to'")
        if self._reader.peek() == "m":
            word = self._reader.word()
            if word != "max":
                raise self._reader.error(f"expected a number or 'max', not '{word}'")
            return Range(start, NUMBER_MAX)
        return Range(start, self._reader.integer())

    def _reserved(self) -> Reserved:
        values: Reserved = []
        while True:
            first = self._reader.peek()
            if first in "\"'":
                values.append(self._reader.string())
            elif first.isalpha() or first == "_":
                # Editions reserve names without quotes.
                values.append(self._reader.name())
            else:
                values.append(self._range())
            if self._reader.take(";"):
                return values
            self._reader.require(",")

    def _extensions(self) -> Extensions:
        extensions = Extensions([], [])
        while True:
            extensions.values.append(self._range())
            extensions.options.extend(read_options(self._reader))
            if self._reader.take(";"):
                return extensions
            self._reader.require(",")

    def _enum(self) -> Enum:
        enum = Enum(self._reader.name())
        self._reader.require("{")
        while not self._reader.take("}"):
            if self._reader.take(";"):
                continue
            word = self._reader.name()
            if word == "option" and self._reader.peek() != "=":
                enum.options.append(self._option())
            elif word == "reserved" and self._reader.peek() != "=":
                enum.reserved.append(self._reserved())
            else:
                self._reader.require("=")
                number = self._reader.integer()
                enum.constants.append(Constant(word, number, read_options(self._reader)))
                self._reader.require(";")
        return enum

    def _service(self) -> Service:
        service = Service(self._reader.name())
        self._reader.require("{")
        while not self._reader.take("}"):
            if self._reader.take(";"):
                continue
            word = self._reader.word()
            if word == "option":
                service.options.append(self._option())
            elif word == "rpc":
                service.rpcs.append(self._rpc())
            else:
                raise self._reader.error(f"'{word}' is no part of a service")
        return service

    def _rpc(self) -> Rpc:
        name = self._reader.name()
        request, request_streams = self._rpc_type()
        if self._reader.word() != "returns":
            raise self._reader.error("expected 'returns'")
        response, response_streams = self._rpc_type()
        rpc = Rpc(name, request, response, request_streams, response_streams)
        if not self._reader.take("{"):
            self._reader.require(";")
            return rpc
        while not self._reader.take("}"):
            if self._reader.take(";"):
                continue
            word = self._reader.word()
            if word != "option":
                raise self._reader.error(f"'{word}' is no part of an rpc")
            rpc.options.append(self._option())
        return rpc

    def _rpc_type(self) -> tuple[str, bool]:
        self._reader.require("(")
        word = self._reader.word()
        streams = word == "stream" and self._reader.peek() != ")"
        type_name = self._reader.type_name(None if streams else word)
        self._reader.require(")")
        return type_name, streams
