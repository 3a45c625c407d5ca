"""DescribeCluster: the brokers or the controllers of a cluster.

Generated from definitions/describe_cluster.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribeClusterRequest(Message):
    __slots__ = ("endpoint_type", "include_cluster_authorized_operations", "include_fenced_brokers")

    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "include_cluster_authorized_operations",
        "endpoint_type",
        "include_fenced_brokers",
    )

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.include_cluster_authorized_operations: bool = include_cluster_authorized_operations
        self.endpoint_type: int = endpoint_type
        self.include_fenced_brokers: bool = include_fenced_brokers
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeClusterRequest":
        if version < 0 or version > 2:
            raise no_such_version("DescribeClusterRequest", version)
        include_cluster_authorized_operations = reader.boolean()
        endpoint_type: int = 1
        if version >= 1:
            endpoint_type = reader.int8()
        include_fenced_brokers: bool = False
        if version >= 2:
            include_fenced_brokers = reader.boolean()
        unknown = reader.tagged_fields()
        return DescribeClusterRequest(
            include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DescribeClusterRequest", version)
        writer.write_boolean(self.include_cluster_authorized_operations)
        if version >= 1:
            writer.write_int8(self.endpoint_type)
        elif self.endpoint_type != 1:
            raise not_in_version("DescribeClusterRequest.endpoint_type", version)
        if version >= 2:
            writer.write_boolean(self.include_fenced_brokers)
        elif self.include_fenced_brokers:
            raise not_in_version("DescribeClusterRequest.include_fenced_brokers", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeClusterBroker(Struct):
    __slots__ = ("broker_id", "host", "is_fenced", "port", "rack")

    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "host", "port", "rack", "is_fenced")

    def __init__(
        self,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.broker_id: int = broker_id
        self.host: str = host
        self.port: int = port
        self.rack: str | None = rack
        self.is_fenced: bool = is_fenced
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeClusterBroker":
        broker_id = reader.int32()
        host = reader.compact_string()
        port = reader.int32()
        rack = reader.compact_nullable_string()
        is_fenced: bool = False
        if version >= 2:
            is_fenced = reader.boolean()
        unknown = reader.tagged_fields()
        return DescribeClusterBroker(broker_id, host, port, rack, is_fenced, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.broker_id)
        writer.write_compact_string(self.host)
        writer.write_int32(self.port)
        writer.write_compact_nullable_string(self.rack)
        if version >= 2:
            writer.write_boolean(self.is_fenced)
        elif self.is_fenced:
            raise not_in_version("DescribeClusterBroker.is_fenced", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeClusterResponse(Message):
    __slots__ = (
        "brokers",
        "cluster_authorized_operations",
        "cluster_id",
        "controller_id",
        "endpoint_type",
        "error_code",
        "error_message",
        "throttle_time_ms",
    )

    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.endpoint_type: int = endpoint_type
        self.cluster_id: str = cluster_id
        self.controller_id: int = controller_id
        self.brokers: list[DescribeClusterBroker] = [] if brokers is EMPTY else brokers
        self.cluster_authorized_operations: int = cluster_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeClusterResponse":
        if version < 0 or version > 2:
            raise no_such_version("DescribeClusterResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        endpoint_type: int = 1
        if version >= 1:
            endpoint_type = reader.int8()
        cluster_id = reader.compact_string()
        controller_id = reader.int32()
        brokers: list[DescribeClusterBroker] = [
            DescribeClusterBroker.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        cluster_authorized_operations = reader.int32()
        unknown = reader.tagged_fields()
        return DescribeClusterResponse(
            throttle_time_ms,
            error_code,
            error_message,
            endpoint_type,
            cluster_id,
            controller_id,
            brokers,
            cluster_authorized_operations,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("DescribeClusterResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        if version >= 1:
            writer.write_int8(self.endpoint_type)
        elif self.endpoint_type != 1:
            raise not_in_version("DescribeClusterResponse.endpoint_type", version)
        writer.write_compact_string(self.cluster_id)
        writer.write_int32(self.controller_id)
        writer.write_compact_array_length(len(self.brokers))
        for brokers_element in self.brokers:
            brokers_element.encode(writer, version)
        writer.write_int32(self.cluster_authorized_operations)
        writer.write_tagged_fields(self.unknown_tagged_fields)
