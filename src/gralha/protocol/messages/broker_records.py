"""Records of the metadata log about brokers and controllers.

Generated from definitions/broker_records.kafka by gralha.protocol.compiler: change that, not this.
"""

# ruff: noqa: A002

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class BrokerEndpoint(Struct):
    __slots__ = ("host", "name", "port", "security_protocol")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port", "security_protocol")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.security_protocol: int = security_protocol
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerEndpoint":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        security_protocol = reader.int16()
        unknown = reader.tagged_fields()
        return BrokerEndpoint(name, host, port, security_protocol, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_int16(self.security_protocol)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class BrokerFeature(Struct):
    __slots__ = ("max_supported_version", "min_supported_version", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_supported_version", "max_supported_version")

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerFeature":
        name = reader.compact_string()
        min_supported_version = reader.int16()
        max_supported_version = reader.int16()
        unknown = reader.tagged_fields()
        return BrokerFeature(name, min_supported_version, max_supported_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int16(self.min_supported_version)
        writer.write_int16(self.max_supported_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RegisterBrokerRecord(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cordoned_log_dirs",
        "end_points",
        "features",
        "fenced",
        "in_controlled_shutdown",
        "incarnation_id",
        "is_migrating_zk_broker",
        "log_dirs",
        "rack",
    )

    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    def __init__(
        self,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = ZERO_UUID,
        broker_epoch: int = 0,
        end_points: list[BrokerEndpoint] = EMPTY,
        features: list[BrokerFeature] = EMPTY,
        rack: str | None = "",
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.is_migrating_zk_broker: bool = is_migrating_zk_broker
        self.incarnation_id: bytes = incarnation_id
        self.broker_epoch: int = broker_epoch
        self.end_points: list[BrokerEndpoint] = [] if end_points is EMPTY else end_points
        self.features: list[BrokerFeature] = [] if features is EMPTY else features
        self.rack: str | None = rack
        self.fenced: bool = fenced
        self.in_controlled_shutdown: bool = in_controlled_shutdown
        self.log_dirs: list[bytes] = [] if log_dirs is EMPTY else log_dirs
        self.cordoned_log_dirs: list[bytes] | None = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RegisterBrokerRecord":
        if version < 0 or version > 4:
            raise no_such_version("RegisterBrokerRecord", version)
        broker_id = reader.int32()
        is_migrating_zk_broker: bool = False
        if version >= 2:
            is_migrating_zk_broker = reader.boolean()
        incarnation_id = reader.uuid()
        broker_epoch = reader.int64()
        end_points: list[BrokerEndpoint] = [
            BrokerEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        features: list[BrokerFeature] = [
            BrokerFeature.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        rack = reader.compact_nullable_string()
        fenced = reader.boolean()
        in_controlled_shutdown: bool = False
        if version >= 1:
            in_controlled_shutdown = reader.boolean()
        log_dirs: list[bytes] = []
        cordoned_log_dirs: list[bytes] | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0 and version >= 3:
                    log_dirs = [reader.uuid() for _ in range(reader.compact_array_length())]
                elif tag == 1 and version >= 4:
                    count = reader.compact_nullable_array_length()
                    cordoned_log_dirs = [reader.uuid() for _ in range(count)] if count >= 0 else None
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return RegisterBrokerRecord(
            broker_id,
            is_migrating_zk_broker,
            incarnation_id,
            broker_epoch,
            end_points,
            features,
            rack,
            fenced,
            in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("RegisterBrokerRecord", version)
        writer.write_int32(self.broker_id)
        if version >= 2:
            writer.write_boolean(self.is_migrating_zk_broker)
        elif self.is_migrating_zk_broker:
            raise not_in_version("RegisterBrokerRecord.is_migrating_zk_broker", version)
        writer.write_uuid(self.incarnation_id)
        writer.write_int64(self.broker_epoch)
        writer.write_compact_array_length(len(self.end_points))
        for end_points_element in self.end_points:
            end_points_element.encode(writer, version)
        writer.write_compact_array_length(len(self.features))
        for features_element in self.features:
            features_element.encode(writer, version)
        writer.write_compact_nullable_string(self.rack)
        writer.write_boolean(self.fenced)
        if version >= 1:
            writer.write_boolean(self.in_controlled_shutdown)
        elif self.in_controlled_shutdown:
            raise not_in_version("RegisterBrokerRecord.in_controlled_shutdown", version)
        tagged = self.unknown_tagged_fields
        if version >= 3:
            if self.log_dirs:
                part = Writer()
                part.write_compact_array_length(len(self.log_dirs))
                for log_dirs_element in self.log_dirs:
                    part.write_uuid(log_dirs_element)
                tagged = (*tagged, (0, part.to_bytes()))
        elif self.log_dirs:
            raise not_in_version("RegisterBrokerRecord.log_dirs", version)
        if version >= 4:
            if self.cordoned_log_dirs is not None:
                part = Writer()
                part.write_compact_array_length(len(self.cordoned_log_dirs))
                for cordoned_log_dirs_element in self.cordoned_log_dirs:
                    part.write_uuid(cordoned_log_dirs_element)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.cordoned_log_dirs is not None:
            raise not_in_version("RegisterBrokerRecord.cordoned_log_dirs", version)
        writer.write_tagged_fields(tagged)


@final
class UnregisterBrokerRecord(Message):
    __slots__ = ("broker_epoch", "broker_id")

    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch")

    def __init__(
        self, broker_id: int = 0, broker_epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UnregisterBrokerRecord":
        if version != 0:
            raise no_such_version("UnregisterBrokerRecord", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        unknown = reader.tagged_fields()
        return UnregisterBrokerRecord(broker_id, broker_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UnregisterBrokerRecord", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FenceBrokerRecord(Message):
    __slots__ = ("epoch", "id")

    API_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "epoch")

    def __init__(
        self, id: int = 0, epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.id: int = id
        self.epoch: int = epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FenceBrokerRecord":
        if version != 0:
            raise no_such_version("FenceBrokerRecord", version)
        id_ = reader.int32()
        epoch = reader.int64()
        unknown = reader.tagged_fields()
        return FenceBrokerRecord(id_, epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("FenceBrokerRecord", version)
        writer.write_int32(self.id)
        writer.write_int64(self.epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UnfenceBrokerRecord(Message):
    __slots__ = ("epoch", "id")

    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "epoch")

    def __init__(
        self, id: int = 0, epoch: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.id: int = id
        self.epoch: int = epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UnfenceBrokerRecord":
        if version != 0:
            raise no_such_version("UnfenceBrokerRecord", version)
        id_ = reader.int32()
        epoch = reader.int64()
        unknown = reader.tagged_fields()
        return UnfenceBrokerRecord(id_, epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UnfenceBrokerRecord", version)
        writer.write_int32(self.id)
        writer.write_int64(self.epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class BrokerRegistrationChangeRecord(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "cordoned_log_dirs",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
    )

    API_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "broker_epoch",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[bytes] = EMPTY,
        cordoned_log_dirs: list[bytes] | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.broker_epoch: int = broker_epoch
        self.fenced: int = fenced
        self.in_controlled_shutdown: int = in_controlled_shutdown
        self.log_dirs: list[bytes] = [] if log_dirs is EMPTY else log_dirs
        self.cordoned_log_dirs: list[bytes] | None = cordoned_log_dirs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerRegistrationChangeRecord":
        if version < 0 or version > 3:
            raise no_such_version("BrokerRegistrationChangeRecord", version)
        broker_id = reader.int32()
        broker_epoch = reader.int64()
        fenced: int = 0
        in_controlled_shutdown: int = 0
        log_dirs: list[bytes] = []
        cordoned_log_dirs: list[bytes] | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    fenced = reader.int8()
                elif tag == 1 and version >= 1:
                    in_controlled_shutdown = reader.int8()
                elif tag == 2 and version >= 2:
                    log_dirs = [reader.uuid() for _ in range(reader.compact_array_length())]
                elif tag == 3 and version >= 3:
                    count = reader.compact_nullable_array_length()
                    cordoned_log_dirs = [reader.uuid() for _ in range(count)] if count >= 0 else None
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return BrokerRegistrationChangeRecord(
            broker_id, broker_epoch, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 3:
            raise no_such_version("BrokerRegistrationChangeRecord", version)
        writer.write_int32(self.broker_id)
        writer.write_int64(self.broker_epoch)
        tagged = self.unknown_tagged_fields
        if self.fenced != 0:
            part = Writer()
            part.write_int8(self.fenced)
            tagged = (*tagged, (0, part.to_bytes()))
        if version >= 1:
            if self.in_controlled_shutdown != 0:
                part = Writer()
                part.write_int8(self.in_controlled_shutdown)
                tagged = (*tagged, (1, part.to_bytes()))
        elif self.in_controlled_shutdown != 0:
            raise not_in_version("BrokerRegistrationChangeRecord.in_controlled_shutdown", version)
        if version >= 2:
            if self.log_dirs:
                part = Writer()
                part.write_compact_array_length(len(self.log_dirs))
                for log_dirs_element in self.log_dirs:
                    part.write_uuid(log_dirs_element)
                tagged = (*tagged, (2, part.to_bytes()))
        elif self.log_dirs:
            raise not_in_version("BrokerRegistrationChangeRecord.log_dirs", version)
        if version >= 3:
            if self.cordoned_log_dirs is not None:
                part = Writer()
                part.write_compact_array_length(len(self.cordoned_log_dirs))
                for cordoned_log_dirs_element in self.cordoned_log_dirs:
                    part.write_uuid(cordoned_log_dirs_element)
                tagged = (*tagged, (3, part.to_bytes()))
        elif self.cordoned_log_dirs is not None:
            raise not_in_version("BrokerRegistrationChangeRecord.cordoned_log_dirs", version)
        writer.write_tagged_fields(tagged)


@final
class ControllerEndpoint(Struct):
    __slots__ = ("host", "name", "port", "security_protocol")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port", "security_protocol")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        security_protocol: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.security_protocol: int = security_protocol
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ControllerEndpoint":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        security_protocol = reader.int16()
        unknown = reader.tagged_fields()
        return ControllerEndpoint(name, host, port, security_protocol, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_int16(self.security_protocol)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ControllerFeature(Struct):
    __slots__ = ("max_supported_version", "min_supported_version", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_supported_version", "max_supported_version")

    def __init__(
        self,
        name: str = "",
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ControllerFeature":
        name = reader.compact_string()
        min_supported_version = reader.int16()
        max_supported_version = reader.int16()
        unknown = reader.tagged_fields()
        return ControllerFeature(name, min_supported_version, max_supported_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int16(self.min_supported_version)
        writer.write_int16(self.max_supported_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RegisterControllerRecord(Message):
    __slots__ = ("controller_id", "end_points", "features", "incarnation_id", "zk_migration_ready")

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "end_points",
        "features",
    )

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        end_points: list[ControllerEndpoint] = EMPTY,
        features: list[ControllerFeature] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.controller_id: int = controller_id
        self.incarnation_id: bytes = incarnation_id
        self.zk_migration_ready: bool = zk_migration_ready
        self.end_points: list[ControllerEndpoint] = [] if end_points is EMPTY else end_points
        self.features: list[ControllerFeature] = [] if features is EMPTY else features
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RegisterControllerRecord":
        if version != 0:
            raise no_such_version("RegisterControllerRecord", version)
        controller_id = reader.int32()
        incarnation_id = reader.uuid()
        zk_migration_ready = reader.boolean()
        end_points: list[ControllerEndpoint] = [
            ControllerEndpoint.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        features: list[ControllerFeature] = [
            ControllerFeature.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return RegisterControllerRecord(
            controller_id, incarnation_id, zk_migration_ready, end_points, features, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RegisterControllerRecord", version)
        writer.write_int32(self.controller_id)
        writer.write_uuid(self.incarnation_id)
        writer.write_boolean(self.zk_migration_ready)
        writer.write_compact_array_length(len(self.end_points))
        for end_points_element in self.end_points:
            end_points_element.encode(writer, version)
        writer.write_compact_array_length(len(self.features))
        for features_element in self.features:
            features_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
