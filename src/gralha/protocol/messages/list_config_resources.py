"""ListConfigResources: the names of what has settings of its own.

Generated from definitions/list_config_resources.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ListConfigResourcesRequest(Message):
    __slots__ = ("resource_types",)

    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_types",)

    def __init__(
        self, resource_types: list[int] = EMPTY, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.resource_types: list[int] = [] if resource_types is EMPTY else resource_types
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListConfigResourcesRequest":
        if version < 0 or version > 1:
            raise no_such_version("ListConfigResourcesRequest", version)
        resource_types: list[int] = []
        if version >= 1:
            resource_types = [reader.int8() for _ in range(reader.compact_array_length())]
        unknown = reader.tagged_fields()
        return ListConfigResourcesRequest(resource_types, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ListConfigResourcesRequest", version)
        if version >= 1:
            writer.write_compact_array_length(len(self.resource_types))
            for resource_types_element in self.resource_types:
                writer.write_int8(resource_types_element)
        elif self.resource_types:
            raise not_in_version("ListConfigResourcesRequest.resource_types", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ConfigResource(Struct):
    __slots__ = ("resource_name", "resource_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("resource_name", "resource_type")

    def __init__(
        self,
        resource_name: str = "",
        resource_type: int = 16,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.resource_name: str = resource_name
        self.resource_type: int = resource_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ConfigResource":
        resource_name = reader.compact_string()
        resource_type: int = 16
        if version >= 1:
            resource_type = reader.int8()
        unknown = reader.tagged_fields()
        return ConfigResource(resource_name, resource_type, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.resource_name)
        if version >= 1:
            writer.write_int8(self.resource_type)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ListConfigResourcesResponse(Message):
    __slots__ = ("config_resources", "error_code", "throttle_time_ms")

    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "config_resources")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.config_resources: list[ConfigResource] = [] if config_resources is EMPTY else config_resources
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ListConfigResourcesResponse":
        if version < 0 or version > 1:
            raise no_such_version("ListConfigResourcesResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        config_resources: list[ConfigResource] = [
            ConfigResource.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        unknown = reader.tagged_fields()
        return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("ListConfigResourcesResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_array_length(len(self.config_resources))
        for config_resources_element in self.config_resources:
            config_resources_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
