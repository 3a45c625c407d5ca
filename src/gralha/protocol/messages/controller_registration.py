"""ControllerRegistration: a controller tells the active one about itself (KIP-919).

Generated from definitions/controller_registration.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
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
class ControllerRegistrationRequest(Message):
    __slots__ = ("controller_id", "features", "incarnation_id", "listeners", "zk_migration_ready")

    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "listeners",
        "features",
    )

    def __init__(
        self,
        controller_id: int = 0,
        incarnation_id: bytes = ZERO_UUID,
        zk_migration_ready: bool = False,
        listeners: list[Listener] = EMPTY,
        features: list[Feature] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.controller_id: int = controller_id
        self.incarnation_id: bytes = incarnation_id
        self.zk_migration_ready: bool = zk_migration_ready
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.features: list[Feature] = [] if features is EMPTY else features
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ControllerRegistrationRequest":
        if version != 0:
            raise no_such_version("ControllerRegistrationRequest", version)
        controller_id = reader.int32()
        incarnation_id = reader.uuid()
        zk_migration_ready = reader.boolean()
        listeners: list[Listener] = [
            Listener.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        features: list[Feature] = [
            Feature.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ControllerRegistrationRequest(
            controller_id, incarnation_id, zk_migration_ready, listeners, features, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ControllerRegistrationRequest", version)
        writer.write_int32(self.controller_id)
        writer.write_uuid(self.incarnation_id)
        writer.write_boolean(self.zk_migration_ready)
        writer.write_compact_array_length(len(self.listeners))
        for listeners_element in self.listeners:
            listeners_element.encode(writer, version)
        writer.write_compact_array_length(len(self.features))
        for features_element in self.features:
            features_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ControllerRegistrationResponse(Message):
    __slots__ = ("error_code", "error_message", "throttle_time_ms")

    API_KEY: ClassVar[int] = 70
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ControllerRegistrationResponse":
        if version != 0:
            raise no_such_version("ControllerRegistrationResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return ControllerRegistrationResponse(throttle_time_ms, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("ControllerRegistrationResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)
