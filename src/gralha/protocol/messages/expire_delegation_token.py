"""ExpireDelegationToken: a token expires earlier, or at once (KIP-48).

Generated from definitions/expire_delegation_token.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ExpireDelegationTokenRequest(Message):
    __slots__ = ("expiry_time_period_ms", "hmac")

    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("hmac", "expiry_time_period_ms")

    def __init__(
        self,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.hmac: bytes = hmac
        self.expiry_time_period_ms: int = expiry_time_period_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ExpireDelegationTokenRequest":
        if version < 1 or version > 2:
            raise no_such_version("ExpireDelegationTokenRequest", version)
        flexible = version >= 2
        hmac = reader.compact_bytes() if flexible else reader.bytes_()
        expiry_time_period_ms = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return ExpireDelegationTokenRequest(hmac, expiry_time_period_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("ExpireDelegationTokenRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_bytes(self.hmac)
        else:
            writer.write_bytes(self.hmac)
        writer.write_int64(self.expiry_time_period_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ExpireDelegationTokenResponse(Message):
    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    API_KEY: ClassVar[int] = 40
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.expiry_timestamp_ms: int = expiry_timestamp_ms
        self.throttle_time_ms: int = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ExpireDelegationTokenResponse":
        if version < 1 or version > 2:
            raise no_such_version("ExpireDelegationTokenResponse", version)
        flexible = version >= 2
        error_code = reader.int16()
        expiry_timestamp_ms = reader.int64()
        throttle_time_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return ExpireDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("ExpireDelegationTokenResponse", version)
        flexible = version >= 2
        writer.write_int16(self.error_code)
        writer.write_int64(self.expiry_timestamp_ms)
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
