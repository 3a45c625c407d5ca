"""AlterClientQuotas: set and remove quotas of users, client ids and addresses (KIP-546).

Generated from definitions/alter_client_quotas.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class EntityData(Struct):
    __slots__ = ("entity_name", "entity_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity_type: str = entity_type
        self.entity_name: str | None = entity_name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EntityData":
        flexible = version >= 1
        entity_type = reader.compact_string() if flexible else reader.string()
        entity_name = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return EntityData(entity_type, entity_name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.entity_type)
        else:
            writer.write_string(self.entity_type)
        if flexible:
            writer.write_compact_nullable_string(self.entity_name)
        else:
            writer.write_nullable_string(self.entity_name)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class OpData(Struct):
    __slots__ = ("key", "remove", "value")

    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value", "remove")

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key: str = key
        self.value: float = value
        self.remove: bool = remove
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "OpData":
        flexible = version >= 1
        key = reader.compact_string() if flexible else reader.string()
        value = reader.float64()
        remove = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return OpData(key, value, remove, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.key)
        else:
            writer.write_string(self.key)
        writer.write_float64(self.value)
        writer.write_boolean(self.remove)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EntryData(Struct):
    __slots__ = ("entity", "ops")

    FIELDS: ClassVar[tuple[str, ...]] = ("entity", "ops")

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,
        ops: list[OpData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.ops: list[OpData] = [] if ops is EMPTY else ops
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EntryData":
        flexible = version >= 1
        entity: list[EntityData] = [
            EntityData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        ops: list[OpData] = [
            OpData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return EntryData(entity, ops, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_array_length(len(self.entity))
        else:
            writer.write_array_length(len(self.entity))
        for entity_element in self.entity:
            entity_element.encode(writer, version)
        if flexible:
            writer.write_compact_array_length(len(self.ops))
        else:
            writer.write_array_length(len(self.ops))
        for ops_element in self.ops:
            ops_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterClientQuotasRequest(Message):
    __slots__ = ("entries", "validate_only")

    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("entries", "validate_only")

    def __init__(
        self,
        entries: list[EntryData] = EMPTY,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entries: list[EntryData] = [] if entries is EMPTY else entries
        self.validate_only: bool = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterClientQuotasRequest":
        if version < 0 or version > 1:
            raise no_such_version("AlterClientQuotasRequest", version)
        flexible = version >= 1
        entries: list[EntryData] = [
            EntryData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        validate_only = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return AlterClientQuotasRequest(entries, validate_only, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("AlterClientQuotasRequest", version)
        flexible = version >= 1
        if flexible:
            writer.write_compact_array_length(len(self.entries))
        else:
            writer.write_array_length(len(self.entries))
        for entries_element in self.entries:
            entries_element.encode(writer, version)
        writer.write_boolean(self.validate_only)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlteredEntry(Struct):
    __slots__ = ("entity", "error_code", "error_message")

    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "entity")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[EntityData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlteredEntry":
        flexible = version >= 1
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        entity: list[EntityData] = [
            EntityData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlteredEntry(error_code, error_message, entity, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_compact_array_length(len(self.entity))
        else:
            writer.write_array_length(len(self.entity))
        for entity_element in self.entity:
            entity_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterClientQuotasResponse(Message):
    __slots__ = ("entries", "throttle_time_ms")

    API_KEY: ClassVar[int] = 49
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "entries")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlteredEntry] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.entries: list[AlteredEntry] = [] if entries is EMPTY else entries
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterClientQuotasResponse":
        if version < 0 or version > 1:
            raise no_such_version("AlterClientQuotasResponse", version)
        flexible = version >= 1
        throttle_time_ms = reader.int32()
        entries: list[AlteredEntry] = [
            AlteredEntry.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterClientQuotasResponse(throttle_time_ms, entries, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("AlterClientQuotasResponse", version)
        flexible = version >= 1
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.entries))
        else:
            writer.write_array_length(len(self.entries))
        for entries_element in self.entries:
            entries_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
