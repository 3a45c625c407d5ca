"""CreateDelegationToken: a token with which programs log in as its owner (KIP-48, KIP-373).

Generated from definitions/create_delegation_token.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class CreatableRenewers(Struct):
    __slots__ = ("principal_name", "principal_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("principal_type", "principal_name")

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreatableRenewers":
        flexible = version >= 2
        principal_type = reader.compact_string() if flexible else reader.string()
        principal_name = reader.compact_string() if flexible else reader.string()
        unknown = reader.tagged_fields() if flexible else ()
        return CreatableRenewers(principal_type, principal_name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.principal_type)
        else:
            writer.write_string(self.principal_type)
        if flexible:
            writer.write_compact_string(self.principal_name)
        else:
            writer.write_string(self.principal_name)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreateDelegationTokenRequest(Message):
    __slots__ = ("max_lifetime_ms", "owner_principal_name", "owner_principal_type", "renewers")

    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "owner_principal_type",
        "owner_principal_name",
        "renewers",
        "max_lifetime_ms",
    )

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreatableRenewers] = EMPTY,
        max_lifetime_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.owner_principal_type: str | None = owner_principal_type
        self.owner_principal_name: str | None = owner_principal_name
        self.renewers: list[CreatableRenewers] = [] if renewers is EMPTY else renewers
        self.max_lifetime_ms: int = max_lifetime_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreateDelegationTokenRequest":
        if version < 1 or version > 3:
            raise no_such_version("CreateDelegationTokenRequest", version)
        flexible = version >= 2
        owner_principal_type: str | None = ""
        if version >= 3:
            owner_principal_type = reader.compact_nullable_string()
        owner_principal_name: str | None = ""
        if version >= 3:
            owner_principal_name = reader.compact_nullable_string()
        renewers: list[CreatableRenewers] = [
            CreatableRenewers.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        max_lifetime_ms = reader.int64()
        unknown = reader.tagged_fields() if flexible else ()
        return CreateDelegationTokenRequest(
            owner_principal_type, owner_principal_name, renewers, max_lifetime_ms, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("CreateDelegationTokenRequest", version)
        flexible = version >= 2
        if version >= 3:
            writer.write_compact_nullable_string(self.owner_principal_type)
        elif self.owner_principal_type != "":
            raise not_in_version("CreateDelegationTokenRequest.owner_principal_type", version)
        if version >= 3:
            writer.write_compact_nullable_string(self.owner_principal_name)
        elif self.owner_principal_name != "":
            raise not_in_version("CreateDelegationTokenRequest.owner_principal_name", version)
        if flexible:
            writer.write_compact_array_length(len(self.renewers))
        else:
            writer.write_array_length(len(self.renewers))
        for renewers_element in self.renewers:
            renewers_element.encode(writer, version)
        writer.write_int64(self.max_lifetime_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreateDelegationTokenResponse(Message):
    __slots__ = (
        "error_code",
        "expiry_timestamp_ms",
        "hmac",
        "issue_timestamp_ms",
        "max_timestamp_ms",
        "principal_name",
        "principal_type",
        "throttle_time_ms",
        "token_id",
        "token_requester_principal_name",
        "token_requester_principal_type",
    )

    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.token_requester_principal_type: str = token_requester_principal_type
        self.token_requester_principal_name: str = token_requester_principal_name
        self.issue_timestamp_ms: int = issue_timestamp_ms
        self.expiry_timestamp_ms: int = expiry_timestamp_ms
        self.max_timestamp_ms: int = max_timestamp_ms
        self.token_id: str = token_id
        self.hmac: bytes = hmac
        self.throttle_time_ms: int = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreateDelegationTokenResponse":
        if version < 1 or version > 3:
            raise no_such_version("CreateDelegationTokenResponse", version)
        flexible = version >= 2
        error_code = reader.int16()
        principal_type = reader.compact_string() if flexible else reader.string()
        principal_name = reader.compact_string() if flexible else reader.string()
        token_requester_principal_type: str = ""
        if version >= 3:
            token_requester_principal_type = reader.compact_string()
        token_requester_principal_name: str = ""
        if version >= 3:
            token_requester_principal_name = reader.compact_string()
        issue_timestamp_ms = reader.int64()
        expiry_timestamp_ms = reader.int64()
        max_timestamp_ms = reader.int64()
        token_id = reader.compact_string() if flexible else reader.string()
        hmac = reader.compact_bytes() if flexible else reader.bytes_()
        throttle_time_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return CreateDelegationTokenResponse(
            error_code,
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp_ms,
            expiry_timestamp_ms,
            max_timestamp_ms,
            token_id,
            hmac,
            throttle_time_ms,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("CreateDelegationTokenResponse", version)
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_string(self.principal_type)
        else:
            writer.write_string(self.principal_type)
        if flexible:
            writer.write_compact_string(self.principal_name)
        else:
            writer.write_string(self.principal_name)
        if version >= 3:
            writer.write_compact_string(self.token_requester_principal_type)
        if version >= 3:
            writer.write_compact_string(self.token_requester_principal_name)
        writer.write_int64(self.issue_timestamp_ms)
        writer.write_int64(self.expiry_timestamp_ms)
        writer.write_int64(self.max_timestamp_ms)
        if flexible:
            writer.write_compact_string(self.token_id)
        else:
            writer.write_string(self.token_id)
        if flexible:
            writer.write_compact_bytes(self.hmac)
        else:
            writer.write_bytes(self.hmac)
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
