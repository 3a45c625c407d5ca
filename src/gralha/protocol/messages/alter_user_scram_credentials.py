"""AlterUserScramCredentials: sets and removes the SCRAM credentials of users (KIP-554).

Generated from definitions/alter_user_scram_credentials.kafka by gralha.protocol.compiler: change that, not
this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ScramCredentialDeletion(Struct):
    __slots__ = ("mechanism", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism")

    def __init__(
        self, name: str = "", mechanism: int = 0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ScramCredentialDeletion":
        name = reader.compact_string()
        mechanism = reader.int8()
        unknown = reader.tagged_fields()
        return ScramCredentialDeletion(name, mechanism, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int8(self.mechanism)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ScramCredentialUpsertion(Struct):
    __slots__ = ("iterations", "mechanism", "name", "salt", "salted_password")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism", "iterations", "salt", "salted_password")

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.mechanism: int = mechanism
        self.iterations: int = iterations
        self.salt: bytes = salt
        self.salted_password: bytes = salted_password
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ScramCredentialUpsertion":
        name = reader.compact_string()
        mechanism = reader.int8()
        iterations = reader.int32()
        salt = reader.compact_bytes()
        salted_password = reader.compact_bytes()
        unknown = reader.tagged_fields()
        return ScramCredentialUpsertion(name, mechanism, iterations, salt, salted_password, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int8(self.mechanism)
        writer.write_int32(self.iterations)
        writer.write_compact_bytes(self.salt)
        writer.write_compact_bytes(self.salted_password)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterUserScramCredentialsRequest(Message):
    __slots__ = ("deletions", "upsertions")

    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("deletions", "upsertions")

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = EMPTY,
        upsertions: list[ScramCredentialUpsertion] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.deletions: list[ScramCredentialDeletion] = [] if deletions is EMPTY else deletions
        self.upsertions: list[ScramCredentialUpsertion] = [] if upsertions is EMPTY else upsertions
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterUserScramCredentialsRequest":
        if version != 0:
            raise no_such_version("AlterUserScramCredentialsRequest", version)
        deletions: list[ScramCredentialDeletion] = [
            ScramCredentialDeletion.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        upsertions: list[ScramCredentialUpsertion] = [
            ScramCredentialUpsertion.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterUserScramCredentialsRequest(deletions, upsertions, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AlterUserScramCredentialsRequest", version)
        writer.write_compact_array_length(len(self.deletions))
        for deletions_element in self.deletions:
            deletions_element.encode(writer, version)
        writer.write_compact_array_length(len(self.upsertions))
        for upsertions_element in self.upsertions:
            upsertions_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterUserScramCredentialsResult(Struct):
    __slots__ = ("error_code", "error_message", "user")

    FIELDS: ClassVar[tuple[str, ...]] = ("user", "error_code", "error_message")

    def __init__(
        self,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.user: str = user
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterUserScramCredentialsResult":
        user = reader.compact_string()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return AlterUserScramCredentialsResult(user, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.user)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterUserScramCredentialsResponse(Message):
    __slots__ = ("results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[AlterUserScramCredentialsResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterUserScramCredentialsResponse":
        if version != 0:
            raise no_such_version("AlterUserScramCredentialsResponse", version)
        throttle_time_ms = reader.int32()
        results: list[AlterUserScramCredentialsResult] = [
            AlterUserScramCredentialsResult.decode(reader, version)
            for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return AlterUserScramCredentialsResponse(throttle_time_ms, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version != 0:
            raise no_such_version("AlterUserScramCredentialsResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_compact_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
