"""DescribeConfigs: the settings of topics, brokers and others, and where each value comes from.

Generated from definitions/describe_configs.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class DescribeConfigsResource(Struct):
    __slots__ = ("configuration_keys", "resource_name", "resource_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "configuration_keys")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configuration_keys: list[str] | None = [] if configuration_keys is EMPTY else configuration_keys
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeConfigsResource":
        flexible = version >= 4
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        configuration_keys: list[str] | None = (
            [reader.compact_string() if flexible else reader.string() for _ in range(count)]
            if count >= 0
            else None
        )
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeConfigsResource(resource_type, resource_name, configuration_keys, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        writer.write_int8(self.resource_type)
        if flexible:
            writer.write_compact_string(self.resource_name)
        else:
            writer.write_string(self.resource_name)
        if self.configuration_keys is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.configuration_keys))
            else:
                writer.write_array_length(len(self.configuration_keys))
            for configuration_keys_element in self.configuration_keys:
                if flexible:
                    writer.write_compact_string(configuration_keys_element)
                else:
                    writer.write_string(configuration_keys_element)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeConfigsRequest(Message):
    __slots__ = ("include_documentation", "include_synonyms", "resources")

    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("resources", "include_synonyms", "include_documentation")

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = EMPTY,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resources: list[DescribeConfigsResource] = [] if resources is EMPTY else resources
        self.include_synonyms: bool = include_synonyms
        self.include_documentation: bool = include_documentation
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeConfigsRequest":
        if version < 1 or version > 4:
            raise no_such_version("DescribeConfigsRequest", version)
        flexible = version >= 4
        resources: list[DescribeConfigsResource] = [
            DescribeConfigsResource.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        include_synonyms = reader.boolean()
        include_documentation: bool = False
        if version >= 3:
            include_documentation = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeConfigsRequest(resources, include_synonyms, include_documentation, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 4:
            raise no_such_version("DescribeConfigsRequest", version)
        flexible = version >= 4
        if flexible:
            writer.write_compact_array_length(len(self.resources))
        else:
            writer.write_array_length(len(self.resources))
        for resources_element in self.resources:
            resources_element.encode(writer, version)
        writer.write_boolean(self.include_synonyms)
        if version >= 3:
            writer.write_boolean(self.include_documentation)
        elif self.include_documentation:
            raise not_in_version("DescribeConfigsRequest.include_documentation", version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeConfigsSynonym(Struct):
    __slots__ = ("name", "source", "value")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value", "source")

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.source: int = source
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeConfigsSynonym":
        flexible = version >= 4
        name = reader.compact_string() if flexible else reader.string()
        value = reader.compact_nullable_string() if flexible else reader.nullable_string()
        source = reader.int8()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeConfigsSynonym(name, value, source, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_nullable_string(self.value)
        else:
            writer.write_nullable_string(self.value)
        writer.write_int8(self.source)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeConfigsResourceResult(Struct):
    __slots__ = (
        "config_source",
        "config_type",
        "documentation",
        "is_sensitive",
        "name",
        "read_only",
        "synonyms",
        "value",
    )

    FIELDS: ClassVar[tuple[str, ...]] = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = EMPTY,
        config_type: int = 0,
        documentation: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.read_only: bool = read_only
        self.config_source: int = config_source
        self.is_sensitive: bool = is_sensitive
        self.synonyms: list[DescribeConfigsSynonym] = [] if synonyms is EMPTY else synonyms
        self.config_type: int = config_type
        self.documentation: str | None = documentation
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeConfigsResourceResult":
        flexible = version >= 4
        name = reader.compact_string() if flexible else reader.string()
        value = reader.compact_nullable_string() if flexible else reader.nullable_string()
        read_only = reader.boolean()
        config_source = reader.int8()
        is_sensitive = reader.boolean()
        synonyms: list[DescribeConfigsSynonym] = [
            DescribeConfigsSynonym.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        config_type: int = 0
        if version >= 3:
            config_type = reader.int8()
        documentation: str | None = ""
        if version >= 3:
            documentation = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeConfigsResourceResult(
            name, value, read_only, config_source, is_sensitive, synonyms, config_type, documentation, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_nullable_string(self.value)
        else:
            writer.write_nullable_string(self.value)
        writer.write_boolean(self.read_only)
        writer.write_int8(self.config_source)
        writer.write_boolean(self.is_sensitive)
        if flexible:
            writer.write_compact_array_length(len(self.synonyms))
        else:
            writer.write_array_length(len(self.synonyms))
        for synonyms_element in self.synonyms:
            synonyms_element.encode(writer, version)
        if version >= 3:
            writer.write_int8(self.config_type)
        if version >= 3:
            if flexible:
                writer.write_compact_nullable_string(self.documentation)
            else:
                writer.write_nullable_string(self.documentation)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeConfigsResult(Struct):
    __slots__ = ("configs", "error_code", "error_message", "resource_name", "resource_type")

    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "error_message",
        "resource_type",
        "resource_name",
        "configs",
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configs: list[DescribeConfigsResourceResult] = [] if configs is EMPTY else configs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeConfigsResult":
        flexible = version >= 4
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        configs: list[DescribeConfigsResourceResult] = [
            DescribeConfigsResourceResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeConfigsResult(
            error_code, error_message, resource_type, resource_name, configs, unknown
        )

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 4
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
        if flexible:
            writer.write_compact_array_length(len(self.configs))
        else:
            writer.write_array_length(len(self.configs))
        for configs_element in self.configs:
            configs_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeConfigsResponse(Message):
    __slots__ = ("results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.results: list[DescribeConfigsResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeConfigsResponse":
        if version < 1 or version > 4:
            raise no_such_version("DescribeConfigsResponse", version)
        flexible = version >= 4
        throttle_time_ms = reader.int32()
        results: list[DescribeConfigsResult] = [
            DescribeConfigsResult.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeConfigsResponse(throttle_time_ms, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 1 or version > 4:
            raise no_such_version("DescribeConfigsResponse", version)
        flexible = version >= 4
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.results))
        else:
            writer.write_array_length(len(self.results))
        for results_element in self.results:
            results_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
