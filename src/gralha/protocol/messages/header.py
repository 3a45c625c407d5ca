"""The headers before every request and every response.

Not chosen by the sender: an API and its version decide which version of the header comes with it.

Generated from definitions/header.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class RequestHeader(Message):
    __slots__ = ("client_id", "correlation_id", "request_api_key", "request_api_version")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "request_api_key",
        "request_api_version",
        "correlation_id",
        "client_id",
    )

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.request_api_key: int = request_api_key
        self.request_api_version: int = request_api_version
        self.correlation_id: int = correlation_id
        self.client_id: str | None = client_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RequestHeader":
        if version < 1 or version > 2:
            raise no_such_version("RequestHeader", version)
        flexible = version >= 2
        request_api_key = reader.int16()
        request_api_version = reader.int16()
        correlation_id = reader.int32()
        client_id = reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return RequestHeader(request_api_key, request_api_version, correlation_id, client_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("RequestHeader", version)
        flexible = version >= 2
        writer.write_int16(self.request_api_key)
        writer.write_int16(self.request_api_version)
        writer.write_int32(self.correlation_id)
        writer.write_nullable_string(self.client_id)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ResponseHeader(Message):
    __slots__ = ("correlation_id",)

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("correlation_id",)

    def __init__(self, correlation_id: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.correlation_id: int = correlation_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ResponseHeader":
        if version < 0 or version > 1:
            raise no_such_version("ResponseHeader", version)
        flexible = version >= 1
        correlation_id = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return ResponseHeader(correlation_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ResponseHeader", version)
        flexible = version >= 1
        writer.write_int32(self.correlation_id)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
