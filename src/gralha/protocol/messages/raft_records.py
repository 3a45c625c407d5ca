"""Control records of the metadata log and of its snapshots.

Each begins with its version, so that it can be read without knowing it (KIP-595, KIP-630, KIP-853).

Generated from definitions/raft_records.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class LeaderChangeVoter(Struct):
    __slots__ = ("voter_directory_id", "voter_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("voter_id", "voter_directory_id")

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LeaderChangeVoter":
        voter_id = reader.int32()
        voter_directory_id: bytes = ZERO_UUID
        if version >= 1:
            voter_directory_id = reader.uuid()
        unknown = reader.tagged_fields()
        return LeaderChangeVoter(voter_id, voter_directory_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.voter_id)
        if version >= 1:
            writer.write_uuid(self.voter_directory_id)
        elif self.voter_directory_id != ZERO_UUID:
            raise not_in_version("LeaderChangeVoter.voter_directory_id", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class LeaderChangeMessage(Message):
    __slots__ = ("granting_voters", "leader_id", "version", "voters")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "leader_id", "voters", "granting_voters")

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[LeaderChangeVoter] = EMPTY,
        granting_voters: list[LeaderChangeVoter] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version: int = version
        self.leader_id: int = leader_id
        self.voters: list[LeaderChangeVoter] = [] if voters is EMPTY else voters
        self.granting_voters: list[LeaderChangeVoter] = [] if granting_voters is EMPTY else granting_voters
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LeaderChangeMessage":
        if version < 0 or version > 1:
            raise no_such_version("LeaderChangeMessage", version)
        version_ = reader.int16()
        leader_id = reader.int32()
        voters: list[LeaderChangeVoter] = [
            LeaderChangeVoter.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        granting_voters: list[LeaderChangeVoter] = [
            LeaderChangeVoter.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return LeaderChangeMessage(version_, leader_id, voters, granting_voters, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("LeaderChangeMessage", version)
        writer.write_int16(self.version)
        writer.write_int32(self.leader_id)
        writer.write_compact_array_length(len(self.voters))
        for voters_element in self.voters:
            voters_element.encode(writer, version)
        writer.write_compact_array_length(len(self.granting_voters))
        for granting_voters_element in self.granting_voters:
            granting_voters_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SnapshotHeaderRecord(Message):
    __slots__ = ("last_contained_log_timestamp", "version")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "last_contained_log_timestamp")

    def __init__(
        self,
        version: int = 0,
        last_contained_log_timestamp: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version: int = version
        self.last_contained_log_timestamp: int = last_contained_log_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SnapshotHeaderRecord":
        if version != 0:
            raise no_such_version("SnapshotHeaderRecord", version)
        version_ = reader.int16()
        last_contained_log_timestamp = reader.int64()
        unknown = reader.tagged_fields()
        return SnapshotHeaderRecord(version_, last_contained_log_timestamp, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("SnapshotHeaderRecord", version)
        writer.write_int16(self.version)
        writer.write_int64(self.last_contained_log_timestamp)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SnapshotFooterRecord(Message):
    __slots__ = ("version",)

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("version",)

    def __init__(self, version: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.version: int = version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SnapshotFooterRecord":
        if version != 0:
            raise no_such_version("SnapshotFooterRecord", version)
        version_ = reader.int16()
        unknown = reader.tagged_fields()
        return SnapshotFooterRecord(version_, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("SnapshotFooterRecord", version)
        writer.write_int16(self.version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class KRaftVersionRecord(Message):
    __slots__ = ("kraft_version", "version")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "kraft_version")

    def __init__(
        self, version: int = 0, kraft_version: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.version: int = version
        self.kraft_version: int = kraft_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "KRaftVersionRecord":
        if version != 0:
            raise no_such_version("KRaftVersionRecord", version)
        version_ = reader.int16()
        kraft_version = reader.int16()
        unknown = reader.tagged_fields()
        return KRaftVersionRecord(version_, kraft_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("KRaftVersionRecord", version)
        writer.write_int16(self.version)
        writer.write_int16(self.kraft_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Endpoint(Struct):
    __slots__ = ("host", "name", "port")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port")

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.host: str = host
        self.port: int = port
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Endpoint":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        unknown = reader.tagged_fields()
        return Endpoint(name, host, port, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_compact_string(self.host)
        writer.write_uint16(self.port)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class KRaftVersionFeature(Struct):
    __slots__ = ("max_supported_version", "min_supported_version")

    FIELDS: ClassVar[tuple[str, ...]] = ("min_supported_version", "max_supported_version")

    def __init__(
        self,
        min_supported_version: int = 0,
        max_supported_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.min_supported_version: int = min_supported_version
        self.max_supported_version: int = max_supported_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "KRaftVersionFeature":
        min_supported_version = reader.int16()
        max_supported_version = reader.int16()
        unknown = reader.tagged_fields()
        return KRaftVersionFeature(min_supported_version, max_supported_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int16(self.min_supported_version)
        writer.write_int16(self.max_supported_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class Voter(Struct):
    __slots__ = ("endpoints", "kraft_version_feature", "voter_directory_id", "voter_id")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "voter_id",
        "voter_directory_id",
        "endpoints",
        "kraft_version_feature",
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        endpoints: list[Endpoint] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.endpoints: list[Endpoint] = [] if endpoints is EMPTY else endpoints
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "Voter":
        voter_id = reader.int32()
        voter_directory_id = reader.uuid()
        endpoints: list[Endpoint] = [
            Endpoint.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        kraft_version_feature = KRaftVersionFeature.decode(reader, version)
        unknown = reader.tagged_fields()
        return Voter(voter_id, voter_directory_id, endpoints, kraft_version_feature, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.voter_id)
        writer.write_uuid(self.voter_directory_id)
        writer.write_compact_array_length(len(self.endpoints))
        for endpoints_element in self.endpoints:
            endpoints_element.encode(writer, version)
        self.kraft_version_feature.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class VotersRecord(Message):
    __slots__ = ("version", "voters")

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "voters")

    def __init__(
        self,
        version: int = 0,
        voters: list[Voter] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.version: int = version
        self.voters: list[Voter] = [] if voters is EMPTY else voters
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "VotersRecord":
        if version != 0:
            raise no_such_version("VotersRecord", version)
        version_ = reader.int16()
        voters: list[Voter] = [Voter.decode(reader, version) for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return VotersRecord(version_, voters, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("VotersRecord", version)
        writer.write_int16(self.version)
        writer.write_compact_array_length(len(self.voters))
        for voters_element in self.voters:
            voters_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
