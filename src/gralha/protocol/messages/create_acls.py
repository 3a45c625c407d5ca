"""CreateAcls: add access control lists.

Generated from definitions/create_acls.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class AclCreation(Struct):
    __slots__ = (
        "host",
        "operation",
        "permission_type",
        "principal",
        "resource_name",
        "resource_pattern_type",
        "resource_type",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.resource_pattern_type: int = resource_pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AclCreation":
        flexible = version >= 2
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        resource_pattern_type = reader.int8()
        principal = reader.compact_string() if flexible else reader.string()
        host = reader.compact_string() if flexible else reader.string()
        operation = reader.int8()
        permission_type = reader.int8()
        unknown = reader.tagged_fields() if flexible else ()
        return AclCreation(
            resource_type,
            resource_name,
            resource_pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int8(self.resource_type)
        if flexible:
            writer.write_compact_string(self.resource_name)
        else:
            writer.write_string(self.resource_name)
        writer.write_int8(self.resource_pattern_type)
        if flexible:
            writer.write_compact_string(self.principal)
        else:
            writer.write_string(self.principal)
        if flexible:
            writer.write_compact_string(self.host)
        else:
            writer.write_string(self.host)
        writer.write_int8(self.operation)
        writer.write_int8(self.permission_type)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreateAclsRequest(Message):
    __slots__ = ("creations",)

    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("creations",)

    def __init__(
        self, creations: list[AclCreation] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.creations: list[AclCreation] = [] if creations is EMPTY else creations
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreateAclsRequest":
        if version < 1 or version > 3:
            raise no_such_version("CreateAclsRequest", version)
        flexible = version >= 2
        creations: list[AclCreation] = [
            AclCreation.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreateAclsRequest(creations, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("CreateAclsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.creations))
        else:
            writer.write_array_length(len(self.creations))
        for creations_element in self.creations:
            creations_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AclCreationResult(Struct):
    __slots__ = ("error_code", "error_message")

    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AclCreationResult":
        flexible = version >= 2
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return AclCreationResult(error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class CreateAclsResponse(Message):
    __slots__ = ("results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 30
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[AclCreationResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "CreateAclsResponse":
        if version < 1 or version > 3:
            raise no_such_version("CreateAclsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        results: list[AclCreationResult] = [
            AclCreationResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return CreateAclsResponse(throttle_time_ms, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("CreateAclsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.results))
        else:
            writer.write_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
