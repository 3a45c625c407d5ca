"""DeleteAcls: remove the access control lists that match filters.

Generated from definitions/delete_acls.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DeleteAclsFilter(Struct):
    __slots__ = (
        "host_filter",
        "operation",
        "pattern_type_filter",
        "permission_type",
        "principal_filter",
        "resource_name_filter",
        "resource_type_filter",
    )

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
    def decode(reader: Reader, version: i64) -> "DeleteAclsFilter":
        flexible = version >= 2
        resource_type_filter = reader.int8()
        resource_name_filter = reader.compact_nullable_string() if flexible else reader.nullable_string()
        pattern_type_filter = reader.int8()
        principal_filter = reader.compact_nullable_string() if flexible else reader.nullable_string()
        host_filter = reader.compact_nullable_string() if flexible else reader.nullable_string()
        operation = reader.int8()
        permission_type = reader.int8()
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteAclsFilter(
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
class DeleteAclsRequest(Message):
    __slots__ = ("filters",)

    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("filters",)

    def __init__(
        self, filters: list[DeleteAclsFilter] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.filters: list[DeleteAclsFilter] = [] if filters is EMPTY else filters
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteAclsRequest":
        if version < 1 or version > 3:
            raise no_such_version("DeleteAclsRequest", version)
        flexible = version >= 2
        filters: list[DeleteAclsFilter] = [
            DeleteAclsFilter.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteAclsRequest(filters, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("DeleteAclsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.filters))
        else:
            writer.write_array_length(len(self.filters))
        for filters_element in self.filters:
            filters_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteAclsMatchingAcl(Struct):
    __slots__ = (
        "error_code",
        "error_message",
        "host",
        "operation",
        "pattern_type",
        "permission_type",
        "principal",
        "resource_name",
        "resource_type",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
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
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.pattern_type: int = pattern_type
        self.principal: str = principal
        self.host: str = host
        self.operation: int = operation
        self.permission_type: int = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteAclsMatchingAcl":
        flexible = version >= 2
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        pattern_type = reader.int8()
        principal = reader.compact_string() if flexible else reader.string()
        host = reader.compact_string() if flexible else reader.string()
        operation = reader.int8()
        permission_type = reader.int8()
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteAclsMatchingAcl(
            error_code,
            error_message,
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
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        writer.write_int8(self.resource_type)
        if flexible:
            writer.write_compact_string(self.resource_name)
        else:
            writer.write_string(self.resource_name)
        writer.write_int8(self.pattern_type)
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
class DeleteAclsFilterResult(Struct):
    __slots__ = ("error_code", "error_message", "matching_acls")

    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "matching_acls")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.matching_acls: list[DeleteAclsMatchingAcl] = [] if matching_acls is EMPTY else matching_acls
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteAclsFilterResult":
        flexible = version >= 2
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        matching_acls: list[DeleteAclsMatchingAcl] = [
            DeleteAclsMatchingAcl.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteAclsFilterResult(error_code, error_message, matching_acls, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if flexible:
            writer.write_compact_array_length(len(self.matching_acls))
        else:
            writer.write_array_length(len(self.matching_acls))
        for matching_acls_element in self.matching_acls:
            matching_acls_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DeleteAclsResponse(Message):
    __slots__ = ("filter_results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 31
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "filter_results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.filter_results: list[DeleteAclsFilterResult] = [] if filter_results is EMPTY else filter_results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DeleteAclsResponse":
        if version < 1 or version > 3:
            raise no_such_version("DeleteAclsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        filter_results: list[DeleteAclsFilterResult] = [
            DeleteAclsFilterResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DeleteAclsResponse(throttle_time_ms, filter_results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 3:
            raise no_such_version("DeleteAclsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.filter_results))
        else:
            writer.write_array_length(len(self.filter_results))
        for filter_results_element in self.filter_results:
            filter_results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
