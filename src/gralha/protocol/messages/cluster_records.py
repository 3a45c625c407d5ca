"""Records of the metadata log about configs, features, quotas and producer ids, and those that frame others.

Generated from definitions/cluster_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ConfigRecord(Message):
    __slots__ = ("name", "resource_name", "resource_type", "value")

    API_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "name", "value")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.name: str = name
        self.value: str | None = value
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConfigRecord":
        if version != 0:
            raise no_such_version("ConfigRecord", version)
        resource_type = reader.int8()
        resource_name = reader.compact_string()
        name = reader.compact_string()
        value = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return ConfigRecord(resource_type, resource_name, name, value, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ConfigRecord", version)
        writer.write_int8(self.resource_type)
        writer.write_compact_string(self.resource_name)
        writer.write_compact_string(self.name)
        writer.write_compact_nullable_string(self.value)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FeatureLevelRecord(Message):
    __slots__ = ("feature_level", "name")

    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "feature_level")

    def __init__(
        self, name: str = "", feature_level: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.feature_level: int = feature_level
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FeatureLevelRecord":
        if version != 0:
            raise no_such_version("FeatureLevelRecord", version)
        name = reader.compact_string()
        feature_level = reader.int16()
        unknown = reader.tagged_fields()
        return FeatureLevelRecord(name, feature_level, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("FeatureLevelRecord", version)
        writer.write_compact_string(self.name)
        writer.write_int16(self.feature_level)
        writer.write_tagged_fields(self.unknown_tagged_fields)


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
        entity_type = reader.compact_string()
        entity_name = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return EntityData(entity_type, entity_name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.entity_type)
        writer.write_compact_nullable_string(self.entity_name)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ClientQuotaRecord(Message):
    __slots__ = ("entity", "key", "remove", "value")

    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("entity", "key", "value", "remove")

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.key: str = key
        self.value: float = value
        self.remove: bool = remove
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ClientQuotaRecord":
        if version != 0:
            raise no_such_version("ClientQuotaRecord", version)
        entity: list[EntityData] = [
            EntityData.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        key = reader.compact_string()
        value = reader.float64()
        remove = reader.boolean()
        unknown = reader.tagged_fields()
        return ClientQuotaRecord(entity, key, value, remove, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ClientQuotaRecord", version)
        writer.write_compact_array_length(len(self.entity))
        for entity_element in self.entity:
            entity_element.encode(writer, version)
        writer.write_compact_string(self.key)
        writer.write_float64(self.value)
        writer.write_boolean(self.remove)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ProducerIdsRecord(Message):
    __slots__ = ("broker_epoch", "broker_id", "next_producer_id")

    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "next_producer_id")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        next_producer_id: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.next_producer_id: int = next_producer_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ProducerIdsRecord":
        if version != 0:
            raise no_such_version("ProducerIdsRecord", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        next_producer_id = reader.int64()
        unknown = reader.tagged_fields()
        return ProducerIdsRecord(broker_id, broker_epoch, next_producer_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ProducerIdsRecord", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_int64(self.next_producer_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class NoOpRecord(Message):
    __slots__ = ()

    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "NoOpRecord":
        if version != 0:
            raise no_such_version("NoOpRecord", version)
        unknown = reader.tagged_fields()
        return NoOpRecord(unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("NoOpRecord", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ZkMigrationStateRecord(Message):
    __slots__ = ("zk_migration_state",)

    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("zk_migration_state",)

    def __init__(
        self, zk_migration_state: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.zk_migration_state: int = zk_migration_state
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ZkMigrationStateRecord":
        if version != 0:
            raise no_such_version("ZkMigrationStateRecord", version)
        zk_migration_state = reader.int8()
        unknown = reader.tagged_fields()
        return ZkMigrationStateRecord(zk_migration_state, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ZkMigrationStateRecord", version)
        writer.write_int8(self.zk_migration_state)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class BeginTransactionRecord(Message):
    __slots__ = ("name",)

    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str | None = None, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.name: str | None = name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BeginTransactionRecord":
        if version != 0:
            raise no_such_version("BeginTransactionRecord", version)
        name: str | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    name = reader.compact_nullable_string()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return BeginTransactionRecord(name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("BeginTransactionRecord", version)
        tagged = self.unknown_tagged_fields
        if self.name is not None:
            part = Writer()
            part.write_compact_string(self.name)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)


@final
class EndTransactionRecord(Message):
    __slots__ = ()

    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EndTransactionRecord":
        if version != 0:
            raise no_such_version("EndTransactionRecord", version)
        unknown = reader.tagged_fields()
        return EndTransactionRecord(unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("EndTransactionRecord", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AbortTransactionRecord(Message):
    __slots__ = ("reason",)

    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("reason",)

    def __init__(
        self, reason: str | None = None, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.reason: str | None = reason
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AbortTransactionRecord":
        if version != 0:
            raise no_such_version("AbortTransactionRecord", version)
        reason: str | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    reason = reader.compact_nullable_string()
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return AbortTransactionRecord(reason, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AbortTransactionRecord", version)
        tagged = self.unknown_tagged_fields
        if self.reason is not None:
            part = Writer()
            part.write_compact_string(self.reason)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)
