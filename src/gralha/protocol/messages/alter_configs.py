"""AlterConfigs: replace all settings of a topic or a broker; the older way to change them.

Generated from definitions/alter_configs.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class AlterableConfig(Struct):
    __slots__ = ("name", "value")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "value")

    def __init__(
        self, name: str = "", value: str | None = "", unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.name: str = name
        self.value: str | None = value
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterableConfig":
        flexible = version >= 2
        name = reader.compact_string() if flexible else reader.string()
        value = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return AlterableConfig(name, value, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
        if flexible:
            writer.write_compact_string(self.name)
        else:
            writer.write_string(self.name)
        if flexible:
            writer.write_compact_nullable_string(self.value)
        else:
            writer.write_nullable_string(self.value)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterConfigsResource(Struct):
    __slots__ = ("configs", "resource_name", "resource_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "configs")

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.configs: list[AlterableConfig] = [] if configs is EMPTY else configs
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterConfigsResource":
        flexible = version >= 2
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        configs: list[AlterableConfig] = [
            AlterableConfig.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterConfigsResource(resource_type, resource_name, configs, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 2
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
class AlterConfigsRequest(Message):
    __slots__ = ("resources", "validate_only")

    API_KEY: ClassVar[int] = 33
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("resources", "validate_only")

    def __init__(
        self,
        resources: list[AlterConfigsResource] = EMPTY,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resources: list[AlterConfigsResource] = [] if resources is EMPTY else resources
        self.validate_only: bool = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterConfigsRequest":
        if version < 0 or version > 2:
            raise no_such_version("AlterConfigsRequest", version)
        flexible = version >= 2
        resources: list[AlterConfigsResource] = [
            AlterConfigsResource.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        validate_only = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return AlterConfigsRequest(resources, validate_only, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("AlterConfigsRequest", version)
        flexible = version >= 2
        if flexible:
            writer.write_compact_array_length(len(self.resources))
        else:
            writer.write_array_length(len(self.resources))
        for resources_element in self.resources:
            resources_element.encode(writer, version)
        writer.write_boolean(self.validate_only)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterConfigsResourceResponse(Struct):
    __slots__ = ("error_code", "error_message", "resource_name", "resource_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "error_message", "resource_type", "resource_name")

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.resource_type: int = resource_type
        self.resource_name: str = resource_name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterConfigsResourceResponse":
        flexible = version >= 2
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        resource_type = reader.int8()
        resource_name = reader.compact_string() if flexible else reader.string()
        unknown = reader.tagged_fields() if flexible else ()
        return AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name, unknown)

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
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class AlterConfigsResponse(Message):
    __slots__ = ("responses", "throttle_time_ms")

    API_KEY: ClassVar[int] = 33
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.responses: list[AlterConfigsResourceResponse] = [] if responses is EMPTY else responses
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "AlterConfigsResponse":
        if version < 0 or version > 2:
            raise no_such_version("AlterConfigsResponse", version)
        flexible = version >= 2
        throttle_time_ms = reader.int32()
        responses: list[AlterConfigsResourceResponse] = [
            AlterConfigsResourceResponse.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return AlterConfigsResponse(throttle_time_ms, responses, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("AlterConfigsResponse", version)
        flexible = version >= 2
        writer.write_int32(self.throttle_time_ms)
        if flexible:
            writer.write_compact_array_length(len(self.responses))
        else:
            writer.write_array_length(len(self.responses))
        for responses_element in self.responses:
            responses_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
