"""RemoveRaftVoter: make a voter of the quorum an observer again (KIP-853).

Generated from definitions/remove_raft_voter.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import Message, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class RemoveRaftVoterRequest(Message):
    __slots__ = ("cluster_id", "voter_directory_id", "voter_id")

    API_KEY: ClassVar[int] = 81
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "voter_id", "voter_directory_id")

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RemoveRaftVoterRequest":
        if version != 0:
            raise no_such_version("RemoveRaftVoterRequest", version)
        cluster_id = reader.compact_nullable_string()
        voter_id = reader.int32()
        voter_directory_id = reader.uuid()
        unknown = reader.tagged_fields()
        return RemoveRaftVoterRequest(cluster_id, voter_id, voter_directory_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RemoveRaftVoterRequest", version)
        writer.write_compact_nullable_string(self.cluster_id)
        writer.write_int32(self.voter_id)
        writer.write_uuid(self.voter_directory_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RemoveRaftVoterResponse(Message):
    __slots__ = ("error_code", "error_message", "throttle_time_ms")

    API_KEY: ClassVar[int] = 81
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
    def decode(reader: Reader, version: i64) -> "RemoveRaftVoterResponse":
        if version != 0:
            raise no_such_version("RemoveRaftVoterResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return RemoveRaftVoterResponse(throttle_time_ms, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RemoveRaftVoterResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)
