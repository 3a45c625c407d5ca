"""DescribeClientQuotas: the quotas of users, client ids and addresses (KIP-546).

Generated from definitions/describe_client_quotas.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ComponentData(Struct):
    __slots__ = ("entity_type", "match", "match_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("entity_type", "match_type", "match")

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity_type: str = entity_type
        self.match_type: int = match_type
        self.match: str | None = match
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ComponentData":
        flexible = version >= 1
        entity_type = reader.compact_string() if flexible else reader.string()
        match_type = reader.int8()
        match = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return ComponentData(entity_type, match_type, match, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.entity_type)
        else:
            writer.write_string(self.entity_type)
        writer.write_int8(self.match_type)
        if flexible:
            writer.write_compact_nullable_string(self.match)
        else:
            writer.write_nullable_string(self.match)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeClientQuotasRequest(Message):
    __slots__ = ("components", "strict")

    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("components", "strict")

    def __init__(
        self,
        components: list[ComponentData] = EMPTY,
        strict: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.components: list[ComponentData] = [] if components is EMPTY else components
        self.strict: bool = strict
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeClientQuotasRequest":
        if version < 0 or version > 1:
            raise no_such_version("DescribeClientQuotasRequest", version)
        flexible = version >= 1
        components: list[ComponentData] = [
            ComponentData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        strict = reader.boolean()
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeClientQuotasRequest(components, strict, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("DescribeClientQuotasRequest", version)
        flexible = version >= 1
        if flexible:
            writer.write_compact_array_length(len(self.components))
        else:
            writer.write_array_length(len(self.components))
        for components_element in self.components:
            components_element.encode(writer, version)
        writer.write_boolean(self.strict)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EntityData(Struct):
    __slots__ = ("entity_name", "entity_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity_type: str = entity_type
        self.entity_name: str | None = entity_name
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EntityData":
        flexible = version >= 1
        entity_type = reader.compact_string() if flexible else reader.string()
        entity_name = reader.compact_nullable_string() if flexible else reader.nullable_string()
        unknown = reader.tagged_fields() if flexible else ()
        return EntityData(entity_type, entity_name, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.entity_type)
        else:
            writer.write_string(self.entity_type)
        if flexible:
            writer.write_compact_nullable_string(self.entity_name)
        else:
            writer.write_nullable_string(self.entity_name)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ValueData(Struct):
    __slots__ = ("key", "value")

    FIELDS: ClassVar[tuple[str, ...]] = ("key", "value")

    def __init__(
        self, key: str = "", value: float = 0.0, unknown_tagged_fields: tuple[TaggedField, ...] = ()
    ) -> None:
        self.key: str = key
        self.value: float = value
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ValueData":
        flexible = version >= 1
        key = reader.compact_string() if flexible else reader.string()
        value = reader.float64()
        unknown = reader.tagged_fields() if flexible else ()
        return ValueData(key, value, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_string(self.key)
        else:
            writer.write_string(self.key)
        writer.write_float64(self.value)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class EntryData(Struct):
    __slots__ = ("entity", "values")

    FIELDS: ClassVar[tuple[str, ...]] = ("entity", "values")

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,
        values: list[ValueData] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.entity: list[EntityData] = [] if entity is EMPTY else entity
        self.values: list[ValueData] = [] if values is EMPTY else values
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "EntryData":
        flexible = version >= 1
        entity: list[EntityData] = [
            EntityData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        values: list[ValueData] = [
            ValueData.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        unknown = reader.tagged_fields() if flexible else ()
        return EntryData(entity, values, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 1
        if flexible:
            writer.write_compact_array_length(len(self.entity))
        else:
            writer.write_array_length(len(self.entity))
        for entity_element in self.entity:
            entity_element.encode(writer, version)
        if flexible:
            writer.write_compact_array_length(len(self.values))
        else:
            writer.write_array_length(len(self.values))
        for values_element in self.values:
            values_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class DescribeClientQuotasResponse(Message):
    __slots__ = ("entries", "error_code", "error_message", "throttle_time_ms")

    API_KEY: ClassVar[int] = 48
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "entries")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.entries: list[EntryData] | None = [] if entries is EMPTY else entries
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "DescribeClientQuotasResponse":
        if version < 0 or version > 1:
            raise no_such_version("DescribeClientQuotasResponse", version)
        flexible = version >= 1
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        count = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        entries: list[EntryData] | None = (
            [EntryData.decode(reader, version) for _ in range(count)] if count >= 0 else None
        )
        unknown = reader.tagged_fields() if flexible else ()
        return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 1:
            raise no_such_version("DescribeClientQuotasResponse", version)
        flexible = version >= 1
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_nullable_string(self.error_message)
        else:
            writer.write_nullable_string(self.error_message)
        if self.entries is None:
            if flexible:
                writer.write_compact_array_length(-1)
            else:
                writer.write_array_length(-1)
        else:
            if flexible:
                writer.write_compact_array_length(len(self.entries))
            else:
                writer.write_array_length(len(self.entries))
            for entries_element in self.entries:
                entries_element.encode(writer, version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)
