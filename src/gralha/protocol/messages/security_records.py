"""Records of the metadata log about access control lists, SCRAM credentials and delegation tokens.

Generated from definitions/security_records.kafka by gralha.protocol.compiler: change that, not this.
"""

# ruff: noqa: A002

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, no_such_version
from gralha.protocol.primitives import ZERO_UUID, Reader, TaggedField, Writer


@final
class DelegationTokenRecord(Message):
    __slots__ = (
        "expiration_timestamp",
        "issue_timestamp",
        "max_timestamp",
        "owner",
        "renewers",
        "requester",
        "token_id",
    )

    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "owner",
        "requester",
        "renewers",
        "issue_timestamp",
        "max_timestamp",
        "expiration_timestamp",
        "token_id",
    )

    def __init__(
        self,
        owner: str = "",
        requester: str = "",
        renewers: list[str] = EMPTY,
        issue_timestamp: int = 0,
        max_timestamp: int = 0,
        expiration_timestamp: int = 0,
        token_id: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.owner: str = owner
        self.requester: str = requester
        self.renewers: list[str] = [] if renewers is EMPTY else renewers
        self.issue_timestamp: int = issue_timestamp
        self.max_timestamp: int = max_timestamp
        self.expiration_timestamp: int = expiration_timestamp
        self.token_id: str = token_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DelegationTokenRecord":
        if version != 0:
            raise no_such_version("DelegationTokenRecord", version)
        owner = reader.compact_string()
        requester = reader.compact_string()
        renewers: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        issue_timestamp = reader.int64()
        max_timestamp = reader.int64()
        expiration_timestamp = reader.int64()
        token_id = reader.compact_string()
        unknown = reader.tagged_fields()
        return DelegationTokenRecord(
            owner,
            requester,
            renewers,
            issue_timestamp,
            max_timestamp,
            expiration_timestamp,
            token_id,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DelegationTokenRecord", version)
        writer.write_compact_string(self.owner)
        writer.write_compact_string(self.requester)
        writer.write_compact_array_length(len(self.renewers))
        for renewers_element in self.renewers:
            writer.write_compact_string(renewers_element)
        writer.write_int64(self.issue_timestamp)
        writer.write_int64(self.max_timestamp)
        writer.write_int64(self.expiration_timestamp)
        writer.write_compact_string(self.token_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RemoveDelegationTokenRecord(Message):
    __slots__ = ("token_id",)

    API_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("token_id",)

    def __init__(self, token_id: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.token_id: str = token_id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RemoveDelegationTokenRecord":
        if version != 0:
            raise no_such_version("RemoveDelegationTokenRecord", version)
        token_id = reader.compact_string()
        unknown = reader.tagged_fields()
        return RemoveDelegationTokenRecord(token_id, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RemoveDelegationTokenRecord", version)
        writer.write_compact_string(self.token_id)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UserScramCredentialRecord(Message):
    __slots__ = ("iterations", "mechanism", "name", "salt", "server_key", "stored_key")

    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "mechanism",
        "salt",
        "stored_key",
        "server_key",
        "iterations",
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.salt: bytes = salt
        self.stored_key: bytes = stored_key
        self.server_key: bytes = server_key
        self.iterations: int = iterations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UserScramCredentialRecord":
        if version != 0:
            raise no_such_version("UserScramCredentialRecord", version)
        name = reader.compact_string()
        mechanism = reader.int8()
        salt = reader.compact_bytes()
        stored_key = reader.compact_bytes()
        server_key = reader.compact_bytes()
        iterations = reader.int32()
        unknown = reader.tagged_fields()
        return UserScramCredentialRecord(name, mechanism, salt, stored_key, server_key, iterations, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("UserScramCredentialRecord", version)
        writer.write_compact_string(self.name)
        writer.write_int8(self.mechanism)
        writer.write_compact_bytes(self.salt)
        writer.write_compact_bytes(self.stored_key)
        writer.write_compact_bytes(self.server_key)
        writer.write_int32(self.iterations)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RemoveUserScramCredentialRecord(Message):
    __slots__ = ("mechanism", "name")

    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism")

    def __init__(
        self, name: str = "", mechanism: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RemoveUserScramCredentialRecord":
        if version != 0:
            raise no_such_version("RemoveUserScramCredentialRecord", version)
        name = reader.compact_string()
        mechanism = reader.int8()
        unknown = reader.tagged_fields()
        return RemoveUserScramCredentialRecord(name, mechanism, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RemoveUserScramCredentialRecord", version)
        writer.write_compact_string(self.name)
        writer.write_int8(self.mechanism)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AccessControlEntryRecord(Message):
    __slots__ = (
        "host",
        "id",
        "operation",
        "pattern_type",
        "permission_type",
        "principal",
        "resource_name",
        "resource_type",
    )

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = (
        "id",
        "resource_type",
        "resource_name",
        "pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    def __init__(
        self,
        id: bytes = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.id: bytes = id
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AccessControlEntryRecord":
        if version != 0:
            raise no_such_version("AccessControlEntryRecord", version)
        id_ = reader.uuid()
        resource_type = reader.int8()
        resource_name = reader.compact_string()
        pattern_type = reader.int8()
        principal = reader.compact_string()
        host = reader.compact_string()
        operation = reader.int8()
        permission_type = reader.int8()
        unknown = reader.tagged_fields()
        return AccessControlEntryRecord(
            id_,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AccessControlEntryRecord", version)
        writer.write_uuid(self.id)
        writer.write_int8(self.resource_type)
        writer.write_compact_string(self.resource_name)
        writer.write_int8(self.pattern_type)
        writer.write_compact_string(self.principal)
        writer.write_compact_string(self.host)
        writer.write_int8(self.operation)
        writer.write_int8(self.permission_type)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class RemoveAccessControlEntryRecord(Message):
    __slots__ = ("id",)

    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("id",)

    def __init__(self, id: bytes = ZERO_UUID, unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.id: bytes = id
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "RemoveAccessControlEntryRecord":
        if version != 0:
            raise no_such_version("RemoveAccessControlEntryRecord", version)
        id_ = reader.uuid()
        unknown = reader.tagged_fields()
        return RemoveAccessControlEntryRecord(id_, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("RemoveAccessControlEntryRecord", version)
        writer.write_uuid(self.id)
        writer.write_tagged_fields(self.unknown_tagged_fields)
