"""DescribeAcls: the access control lists that match a filter, grouped by resource pattern.

Generated from definitions/describe_acls.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribeAclsRequest(Message):
    __slots__ = (
        "host_filter",
        "operation",
        "pattern_type_filter",
        "permission_type",
        "principal_filter",
        "resource_name_filter",
        "resource_type_filter",
    )

    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type_filter: int = resource_type_filter
        self.resource_name_filter: str | None = resource_name_filter
        self.pattern_type_filter: int = pattern_type_filter
        self.principal_filter: str | None = principal_filter
        self.host_filter: str | None = host_filter
        self.operation: int = operation
        self.permission_type: int = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeAclsRequest":
        if version < 1 or version > 3:
            raise no_such_version("DescribeAclsRequest", version)
        flexible = version >= 2
        resource_type_filter = reader.int8()
        resource_name_filter = reader.compact_nullable_string() if flexible else reader.nullable_string()
        pattern_type_filter = reader.int8()
        principal_filter = reader.compact_nullable_string() if flexible else reader.nullable_string()
        host_filter = reader.compact_nullable_string() if flexible else reader.nullable_string()
        operation = reader.int8()
        permission_type = reader.int8()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeAclsRequest(
            resource_type_filter,
            resource_name_filter,
            pattern_type_filter,
            principal_filter,
            host_filter,
            operation,
            permission_type,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("DescribeAclsRequest", version)
        flexible = version >= 2
        writer.write_int8(self.resource_type_filter)
        if flexible:
            writer.write_compact_nullable_string(self.resource_name_filter)
        else:
            writer.write_nullable_string(self.resource_name_filter)
        writer.write_int8(self.pattern_type_filter)
        if flexible:
            writer.write_compact_nullable_string(self.principal_filter)
        else:
            writer.write_nullable_string(self.principal_filter)
        if flexible:
            writer.write_compact_nullable_string(self.host_filter)
        else:
            writer.write_nullable_string(self.host_filter)
        writer.write_int8(self.operation)
        writer.write_int8(self.permission_type)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AclDescription(Struct):
    __slots__ = ("host", "operation", "permission_type", "principal")

    FIELDS: ClassVar[tuple[str, ...]] = ("principal", "host", "operation", "permission_type")

    def __init__(
        self,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AclDescription":
        flexible = version >= 2
        principal = reader.compact_string() if flexible else reader.string()
        host = reader.compact_string() if flexible else reader.string()
        operation = reader.int8()
        permission_type = reader.int8()
        unknown = reader.tagged_fields() if flexible else ()
        return AclDescription(principal, host, operation, permission_type, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
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
class DescribeAclsResource(Struct):
    __slots__ = ("acls", "pattern_type", "resource_name", "resource_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "pattern_type", "acls")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.acls: list[AclDescription] = [] if acls is EMPTY else acls
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeAclsResource":
        flexible = version >= 2
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        pattern_type = reader.int8()
        acls: list[AclDescription] = [
            AclDescription.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeAclsResource(resource_type, resource_name, pattern_type, acls, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int8(self.resource_type)
        if flexible:
            writer.write_compact_string(self.resource_name)
        else:
            writer.write_string(self.resource_name)
        writer.write_int8(self.pattern_type)
        if flexible:
            writer.write_compact_array_length(len(self.acls))
        else:
            writer.write_array_length(len(self.acls))
        for acls_element in self.acls:
            acls_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeAclsResponse(Message):
    __slots__ = ("error_code", "error_message", "resources", "throttle_time_ms")

    API_KEY: ClassVar[int] = 29
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "resources")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resources: list[DescribeAclsResource] = [] if resources is EMPTY else resources
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeAclsResponse":
        if version < 1 or version > 3:
            raise no_such_version("DescribeAclsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        resources: list[DescribeAclsResource] = [
            DescribeAclsResource.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("DescribeAclsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_compact_array_length(len(self.resources))
        else:
            writer.write_array_length(len(self.resources))
        for resources_element in self.resources:
            resources_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
