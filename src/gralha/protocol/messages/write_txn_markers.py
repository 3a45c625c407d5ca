"""WriteTxnMarkers: a transaction coordinator has the ends of transactions written to partitions.

Generated from definitions/write_txn_markers.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class WritableTxnMarkerTopic(Struct):
    __slots__ = ("name", "partition_indexes")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partition_indexes: list[int] = [] if partition_indexes is EMPTY else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WritableTxnMarkerTopic":
        name = reader.compact_string()
        partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return WritableTxnMarkerTopic(name, partition_indexes, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partition_indexes))
        for partition_indexes_element in self.partition_indexes:
            writer.write_int32(partition_indexes_element)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class WritableTxnMarker(Struct):
    __slots__ = (
        "coordinator_epoch",
        "producer_epoch",
        "producer_id",
        "topics",
        "transaction_result",
        "transaction_version",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = EMPTY,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.transaction_result: bool = transaction_result
        self.topics: list[WritableTxnMarkerTopic] = [] if topics is EMPTY else topics
        self.coordinator_epoch: int = coordinator_epoch
        self.transaction_version: int = transaction_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WritableTxnMarker":
        producer_id = reader.int64()
        producer_epoch = reader.int16()
        transaction_result = reader.boolean()
        topics: list[WritableTxnMarkerTopic] = [
            WritableTxnMarkerTopic.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        coordinator_epoch = reader.int32()
        transaction_version: int = 0
        if version >= 2:
            transaction_version = reader.int8()
        unknown = reader.tagged_fields()
        return WritableTxnMarker(
            producer_id,
            producer_epoch,
            transaction_result,
            topics,
            coordinator_epoch,
            transaction_version,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int64(self.producer_id)
        writer.write_int16(self.producer_epoch)
        writer.write_boolean(self.transaction_result)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_int32(self.coordinator_epoch)
        if version >= 2:
            writer.write_int8(self.transaction_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class WriteTxnMarkersRequest(Message):
    __slots__ = ("markers",)

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)

    def __init__(
        self, markers: list[WritableTxnMarker] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.markers: list[WritableTxnMarker] = [] if markers is EMPTY else markers
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WriteTxnMarkersRequest":
        if version < 1 or version > 2:
            raise no_such_version("WriteTxnMarkersRequest", version)
        markers: list[WritableTxnMarker] = [
            WritableTxnMarker.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return WriteTxnMarkersRequest(markers, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("WriteTxnMarkersRequest", version)
        writer.write_compact_array_length(len(self.markers))
        for markers_element in self.markers:
            markers_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class WritableTxnMarkerPartitionResult(Struct):
    __slots__ = ("error_code", "partition_index")

    FIELDS: ClassVar[tuple[str, ...]] = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.partition_index: int = partition_index
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WritableTxnMarkerPartitionResult":
        partition_index = reader.int32()
        error_code = reader.int16()
        unknown = reader.tagged_fields()
        return WritableTxnMarkerPartitionResult(partition_index, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.partition_index)
        writer.write_int16(self.error_code)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class WritableTxnMarkerTopicResult(Struct):
    __slots__ = ("name", "partitions")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.partitions: list[WritableTxnMarkerPartitionResult] = [] if partitions is EMPTY else partitions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WritableTxnMarkerTopicResult":
        name = reader.compact_string()
        partitions: list[WritableTxnMarkerPartitionResult] = [
            WritableTxnMarkerPartitionResult.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return WritableTxnMarkerTopicResult(name, partitions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_array_length(len(self.partitions))
        for partitions_element in self.partitions:
            partitions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class WritableTxnMarkerResult(Struct):
    __slots__ = ("producer_id", "topics")

    FIELDS: ClassVar[tuple[str, ...]] = ("producer_id", "topics")

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.producer_id: int = producer_id
        self.topics: list[WritableTxnMarkerTopicResult] = [] if topics is EMPTY else topics
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WritableTxnMarkerResult":
        producer_id = reader.int64()
        topics: list[WritableTxnMarkerTopicResult] = [
            WritableTxnMarkerTopicResult.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return WritableTxnMarkerResult(producer_id, topics, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int64(self.producer_id)
        writer.write_compact_array_length(len(self.topics))
        for topics_element in self.topics:
            topics_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class WriteTxnMarkersResponse(Message):
    __slots__ = ("markers",)

    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("markers",)

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.markers: list[WritableTxnMarkerResult] = [] if markers is EMPTY else markers
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "WriteTxnMarkersResponse":
        if version < 1 or version > 2:
            raise no_such_version("WriteTxnMarkersResponse", version)
        markers: list[WritableTxnMarkerResult] = [
            WritableTxnMarkerResult.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return WriteTxnMarkersResponse(markers, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 2:
            raise no_such_version("WriteTxnMarkersResponse", version)
        writer.write_compact_array_length(len(self.markers))
        for markers_element in self.markers:
            markers_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
