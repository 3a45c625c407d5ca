"""JoinGroup: become a member of a classic group, or stay one when it rebalances.

Answered when every member has joined or their time is up; the leader then hears who they are.
The first join of a member without a name gets one, and an error that makes it join again (KIP-394).

Generated from definitions/join_group.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version, null_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class JoinGroupRequestProtocol(Struct):
    __slots__ = ("metadata", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "metadata")

    def __init__(
        self, name: str = "", metadata: bytes = b"", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.metadata: bytes = metadata
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "JoinGroupRequestProtocol":
        flexible = version >= 6
        name = reader.compact_string() if flexible else reader.string()
        metadata = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return JoinGroupRequestProtocol(name, metadata, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_bytes(self.metadata)
        else:
            writer.write_bytes(self.metadata)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class JoinGroupRequest(Message):
    __slots__ = (
        "group_id",
        "group_instance_id",
        "member_id",
        "protocol_type",
        "protocols",
        "reason",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    )

    def __init__(
        self,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = EMPTY,
        reason: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.session_timeout_ms: int = session_timeout_ms
        self.rebalance_timeout_ms: int = rebalance_timeout_ms
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.protocol_type: str = protocol_type
        self.protocols: list[JoinGroupRequestProtocol] = [] if protocols is EMPTY else protocols
        self.reason: str | None = reason
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "JoinGroupRequest":
        if version < 0 or version > 9:
            raise no_such_version("JoinGroupRequest", version)
        flexible = version >= 6
        group_id = reader.compact_string() if flexible else reader.string()
        session_timeout_ms = reader.int32()
        rebalance_timeout_ms: int = -1
        if version >= 1:
            rebalance_timeout_ms = reader.int32()
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 5:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_type = reader.compact_string() if flexible else reader.string()
        protocols: list[JoinGroupRequestProtocol] = [
            JoinGroupRequestProtocol.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        reason: str | None = None
        if version >= 8:
            reason = reader.compact_nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return JoinGroupRequest(
            group_id,
            session_timeout_ms,
            rebalance_timeout_ms,
            member_id,
            group_instance_id,
            protocol_type,
            protocols,
            reason,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 9:
            raise no_such_version("JoinGroupRequest", version)
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        writer.write_int32(self.session_timeout_ms)
        if version >= 1:
            writer.write_int32(self.rebalance_timeout_ms)
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if version >= 5:
            if flexible:
                writer.write_compact_nullable_string(self.group_instance_id)
            else:
                writer.write_nullable_string(self.group_instance_id)
        elif self.group_instance_id is not None:
            raise not_in_version("JoinGroupRequest.group_instance_id", version)
        if flexible:
            writer.write_compact_string(self.protocol_type)
        else:
            writer.write_string(self.protocol_type)
        if flexible:
            writer.write_compact_array_length(len(self.protocols))
        else:
            writer.write_array_length(len(self.protocols))
        for protocols_element in self.protocols:
            protocols_element.encode(writer, version)
        if version >= 8:
            writer.write_compact_nullable_string(self.reason)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class JoinGroupResponseMember(Struct):
    __slots__ = ("group_instance_id", "member_id", "metadata")

    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "metadata")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.metadata: bytes = metadata
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "JoinGroupResponseMember":
        flexible = version >= 6
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 5:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        metadata = reader.compact_bytes() if flexible else reader.bytes_()
        unknown = reader.tagged_fields() if flexible else ()
        return JoinGroupResponseMember(member_id, group_instance_id, metadata, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 6
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if version >= 5:
            if flexible:
                writer.write_compact_nullable_string(self.group_instance_id)
            else:
                writer.write_nullable_string(self.group_instance_id)
        if flexible:
            writer.write_compact_bytes(self.metadata)
        else:
            writer.write_bytes(self.metadata)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class JoinGroupResponse(Message):
    __slots__ = (
        "error_code",
        "generation_id",
        "leader",
        "member_id",
        "members",
        "protocol_name",
        "protocol_type",
        "skip_assignment",
        "throttle_time_ms",
    )

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6
    FIELDS: ClassVar[tuple[str, ...]] = (
        "throttle_time_ms",
        "error_code",
        "generation_id",
        "protocol_type",
        "protocol_name",
        "leader",
        "skip_assignment",
        "member_id",
        "members",
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.generation_id: int = generation_id
        self.protocol_type: str | None = protocol_type
        self.protocol_name: str | None = protocol_name
        self.leader: str = leader
        self.skip_assignment: bool = skip_assignment
        self.member_id: str = member_id
        self.members: list[JoinGroupResponseMember] = [] if members is EMPTY else members
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "JoinGroupResponse":
        if version < 0 or version > 9:
            raise no_such_version("JoinGroupResponse", version)
        flexible = version >= 6
        throttle_time_ms: int = 0
        if version >= 2:
            throttle_time_ms = reader.int32()
        error_code = reader.int16()
        generation_id = reader.int32()
        protocol_type: str | None = None
        if version >= 7:
            protocol_type = reader.compact_nullable_string()
        protocol_name: str | None = ""
        if version >= 7:
            protocol_name = reader.compact_nullable_string()
        else:
            protocol_name = reader.compact_string() if flexible else reader.string()
        leader = reader.compact_string() if flexible else reader.string()
        skip_assignment: bool = False
        if version >= 9:
            skip_assignment = reader.boolean()
        member_id = reader.compact_string() if flexible else reader.string()
        members: list[JoinGroupResponseMember] = [
            JoinGroupResponseMember.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return JoinGroupResponse(
            throttle_time_ms,
            error_code,
            generation_id,
            protocol_type,
            protocol_name,
            leader,
            skip_assignment,
            member_id,
            members,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 9:
            raise no_such_version("JoinGroupResponse", version)
        flexible = version >= 6
        if version >= 2:
            writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_int32(self.generation_id)
        if version >= 7:
            writer.write_compact_nullable_string(self.protocol_type)
        if version >= 7:
            writer.write_compact_nullable_string(self.protocol_name)
        else:
            if self.protocol_name is None:
                raise null_in_version("JoinGroupResponse.protocol_name", version)
            if flexible:
                writer.write_compact_string(self.protocol_name)
            else:
                writer.write_string(self.protocol_name)
        if flexible:
            writer.write_compact_string(self.leader)
        else:
            writer.write_string(self.leader)
        if version >= 9:
            writer.write_boolean(self.skip_assignment)
        elif self.skip_assignment:
            raise not_in_version("JoinGroupResponse.skip_assignment", version)
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if flexible:
            writer.write_compact_array_length(len(self.members))
        else:
            writer.write_array_length(len(self.members))
        for members_element in self.members:
            members_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
