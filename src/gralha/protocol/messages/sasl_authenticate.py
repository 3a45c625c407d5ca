"""SaslAuthenticate: a token of the chosen SASL mechanism, and the answer to it (KIP-152).

Generated from definitions/sasl_authenticate.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class SaslAuthenticateRequest(Message):
    __slots__ = ("auth_bytes",)

    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("auth_bytes",)

    def __init__(self, auth_bytes: bytes = b"", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.auth_bytes: bytes = auth_bytes
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SaslAuthenticateRequest":
        if version < 0 or version > 2:
            raise no_such_version("SaslAuthenticateRequest", version)
        flexible = version >= 2
        auth_bytes = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return SaslAuthenticateRequest(auth_bytes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("SaslAuthenticateRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_bytes(self.auth_bytes)
        else:
            writer.write_bytes(self.auth_bytes)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SaslAuthenticateResponse(Message):
    __slots__ = ("auth_bytes", "error_code", "error_message", "session_lifetime_ms")

    API_KEY: ClassVar[int] = 36
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.auth_bytes: bytes = auth_bytes
        self.session_lifetime_ms: int = session_lifetime_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SaslAuthenticateResponse":
        if version < 0 or version > 2:
            raise no_such_version("SaslAuthenticateResponse", version)
        flexible = version >= 2
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        auth_bytes = reader.compact_bytes() if flexible else reader.bytes_()
        session_lifetime_ms: int = 0
        if version >= 1:
            session_lifetime_ms = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("SaslAuthenticateResponse", version)
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_compact_bytes(self.auth_bytes)
        else:
            writer.write_bytes(self.auth_bytes)
        if version >= 1:
            writer.write_int64(self.session_lifetime_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
