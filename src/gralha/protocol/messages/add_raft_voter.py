"""AddRaftVoter: make a controller a voter of the quorum (KIP-853).

Generated from definitions/add_raft_voter.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
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
class AddRaftVoterRequest(Message):
    __slots__ = (
        "ack_when_committed",
        "cluster_id",
        "listeners",
        "timeout_ms",
        "voter_directory_id",
        "voter_id",
    )

    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        listeners: list[Listener] = EMPTY,
        ack_when_committed: bool = True,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.cluster_id: str | None = cluster_id
        self.timeout_ms: int = timeout_ms
        self.voter_id: int = voter_id
        self.voter_directory_id: bytes = voter_directory_id
        self.listeners: list[Listener] = [] if listeners is EMPTY else listeners
        self.ack_when_committed: bool = ack_when_committed
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AddRaftVoterRequest":
        if version < 0 or version > 1:
            raise no_such_version("AddRaftVoterRequest", version)
        cluster_id = reader.compact_nullable_string()
        timeout_ms = reader.int32()
        voter_id = reader.int32()
        voter_directory_id = reader.uuid()
        listeners: list[Listener] = [
            Listener.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        ack_when_committed: bool = True
        if version >= 1:
            ack_when_committed = reader.boolean()
        unknown = reader.tagged_fields()
        return AddRaftVoterRequest(
            cluster_id, timeout_ms, voter_id, voter_directory_id, listeners, ack_when_committed, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("AddRaftVoterRequest", version)
        writer.write_compact_nullable_string(self.cluster_id)
        writer.write_int32(self.timeout_ms)
        writer.write_int32(self.voter_id)
        writer.write_uuid(self.voter_directory_id)
        writer.write_compact_array_length(len(self.listeners))
        for listeners_element in self.listeners:
            listeners_element.encode(writer, version)
        if version >= 1:
            writer.write_boolean(self.ack_when_committed)
        elif not self.ack_when_committed:
            raise not_in_version("AddRaftVoterRequest.ack_when_committed", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AddRaftVoterResponse(Message):
    __slots__ = ("error_code", "error_message", "throttle_time_ms")

    API_KEY: ClassVar[int] = 80
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
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
    def decode(reader: Reader, version: i64) -> "AddRaftVoterResponse":
        if version < 0 or version > 1:
            raise no_such_version("AddRaftVoterResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return AddRaftVoterResponse(throttle_time_ms, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("AddRaftVoterResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)
