"""FindCoordinator: the broker that coordinates a group or a transactional id.

Several keys at once from version 4 on (KIP-699).

Generated from definitions/find_coordinator.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class FindCoordinatorRequest(Message):
    __slots__ = ("coordinator_keys", "key", "key_type")

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("key", "key_type", "coordinator_keys")

    def __init__(
        self,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key: str = key
        self.key_type: int = key_type
        self.coordinator_keys: list[str] = [] if coordinator_keys is EMPTY else coordinator_keys
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FindCoordinatorRequest":
        if version < 0 or version > 6:
            raise no_such_version("FindCoordinatorRequest", version)
        flexible = version >= 3
        key: str = ""
        if version <= 3:
            key = reader.compact_string() if flexible else reader.string()
        key_type: int = 0
        if version >= 1:
            key_type = reader.int8()
        coordinator_keys: list[str] = []
        if version >= 4:
            coordinator_keys = [reader.compact_string() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields() if flexible else ()
        return FindCoordinatorRequest(key, key_type, coordinator_keys, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 6:
            raise no_such_version("FindCoordinatorRequest", version)
        flexible = version >= 3
        if version <= 3:
            if flexible:
                writer.write_compact_string(self.key)
            else:
                writer.write_string(self.key)
        elif self.key != "":
            raise not_in_version("FindCoordinatorRequest.key", version)
        if version >= 1:
            writer.write_int8(self.key_type)
        elif self.key_type != 0:
            raise not_in_version("FindCoordinatorRequest.key_type", version)
        if version >= 4:
            writer.write_compact_array_length(len(self.coordinator_keys))
            for coordinator_keys_element in self.coordinator_keys:
                writer.write_compact_string(coordinator_keys_element)
        elif self.coordinator_keys:
            raise not_in_version("FindCoordinatorRequest.coordinator_keys", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Coordinator(Struct):
    __slots__ = ("error_code", "error_message", "host", "key", "node_id", "port")

    FIELDS: ClassVar[tuple[str, ...]] = ("key", "node_id", "host", "port", "error_code", "error_message")

    def __init__(
        self,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.key: str = key
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Coordinator":
        key = reader.compact_string()
        node_id = reader.int32()
        host = reader.compact_string()
        port = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return Coordinator(key, node_id, host, port, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.key)
        writer.write_int32(self.node_id)
        writer.write_compact_string(self.host)
        writer.write_int32(self.port)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FindCoordinatorResponse(Message):
    __slots__ = ("coordinators", "error_code", "error_message", "host", "node_id", "port", "throttle_time_ms")

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.node_id: int = node_id
        self.host: str = host
        self.port: int = port
        self.coordinators: list[Coordinator] = [] if coordinators is EMPTY else coordinators
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FindCoordinatorResponse":
        if version < 0 or version > 6:
            raise no_such_version("FindCoordinatorResponse", version)
        flexible = version >= 3
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code: int = 0
        if version <= 3:
            error_code = reader.int16()
        error_message: str | None = ""
        if 1 <= version <= 3:
            error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        elif version >= 4:
            pass
        node_id: int = 0
        if version <= 3:
            node_id = reader.int32()
        host: str = ""
        if version <= 3:
            host = reader.compact_string() if flexible else reader.string()
        port: int = 0
        if version <= 3:
            port = reader.int32()
        coordinators: list[Coordinator] = []
        if version >= 4:
            coordinators = [Coordinator.decode(reader, version) for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields() if flexible else ()
        return FindCoordinatorResponse(
            throttle_time_ms, error_code, error_message, node_id, host, port, coordinators, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 6:
            raise no_such_version("FindCoordinatorResponse", version)
        flexible = version >= 3
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        if version <= 3:
            writer.write_int16(self.error_code)
        elif self.error_code != 0:
            raise not_in_version("FindCoordinatorResponse.error_code", version)
        if 1 <= version <= 3:
            if flexible:
                writer.write_compact_nullable_string(self.error_message)
            else:
                writer.write_nullable_string(self.error_message)
        elif version >= 4:
            pass
        if version <= 3:
            writer.write_int32(self.node_id)
        elif self.node_id != 0:
            raise not_in_version("FindCoordinatorResponse.node_id", version)
        if version <= 3:
            if flexible:
                writer.write_compact_string(self.host)
            else:
                writer.write_string(self.host)
        elif self.host != "":
            raise not_in_version("FindCoordinatorResponse.host", version)
        if version <= 3:
            writer.write_int32(self.port)
        elif self.port != 0:
            raise not_in_version("FindCoordinatorResponse.port", version)
        if version >= 4:
            writer.write_compact_array_length(len(self.coordinators))
            for coordinators_element in self.coordinators:
                coordinators_element.encode(writer, version)
        elif self.coordinators:
            raise not_in_version("FindCoordinatorResponse.coordinators", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
