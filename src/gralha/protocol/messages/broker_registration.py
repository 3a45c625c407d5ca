"""BrokerRegistration: a broker that starts tells the controller about itself and gets an epoch (KIP-631).

Generated from definitions/broker_registration.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class Listener(Struct):
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
    def decode(reader: Reader, version: i64) -> "Listener":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        security_protocol = reader.int16()
        unknown = reader.tagged_fields()
        return Listener(name, host, port, security_protocol, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_int16(self.security_protocol)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Feature(Struct):
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
    def decode(reader: Reader, version: i64) -> "Feature":
        name = reader.compact_string()
        min_supported_version = reader.int16()
        max_supported_version = reader.int16()
        unknown = reader.tagged_fields()
        return Feature(name, min_supported_version, max_supported_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int16(self.min_supported_version)
        writer.write_int16(self.max_supported_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class BrokerRegistrationRequest(Message):
    __slots__ = (
        "broker_id",
        "cluster_id",
        "features",
        "incarnation_id",
        "is_migrating_zk_broker",
        "listeners",
        "log_dirs",
        "previous_broker_epoch",
        "rack",
    )

    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )

    def __init__(
        self,
        broker_id: int = 0,
        cluster_id: str = "",
        incarnation_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
        rack: str | None = "",
        is_migrating_zk_broker: bool = False,
        log_dirs: list[bytes] = EMPTY,
        previous_broker_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.cluster_id: str = cluster_id
        self.incarnation_id: bytes = incarnation_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.features: list[Feature] = [] if features is EMPTY else features
        self.rack: str | None = rack
        self.is_migrating_zk_broker: bool = is_migrating_zk_broker
        self.log_dirs: list[bytes] = [] if log_dirs is EMPTY else log_dirs
        self.previous_broker_epoch: int = previous_broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerRegistrationRequest":
        if version < 0 or version > 4:
            raise no_such_version("BrokerRegistrationRequest", version)
        broker_id = reader.int32()
        cluster_id = reader.compact_string()
        incarnation_id = reader.uuid()
        listeners: list[Listener] = [
            Listener.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        features: list[Feature] = [
            Feature.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        rack = reader.compact_nullable_string()
        is_migrating_zk_broker: bool = False
        if version >= 1:
            is_migrating_zk_broker = reader.boolean()
        log_dirs: list[bytes] = []
        if version >= 2:
            log_dirs = [reader.uuid() for _ in range(reader.compact_array_length())]
        previous_broker_epoch: int = -1
        if version >= 3:
            previous_broker_epoch = reader.int64()
        unknown = reader.tagged_fields()
        return BrokerRegistrationRequest(
            broker_id,
            cluster_id,
            incarnation_id,
            listeners,
            features,
            rack,
            is_migrating_zk_broker,
            log_dirs,
            previous_broker_epoch,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("BrokerRegistrationRequest", version)
        writer.write_int32(self.broker_id)
        writer.write_compact_string(self.cluster_id)
        writer.write_uuid(self.incarnation_id)
        writer.write_compact_array_length(len(self.listeners))
        for listeners_element in self.listeners:
            listeners_element.encode(writer, version)
        writer.write_compact_array_length(len(self.features))
        for features_element in self.features:
            features_element.encode(writer, version)
        writer.write_compact_nullable_string(self.rack)
        if version >= 1:
            writer.write_boolean(self.is_migrating_zk_broker)
        elif self.is_migrating_zk_broker:
            raise not_in_version("BrokerRegistrationRequest.is_migrating_zk_broker", version)
        if version >= 2:
            writer.write_compact_array_length(len(self.log_dirs))
            for log_dirs_element in self.log_dirs:
                writer.write_uuid(log_dirs_element)
        if version >= 3:
            writer.write_int64(self.previous_broker_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class BrokerRegistrationResponse(Message):
    __slots__ = ("broker_epoch", "error_code", "throttle_time_ms")

    API_KEY: ClassVar[int] = 62
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "broker_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.broker_epoch: int = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "BrokerRegistrationResponse":
        if version < 0 or version > 4:
            raise no_such_version("BrokerRegistrationResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        broker_epoch = reader.int64()
        unknown = reader.tagged_fields()
        return BrokerRegistrationResponse(throttle_time_ms, error_code, broker_epoch, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("BrokerRegistrationResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_int64(self.broker_epoch)
        writer.write_tagged_fields(self.unknown_tagged_fields)
