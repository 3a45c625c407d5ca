"""Hypothesis strategies for every message in every version, built from the definitions themselves."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import gralha.protocol.compiler
from gralha.protocol.compiler.model import Definition, Field, Kind, Message, Struct
from gralha.protocol.compiler.notation import parse
from gralha.protocol.message import Message as MessageClass
from gralha.protocol.primitives import Reader, RecordBytes, Writer

DEFINITIONS_FOLDER = Path(gralha.protocol.compiler.__file__).parent.parent / "definitions"
INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
# Kafka's codes that every oracle knows.
ERROR_CODES = st.integers(-1, 127)
# Whole seconds: kio reads times as datetimes of that precision.
TIMES_MS = st.integers(0, 1 << 31).map(lambda seconds: seconds * 1000)


@dataclass(frozen=True)
class Case:
    """One message in one version."""

    definition: Definition
    message: Message
    version: int

    @property
    def cls(self) -> type[MessageClass]:
        cls: type[MessageClass] = class_named(self.definition, self.message.name)
        return cls

    def __str__(self) -> str:
        return f"{self.message.name}-v{self.version}"


def _definitions() -> list[Definition]:
    return [parse(path.stem, path.read_text("utf-8")) for path in sorted(DEFINITIONS_FOLDER.glob("*.kafka"))]


DEFINITIONS = _definitions()
CASES = [
    Case(definition, message, version)
    for definition in DEFINITIONS
    for message in definition.messages
    for version in message.body.versions
]
API_CASES = [case for case in CASES if case.message.kind in (Kind.REQUEST, Kind.RESPONSE)]


def class_named(definition: Definition, name: str) -> Any:
    return getattr(import_module(f"gralha.protocol.messages.{definition.name}"), name)


def messages(case: Case, *, tame: bool = False) -> st.SearchStrategy[Any]:
    """Values of the message that its version can carry.

    Tame values are those that other implementations can carry too: known error codes, sensible times, no
    unknown tagged fields, and no structure in a tagged field that equals its default.
    """
    return _struct(case, case.message.body, tame)


def _struct(case: Case, struct: Struct, tame: bool) -> st.SearchStrategy[Any]:
    arguments = {
        field.name: _field(case, field, tame) for field in struct.fields if case.version in field.versions
    }
    if case.version in struct.flexible and not tame:
        tagged = st.tuples(st.integers(100, 1 << 31), st.binary(max_size=5))
        arguments["unknown_tagged_fields"] = st.lists(tagged, max_size=2, unique_by=lambda tag: tag[0]).map(
            lambda tags: tuple(sorted(tags))
        )
    return st.builds(class_named(case.definition, struct.name), **arguments)


def _field(case: Case, field: Field, tame: bool) -> st.SearchStrategy[Any]:
    values = _value(case, field, tame)
    if field.is_array:
        values = st.lists(values, max_size=2)
    elif field.is_struct and field.tag is not None:
        default = class_named(case.definition, field.type)()
        return st.none() | (values.filter(lambda value: value != default) if tame else values)
    if case.version in field.nullable:
        return st.none() | values
    return values


def _value(case: Case, field: Field, tame: bool) -> st.SearchStrategy[Any]:
    if field.is_struct:
        return _struct(case, case.definition.structs[field.type], tame)
    if field.type in INTEGER_BITS:
        if tame and "error_code" in field.name:
            return ERROR_CODES
        if tame and field.type == "int64" and ("timestamp" in field.name or field.name.endswith("_ms")):
            return TIMES_MS
        limit = 1 << (INTEGER_BITS[field.type] - 1)
        return st.integers(-limit, limit - 1)
    return {
        "bool": st.booleans(),
        "uint16": st.integers(0, 0xFFFF),
        "uint32": st.integers(0, 0xFFFFFFFF),
        "float64": st.floats(allow_nan=False),
        "string": TEXT,
        "uuid": st.binary(min_size=16, max_size=16),
        "bytes": st.binary(max_size=8),
        "records": st.binary(max_size=30).map(lambda data: RecordBytes(b"<" + data, 1, 1 + len(data))),
    }[field.type]


def encoded(message: MessageClass, version: int) -> bytes:
    writer = Writer()
    message.encode(writer, version)
    return writer.to_bytes()


def decoded(cls: type[MessageClass], data: bytes, version: int) -> MessageClass:
    reader = Reader(data)
    message = cls.decode(reader, version)
    assert reader.remaining() == 0
    return message
