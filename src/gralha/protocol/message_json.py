"""Messages as JSON, in the form that Apache Kafka's tools print.

Names are Kafka's (camelCase). Fields that the version lacks, and tagged fields with their default, are left
out. UUIDs are in Kafka's text form, other bytes in base64. The types of fields come from the definition
files, so classes need not have them. This is for tools, not for speed.
"""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Final

from gralha.protocol.compiler import notation
from gralha.protocol.compiler.model import Definition, Field, Kind
from gralha.protocol.message import Message, Struct
from gralha.protocol.primitives import ProtocolError, Reader, RecordBytes, uuid_to_string

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None

# Records of the metadata log begin with this version, then the record's type and the record's version.
FRAME_VERSION: Final = 1
_RECORD_DEFINITIONS: Final = ("topic_records", "broker_records", "cluster_records", "security_records")


def to_json(message: Struct, version: int) -> dict[str, Json]:
    """The fields of this version of the message."""
    definition = _definition(type(message).__module__.rpartition(".")[2])
    return _struct(definition, type(message).__name__, message, version)


def metadata_record_to_json(data: bytes) -> dict[str, Json]:
    """The type, version and data of a framed record of the metadata log. Raises ProtocolError if it is
    malformed.
    """
    record, version = decode_metadata_record(data)
    return {"type": _enum_name(type(record).__name__), "version": version, "data": to_json(record, version)}


def decode_metadata_record(data: bytes) -> tuple[Message, int]:
    """A framed record of any type, also of types that our controllers do not apply, and its version."""
    reader = Reader(data)
    frame_version = reader.unsigned_varint()
    if frame_version != FRAME_VERSION:
        raise ProtocolError(f"frame version {frame_version} is unknown, only {FRAME_VERSION} is supported")
    key = reader.unsigned_varint()
    version = reader.unsigned_varint()
    record_class = _record_classes().get(key)
    if record_class is None:
        raise ProtocolError(f"there is no record of type {key}")
    record = record_class.decode(reader, version)
    if reader.remaining():
        raise ProtocolError(f"{reader.remaining()} bytes too many after a {record_class.__name__}")
    return record, version


def json_text(value: Json) -> str:
    """The JSON text on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@cache
def _definition(name: str) -> Definition:
    text = files("gralha.protocol").joinpath("definitions", f"{name}.kafka").read_text("utf-8")
    return notation.parse(name, text)


@cache
def _record_classes() -> dict[int, type[Message]]:
    """The classes of the records of the metadata log, by their keys."""
    classes: dict[int, type[Message]] = {}
    for name in _RECORD_DEFINITIONS:
        module = import_module(f"gralha.protocol.messages.{name}")
        for message in _definition(name).messages:
            if message.kind == Kind.RECORD and message.api_key is not None:
                classes[message.api_key] = getattr(module, message.name)
    return classes


def _struct(definition: Definition, name: str, value: object, version: int) -> dict[str, Json]:
    out: dict[str, Json] = {}
    for field in definition.structs[name].fields:
        if version not in field.versions:
            continue
        item = getattr(value, field.name)
        if field.tag is not None and _is_default(field, item):
            continue
        out[camel_case(field.name)] = _value(definition, field, item, version)
    return out


def _is_default(field: Field, item: object) -> bool:
    if field.default == ():
        return item == [] if field.is_array else item is not None and item == type(item)()
    return item == field.default


def _value(definition: Definition, field: Field, item: object, version: int) -> Json:
    if field.is_array and isinstance(item, list):
        return [_element(definition, field, element, version) for element in item]
    return _element(definition, field, item, version)


def _element(definition: Definition, field: Field, item: object, version: int) -> Json:
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if field.is_struct:
        return _struct(definition, field.type, item, version)
    if isinstance(item, RecordBytes):
        item = item.to_bytes()
    if not isinstance(item, bytes):
        raise TypeError(f"{field.name} is of type {type(item).__name__}, which a message cannot carry")
    return uuid_to_string(item) if field.type == "uuid" else b64encode(item).decode("ascii")


def camel_case(name: str) -> str:
    """Kafka's name of a field: broker_epoch is brokerEpoch."""
    first, *others = name.split("_")
    # Kafka writes this name differently: KRaftVersion.
    return ("kRaft" if first == "kraft" else first) + "".join(part.capitalize() for part in others)


def _enum_name(class_name: str) -> str:
    """Kafka's name of a type of record: TopicRecord is TOPIC_RECORD."""
    return "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in class_name).lstrip("_")
