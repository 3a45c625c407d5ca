"""LeaveGroup: members leave a classic group.

From version 3 on several at once, so that an administrator can remove static members (KIP-345).

Generated from definitions/leave_group.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class MemberIdentity(Struct):
    __slots__ = ("group_instance_id", "member_id", "reason")

    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "reason")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.reason: str | None = reason
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MemberIdentity":
        flexible = version >= 4
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        reason: str | None = None
        if version >= 5:
            reason = reader.compact_nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return MemberIdentity(member_id, group_instance_id, reason, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if flexible:
            writer.write_compact_nullable_string(self.group_instance_id)
        else:
            writer.write_nullable_string(self.group_instance_id)
        if version >= 5:
            writer.write_compact_nullable_string(self.reason)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class LeaveGroupRequest(Message):
    __slots__ = ("group_id", "member_id", "members")

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "member_id", "members")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.group_id: str = group_id
        self.member_id: str = member_id
        self.members: list[MemberIdentity] = [] if members is EMPTY else members
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LeaveGroupRequest":
        if version < 0 or version > 5:
            raise no_such_version("LeaveGroupRequest", version)
        flexible = version >= 4
        group_id = reader.compact_string() if flexible else reader.string()
        member_id: str = ""
        if version <= 2:
            member_id = reader.string()
        members: list[MemberIdentity] = []
        if version >= 3:
            members = [
                MemberIdentity.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return LeaveGroupRequest(group_id, member_id, members, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("LeaveGroupRequest", version)
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.group_id)
        else:
            writer.write_string(self.group_id)
        if version <= 2:
            writer.write_string(self.member_id)
        elif self.member_id != "":
            raise not_in_version("LeaveGroupRequest.member_id", version)
        if version >= 3:
            if flexible:
                writer.write_compact_array_length(len(self.members))
            else:
                writer.write_array_length(len(self.members))
            for members_element in self.members:
                members_element.encode(writer, version)
        elif self.members:
            raise not_in_version("LeaveGroupRequest.members", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class MemberResponse(Struct):
    __slots__ = ("error_code", "group_instance_id", "member_id")

    FIELDS: ClassVar[tuple[str, ...]] = ("member_id", "group_instance_id", "error_code")

    def __init__(
        self,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.member_id: str = member_id
        self.group_instance_id: str | None = group_instance_id
        self.error_code: int = error_code
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "MemberResponse":
        flexible = version >= 4
        member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        error_code = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return MemberResponse(member_id, group_instance_id, error_code, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.member_id)
        else:
            writer.write_string(self.member_id)
        if flexible:
            writer.write_compact_nullable_string(self.group_instance_id)
        else:
            writer.write_nullable_string(self.group_instance_id)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class LeaveGroupResponse(Message):
    __slots__ = ("error_code", "members", "throttle_time_ms")

    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "members")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.members: list[MemberResponse] = [] if members is EMPTY else members
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "LeaveGroupResponse":
        if version < 0 or version > 5:
            raise no_such_version("LeaveGroupResponse", version)
        flexible = version >= 4
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code = reader.int16()
        members: list[MemberResponse] = []
        if version >= 3:
            members = [
                MemberResponse.decode(reader, version)
                for _ in range(reader.compact_array_length() if flexible else reader.array_length())
            ]
        unknown = reader.tagged_fields() if flexible else ()
        return LeaveGroupResponse(throttle_time_ms, error_code, members, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 5:
            raise no_such_version("LeaveGroupResponse", version)
        flexible = version >= 4
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if version >= 3:
            if flexible:
                writer.write_compact_array_length(len(self.members))
            else:
                writer.write_array_length(len(self.members))
            for members_element in self.members:
                members_element.encode(writer, version)
        elif self.members:
            raise not_in_version("LeaveGroupResponse.members", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
