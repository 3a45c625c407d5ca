"""DescribeDelegationToken: the tokens of owners and renewers (KIP-48).

Generated from definitions/describe_delegation_token.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribeDelegationTokenOwner(Struct):
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
    def decode(reader: Reader, version: i64) -> "DescribeDelegationTokenOwner":
        flexible = version >= 2
        principal_type = reader.compact_string() if flexible else reader.string()
        principal_name = reader.compact_string() if flexible else reader.string()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeDelegationTokenOwner(principal_type, principal_name, unknown)

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
class DescribeDelegationTokenRequest(Message):
    __slots__ = ("owners",)

    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("owners",)

    def __init__(
        self,
        owners: list[DescribeDelegationTokenOwner] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.owners: list[DescribeDelegationTokenOwner] | None = [] if owners is EMPTY else owners
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeDelegationTokenRequest":
        if version < 1 or version > 3:
            raise no_such_version("DescribeDelegationTokenRequest", version)
        flexible = version >= 2
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        owners: list[DescribeDelegationTokenOwner] | None = (
            [DescribeDelegationTokenOwner.decode(reader, version) for _ in range(count)]
            if count >= 0
            else None
        )
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeDelegationTokenRequest(owners, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("DescribeDelegationTokenRequest", version)
        flexible = version >= 2
        if self.owners is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.owners))
            else:
                writer.write_array_length(len(self.owners))
            for owners_element in self.owners:
                owners_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribedDelegationTokenRenewer(Struct):
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
    def decode(reader: Reader, version: i64) -> "DescribedDelegationTokenRenewer":
        flexible = version >= 2
        principal_type = reader.compact_string() if flexible else reader.string()
        principal_name = reader.compact_string() if flexible else reader.string()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribedDelegationTokenRenewer(principal_type, principal_name, unknown)

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
class DescribedDelegationToken(Struct):
    __slots__ = (
        "expiry_timestamp",
        "hmac",
        "issue_timestamp",
        "max_timestamp",
        "principal_name",
        "principal_type",
        "renewers",
        "token_id",
        "token_requester_principal_name",
        "token_requester_principal_type",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
    )

    def __init__(
        self,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: list[DescribedDelegationTokenRenewer] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal_type: str = principal_type
        self.principal_name: str = principal_name
        self.token_requester_principal_type: str = token_requester_principal_type
        self.token_requester_principal_name: str = token_requester_principal_name
        self.issue_timestamp: int = issue_timestamp
        self.expiry_timestamp: int = expiry_timestamp
        self.max_timestamp: int = max_timestamp
        self.token_id: str = token_id
        self.hmac: bytes = hmac
        self.renewers: list[DescribedDelegationTokenRenewer] = [] if renewers is EMPTY else renewers
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribedDelegationToken":
        flexible = version >= 2
        principal_type = reader.compact_string() if flexible else reader.string()
        principal_name = reader.compact_string() if flexible else reader.string()
        token_requester_principal_type: str = ""
        if version >= 3:
            token_requester_principal_type = reader.compact_string()
        token_requester_principal_name: str = ""
        if version >= 3:
            token_requester_principal_name = reader.compact_string()
        issue_timestamp = reader.int64()
        expiry_timestamp = reader.int64()
        max_timestamp = reader.int64()
        token_id = reader.compact_string() if flexible else reader.string()
        hmac = reader.compact_bytes() if flexible else reader.bytes_()
        renewers: list[DescribedDelegationTokenRenewer] = [
            DescribedDelegationTokenRenewer.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribedDelegationToken(
            principal_type,
            principal_name,
            token_requester_principal_type,
            token_requester_principal_name,
            issue_timestamp,
            expiry_timestamp,
            max_timestamp,
            token_id,
            hmac,
            renewers,
            unknown,
        )

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
        if version >= 3:
            writer.write_compact_string(self.token_requester_principal_type)
        if version >= 3:
            writer.write_compact_string(self.token_requester_principal_name)
        writer.write_int64(self.issue_timestamp)
        writer.write_int64(self.expiry_timestamp)
        writer.write_int64(self.max_timestamp)
        if flexible:
            writer.write_compact_string(self.token_id)
        else:
            writer.write_string(self.token_id)
        if flexible:
            writer.write_compact_bytes(self.hmac)
        else:
            writer.write_bytes(self.hmac)
        if flexible:
            writer.write_compact_array_length(len(self.renewers))
        else:
            writer.write_array_length(len(self.renewers))
        for renewers_element in self.renewers:
            renewers_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeDelegationTokenResponse(Message):
    __slots__ = ("error_code", "throttle_time_ms", "tokens")

    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "tokens", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,
        tokens: list[DescribedDelegationToken] = EMPTY,
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.tokens: list[DescribedDelegationToken] = [] if tokens is EMPTY else tokens
        self.throttle_time_ms: int = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeDelegationTokenResponse":
        if version < 1 or version > 3:
            raise no_such_version("DescribeDelegationTokenResponse", version)
        flexible = version >= 2
        error_code = reader.int16()
        tokens: list[DescribedDelegationToken] = [
            DescribedDelegationToken.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        throttle_time_ms = reader.int32()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("DescribeDelegationTokenResponse", version)
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_array_length(len(self.tokens))
        else:
            writer.write_array_length(len(self.tokens))
        for tokens_element in self.tokens:
            tokens_element.encode(writer, version)
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
