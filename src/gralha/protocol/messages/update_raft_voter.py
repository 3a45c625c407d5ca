"""UpdateRaftVoter: a voter tells the leader where it listens and which kraft.version it can (KIP-853).

Generated from definitions/update_raft_voter.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class Listener(Struct):
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
    def decode(reader: Reader, version: i64) -> "Listener":
        name = reader.compact_string()
        host = reader.compact_string()
        port = reader.uint16()
        unknown = reader.tagged_fields()
        return Listener(name, host, port, unknown)

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
class UpdateRaftVoterRequest(Message):
    __slots__ = (
        "cluster_id",
        "current_leader_epoch",
        "kraft_version_feature",
        "listeners",
        "voter_directory_id",
        "voter_id",
    )

    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "current_leader_epoch",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "kraft_version_feature",
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        current_leader_epoch: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        kraft_version_feature: KRaftVersionFeature | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.current_leader_epoch: int = current_leader_epoch
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.kraft_version_feature: KRaftVersionFeature = (
            KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature
        )
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UpdateRaftVoterRequest":
        if version != 0:
            raise no_such_version("UpdateRaftVoterRequest", version)
        cluster_id = reader.compact_nullable_string()
        current_leader_epoch = reader.int32()
        voter_id = reader.int32()
        voter_directory_id = reader.uuid()
        listeners: list[Listener] = [
            Listener.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        kraft_version_feature = KRaftVersionFeature.decode(reader, version)
        unknown = reader.tagged_fields()
        return UpdateRaftVoterRequest(
            cluster_id,
            current_leader_epoch,
            voter_id,
            voter_directory_id,
            listeners,
            kraft_version_feature,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UpdateRaftVoterRequest", version)
        writer.write_compact_nullable_string(self.cluster_id)
        writer.write_int32(self.current_leader_epoch)
        writer.write_int32(self.voter_id)
        writer.write_uuid(self.voter_directory_id)
        writer.write_compact_array_length(len(self.listeners))
        for listeners_element in self.listeners:
            listeners_element.encode(writer, version)
        self.kraft_version_feature.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CurrentLeader(Struct):
    __slots__ = ("host", "leader_epoch", "leader_id", "port")

    FIELDS: ClassVar[tuple[str, ...]] = ("leader_id", "leader_epoch", "host", "port")

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.leader_id: int = leader_id
        self.leader_epoch: int = leader_epoch
        self.host: str = host
        self.port: int = port
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CurrentLeader":
        leader_id = reader.int32()
        leader_epoch = reader.int32()
        host = reader.compact_string()
        port = reader.int32()
        unknown = reader.tagged_fields()
        return CurrentLeader(leader_id, leader_epoch, host, port, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int32(self.leader_id)
        writer.write_int32(self.leader_epoch)
        writer.write_compact_string(self.host)
        writer.write_int32(self.port)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UpdateRaftVoterResponse(Message):
    __slots__ = ("current_leader", "error_code", "throttle_time_ms")

    API_KEY: ClassVar[int] = 82
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "current_leader")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.current_leader: CurrentLeader | None = current_leader
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UpdateRaftVoterResponse":
        if version != 0:
            raise no_such_version("UpdateRaftVoterResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        current_leader: CurrentLeader | None = None
        unknown: tuple[TaggedField, ...] = ()
        tags = reader.unsigned_varint()
        if tags > 0:
            kept: list[TaggedField] = []
            tag: i64 = -1
            for _ in range(tags):
                tag = reader.next_tag(tag)
                end = reader.tagged_field_end()
                if tag == 0:
                    current_leader = CurrentLeader.decode(reader, version)
                else:
                    kept.append((tag, reader.raw(end - reader.position)))
                reader.expect_end(end)
            unknown = tuple(kept)
        return UpdateRaftVoterResponse(throttle_time_ms, error_code, current_leader, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UpdateRaftVoterResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        tagged = self.unknown_tagged_fields
        if self.current_leader is not None:
            part = Writer()
            self.current_leader.encode(part, version)
            tagged = (*tagged, (0, part.to_bytes()))
        writer.write_tagged_fields(tagged)
