"""Requests for the fuzz test: valid ones of every API and version, and ways to damage them."""

from __future__ import annotations

import random
import struct
import time
from typing import Any

from gralha.protocol.apis import request_header_version
from gralha.protocol.compiler.model import Field, Kind, Struct
from gralha.protocol.messages.header import RequestHeader
from gralha.protocol.primitives import RecordBytes, Writer
from gralha.protocol.records import Record, encode_batch
from tests.protocol.message_strategies import API_CASES, Case, class_named

REQUEST_CASES = [case for case in API_CASES if case.message.kind is Kind.REQUEST]
# Integers at the edges of what a length, a count, an offset or a version can be.
EDGES = [0, 1, -1, 0x7F, 0x80, 0x7FFF, -0x8000, 0x7FFFFFFF, -0x80000000, (1 << 63) - 1, -(1 << 63)]


def sample_request(case: Case, topic: str) -> Any:
    """A request that the version can carry: one element in every array, names that exist, records."""
    return sample_struct(case, case.message.body, topic)


def sample_struct(case: Case, shape: Struct, topic: str) -> Any:
    arguments = {}
    for field in shape.fields:
        value = sample_value(case, field, topic) if case.version in field.versions else None
        if value is not None:
            arguments[field.name] = [value] if field.is_array else value
    if shape.name == "ProduceRequest":
        arguments["acks"] = -1  # with 0 a refusal has no answer but a closed connection
    return class_named(case.definition, shape.name)(**arguments)


def sample_value(case: Case, field: Field, topic: str) -> Any:
    if field.is_struct:
        return sample_struct(case, case.definition.structs[field.type], topic) if field.is_array else None
    if field.type == "string":
        return topic
    if field.type == "records":
        batch = encode_batch([Record(b"key", b"value" * 20, timestamp=int(time.time() * 1000))])
        return RecordBytes(batch, 0, len(batch))
    return (
        {"int8": 1, "int16": 1, "int32": 0, "int64": 0, "uuid": bytes(16)}.get(field.type)
        if field.is_array
        else None
    )


def frame_of(case: Case, request: Any, correlation_id: int) -> bytes:
    """The request behind its header, without the size in front."""
    api_key = case.cls.API_KEY
    writer = Writer()
    header = RequestHeader(api_key, case.version, correlation_id, "fuzz")
    header.encode(writer, request_header_version(api_key, case.version))
    request.encode(writer, case.version)
    return writer.to_bytes()


def sized(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def damaged(frame: bytes, chance: random.Random) -> bytes:
    """The frame with one to four wounds."""
    wounded = bytearray(frame)
    for _ in range(chance.randint(1, 4)):
        wound(wounded, chance)
    return bytes(wounded)


def wound(frame: bytearray, chance: random.Random) -> None:
    # Mostly behind the header, because a request with another key or version is another request.
    place = chance.randrange(8 if chance.random() < 0.9 and len(frame) > 8 else 0, len(frame) + 1)
    match chance.randrange(7):
        case 0 if place < len(frame):
            frame[place] ^= 1 << chance.randrange(8)
        case 1:
            frame[place : place + 1] = bytes([chance.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])])
        case 2:
            size_bytes = chance.choice([2, 4, 8])
            edge = chance.choice(EDGES) & ((1 << 8 * size_bytes) - 1)
            frame[place : place + size_bytes] = edge.to_bytes(size_bytes, "big")
        case 3:
            frame[place:place] = chance.randbytes(chance.randint(1, 20))
        case 4:
            del frame[place : place + chance.randint(1, 20)]
        case 5:
            # The longest number that an unsigned varint can hold: a length or a count, nearly always.
            frame[place : place + 5] = b"\xff\xff\xff\xff\x0f"
        case _:
            piece = bytes(frame[place : place + chance.randint(1, 40)])
            frame[place:place] = piece * chance.randint(1, 3)
    if len(frame) < 4:
        frame.extend(bytes(4))
