"""DescribeUserScramCredentials: the mechanisms and iterations of users who log in with SCRAM (KIP-554).

Generated from definitions/describe_user_scram_credentials.kafka by gralha.protocol.compiler: change that, not
this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class UserName(Struct):
    __slots__ = ("name",)

    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()) -> None:
        self.name: str = name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UserName":
        name = reader.compact_string()
        unknown = reader.tagged_fields()
        return UserName(name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeUserScramCredentialsRequest(Message):
    __slots__ = ("users",)

    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("users",)

    def __init__(
        self, users: list[UserName] | None = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.users: list[UserName] | None = [] if users is EMPTY else users
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeUserScramCredentialsRequest":
        if version != 0:
            raise no_such_version("DescribeUserScramCredentialsRequest", version)
        count = reader.compact_nullable_array_length()
        users: list[UserName] | None = (
            [UserName.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        unknown = reader.tagged_fields()
        return DescribeUserScramCredentialsRequest(users, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeUserScramCredentialsRequest", version)
        if self.users is None:
            writer.write_compact_array_length(-1)
        else:
            writer.write_compact_array_length(len(self.users))
            for users_element in self.users:
                users_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CredentialInfo(Struct):
    __slots__ = ("iterations", "mechanism")

    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism", "iterations")

    def __init__(
        self, mechanism: int = 0, iterations: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.mechanism: int = mechanism
        self.iterations: int = iterations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CredentialInfo":
        mechanism = reader.int8()
        iterations = reader.int32()
        unknown = reader.tagged_fields()
        return CredentialInfo(mechanism, iterations, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_int8(self.mechanism)
        writer.write_int32(self.iterations)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeUserScramCredentialsResult(Struct):
    __slots__ = ("credential_infos", "error_code", "error_message", "user")

    FIELDS: ClassVar[tuple[str, ...]] = ("user", "error_code", "error_message", "credential_infos")

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        credential_infos: list[CredentialInfo] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.user: str = user
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.credential_infos: list[CredentialInfo] = [] if credential_infos is EMPTY else credential_infos
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeUserScramCredentialsResult":
        user = reader.compact_string()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        credential_infos: list[CredentialInfo] = [
            CredentialInfo.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeUserScramCredentialsResult(user, error_code, error_message, credential_infos, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.user)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_array_length(len(self.credential_infos))
        for credential_infos_element in self.credential_infos:
            credential_infos_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeUserScramCredentialsResponse(Message):
    __slots__ = ("error_code", "error_message", "results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.results: list[DescribeUserScramCredentialsResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeUserScramCredentialsResponse":
        if version != 0:
            raise no_such_version("DescribeUserScramCredentialsResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        results: list[DescribeUserScramCredentialsResult] = [
            DescribeUserScramCredentialsResult.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return DescribeUserScramCredentialsResponse(
            throttle_time_ms, error_code, error_message, results, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("DescribeUserScramCredentialsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_compact_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
