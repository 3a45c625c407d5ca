"""AddOffsetsToTxn: the offsets of a group become part of a transaction (KIP-98).

Generated from definitions/add_offsets_to_txn.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class AddOffsetsToTxnRequest(Message):
    __slots__ = ("group_id", "producer_epoch", "producer_id", "transactional_id")

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("transactional_id", "producer_id", "producer_epoch", "group_id")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.group_id: str = group_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddOffsetsToTxnRequest":
        if version < 0 or version > 4:
            raise no_such_version("AddOffsetsToTxnRequest", version)
        flexible = version >= 3
        transactional_id = reader.compact_string() if flexible else reader.string()
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        group_id = reader.compact_string() if flexible else reader.string()
        unknown = reader.tagged_fields() if flexible else ()
        return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("AddOffsetsToTxnRequest", version)
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.transactional_id)
        else:
            writer.write_string(self.transactional_id)
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddOffsetsToTxnResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms")

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddOffsetsToTxnResponse":
        if version < 0 or version > 4:
            raise no_such_version("AddOffsetsToTxnResponse", version)
        flexible = version >= 3
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return AddOffsetsToTxnResponse(throttle_time_ms, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("AddOffsetsToTxnResponse", version)
        flexible = version >= 3
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
