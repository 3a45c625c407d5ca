"""Envelope: a broker forwards the request of a client to the controller (KIP-590).

Generated from definitions/envelope.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class EnvelopeRequest(Message):
    __slots__ = ("client_host_address", "request_data", "request_principal")

    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("request_data", "request_principal", "client_host_address")

    def __init__(
        self,
        request_data: bytes = b"",
        request_principal: bytes | None = b"",
        client_host_address: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.request_data: bytes = request_data
        self.request_principal: bytes | None = request_principal
        self.client_host_address: bytes = client_host_address
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EnvelopeRequest":
        if version != 0:
            raise no_such_version("EnvelopeRequest", version)
        request_data = reader.compact_bytes()
        request_principal = reader.compact_nullable_bytes()
        client_host_address = reader.compact_bytes()
        unknown = reader.tagged_fields()
        return EnvelopeRequest(request_data, request_principal, client_host_address, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("EnvelopeRequest", version)
        writer.write_compact_bytes(self.request_data)
        writer.write_compact_nullable_bytes(self.request_principal)
        writer.write_compact_bytes(self.client_host_address)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EnvelopeResponse(Message):
    __slots__ = ("error_code", "response_data")

    API_KEY: ClassVar[int] = 58
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("response_data", "error_code")

    def __init__(
        self,
        response_data: bytes | None = None,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.response_data: bytes | None = response_data
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EnvelopeResponse":
        if version != 0:
            raise no_such_version("EnvelopeResponse", version)
        response_data = reader.compact_nullable_bytes()
        error_code = reader.int16()
        unknown = reader.tagged_fields()
        return EnvelopeResponse(response_data, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("EnvelopeResponse", version)
        writer.write_compact_nullable_bytes(self.response_data)
        writer.write_int16(self.error_code)
        writer.write_tagged_fields(self.unknown_tagged_fields)
