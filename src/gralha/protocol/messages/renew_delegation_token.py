"""RenewDelegationToken: a token expires later (KIP-48).

Generated from definitions/renew_delegation_token.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class RenewDelegationTokenRequest(Message):
    __slots__ = ("hmac", "renew_period_ms")

    API_KEY: ClassVar[int] = 39
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("hmac", "renew_period_ms")

    def __init__(
        self, hmac: bytes = b"", renew_period_ms: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.hmac: bytes = hmac
        self.renew_period_ms: int = renew_period_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RenewDelegationTokenRequest":
        if version < 1 or version > 2:
            raise no_such_version("RenewDelegationTokenRequest", version)
        flexible = version >= 2
        hmac = reader.compact_bytes() if flexible else reader.bytes_()
        renew_period_ms = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return RenewDelegationTokenRequest(hmac, renew_period_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("RenewDelegationTokenRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_bytes(self.hmac)
        else:
            writer.write_bytes(self.hmac)
        writer.write_int64(self.renew_period_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RenewDelegationTokenResponse(Message):
    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    API_KEY: ClassVar[int] = 39
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
    def decode(reader: Reader, version: i64) -> "RenewDelegationTokenResponse":
        if version < 1 or version > 2:
            raise no_such_version("RenewDelegationTokenResponse", version)
        flexible = version >= 2
        error_code = reader.int16()
        expiry_timestamp_ms = reader.int64()
        throttle_time_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return RenewDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("RenewDelegationTokenResponse", version)
        flexible = version >= 2
        writer.write_int16(self.error_code)
        writer.write_int64(self.expiry_timestamp_ms)
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
