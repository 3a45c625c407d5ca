"""ApiVersions: which requests, in which versions, a broker answers.

The first request of a connection. A broker that does not know its version answers with version 0 (KIP-511).

Generated from definitions/api_versions.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class ApiVersionsRequest(Message):
    __slots__ = ("client_software_name", "client_software_version")

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = ("client_software_name", "client_software_version")

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.client_software_name: str = client_software_name
        self.client_software_version: str = client_software_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ApiVersionsRequest":
        if version < 0 or version > 4:
            raise no_such_version("ApiVersionsRequest", version)
        flexible = version >= 3
        client_software_name: str = ""
        if flexible:
            client_software_name = reader.compact_string()
        client_software_version: str = ""
        if flexible:
            client_software_version = reader.compact_string()
        unknown = reader.tagged_fields() if flexible else ()
        return ApiVersionsRequest(client_software_name, client_software_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("ApiVersionsRequest", version)
        flexible = version >= 3
        if flexible:
            writer.write_compact_string(self.client_software_name)
        if flexible:
            writer.write_compact_string(self.client_software_version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ApiVersion(Struct):
    __slots__ = ("api_key", "max_version", "min_version")

    FIELDS: ClassVar[tuple[str, ...]] = ("api_key", "min_version", "max_version")

    def __init__(
        self,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.api_key: int = api_key
        self.min_version: int = min_version
        self.max_version: int = max_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ApiVersion":
        flexible = version >= 3
        api_key = reader.int16()
        min_version = reader.int16()
        max_version = reader.int16()
        unknown = reader.tagged_fields() if flexible else ()
        return ApiVersion(api_key, min_version, max_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        flexible = version >= 3
        writer.write_int16(self.api_key)
        writer.write_int16(self.min_version)
        writer.write_int16(self.max_version)
        if flexible:
            writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class SupportedFeatureKey(Struct):
    __slots__ = ("max_version", "min_version", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_version", "max_version")

    def __init__(
        self,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.min_version: int = min_version
        self.max_version: int = max_version
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "SupportedFeatureKey":
        name = reader.compact_string()
        min_version = reader.int16()
        max_version = reader.int16()
        unknown = reader.tagged_fields()
        return SupportedFeatureKey(name, min_version, max_version, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int16(self.min_version)
        writer.write_int16(self.max_version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class FinalizedFeatureKey(Struct):
    __slots__ = ("max_version_level", "min_version_level", "name")

    FIELDS: ClassVar[tuple[str, ...]] = ("name", "max_version_level", "min_version_level")

    def __init__(
        self,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.name: str = name
        self.max_version_level: int = max_version_level
        self.min_version_level: int = min_version_level
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FinalizedFeatureKey":
        name = reader.compact_string()
        max_version_level = reader.int16()
        min_version_level = reader.int16()
        unknown = reader.tagged_fields()
        return FinalizedFeatureKey(name, max_version_level, min_version_level, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.name)
        writer.write_int16(self.max_version_level)
        writer.write_int16(self.min_version_level)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class ApiVersionsResponse(Message):
    __slots__ = (
        "api_keys",
        "error_code",
        "finalized_features",
        "finalized_features_epoch",
        "supported_features",
        "throttle_time_ms",
        "zk_migration_ready",
    )

    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3
    FIELDS: ClassVar[tuple[str, ...]] = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )

    def __init__(
        self,
        error_code: int = 0,
        api_keys: list[ApiVersion] = EMPTY,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = EMPTY,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = EMPTY,
        zk_migration_ready: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.error_code: int = error_code
        self.api_keys: list[ApiVersion] = [] if api_keys is EMPTY else api_keys
        self.throttle_time_ms: int = throttle_time_ms
        self.supported_features: list[SupportedFeatureKey] = (
            [] if supported_features is EMPTY else supported_features
        )
        self.finalized_features_epoch: int = finalized_features_epoch
        self.finalized_features: list[FinalizedFeatureKey] = (
            [] if finalized_features is EMPTY else finalized_features
        )
        self.zk_migration_ready: bool = zk_migration_ready
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "ApiVersionsResponse":
        if version < 0 or version > 4:
            raise no_such_version("ApiVersionsResponse", version)
        flexible = version >= 3
        error_code = reader.int16()
        api_keys: list[ApiVersion] = [
            ApiVersion.decode(reader, version)
            for _ in range(reader.compact_array_length() if flexible else reader.array_length())
        ]
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        supported_features: list[SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
        unknown: tuple[TaggedField, ...] = ()
        if flexible:
            tags = reader.unsigned_varint()
            if tags > 0:
                kept: list[TaggedField] = []
                tag: i64 = -1
                for _ in range(tags):
                    tag = reader.next_tag(tag)
                    end = reader.tagged_field_end()
                    if tag == 0:
                        supported_features = [
                            SupportedFeatureKey.decode(reader, version)
                            for _ in range(reader.compact_array_length())
                        ]
                    elif tag == 1:
                        finalized_features_epoch = reader.int64()
                    elif tag == 2:
                        finalized_features = [
                            FinalizedFeatureKey.decode(reader, version)
                            for _ in range(reader.compact_array_length())
                        ]
                    elif tag == 3:
                        zk_migration_ready = reader.boolean()
                    else:
                        kept.append((tag, reader.raw(end - reader.position)))
                    reader.expect_end(end)
                unknown = tuple(kept)
        return ApiVersionsResponse(
            error_code,
            api_keys,
            throttle_time_ms,
            supported_features,
            finalized_features_epoch,
            finalized_features,
            zk_migration_ready,
            unknown,
        )

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 4:
            raise no_such_version("ApiVersionsResponse", version)
        flexible = version >= 3
        writer.write_int16(self.error_code)
        if flexible:
            writer.write_compact_array_length(len(self.api_keys))
        else:
            writer.write_array_length(len(self.api_keys))
        for api_keys_element in self.api_keys:
            api_keys_element.encode(writer, version)
        if version >= 1:
            writer.write_int32(self.throttle_time_ms)
        tagged = self.unknown_tagged_fields
        if flexible and self.supported_features:
            part = Writer()
            part.write_compact_array_length(len(self.supported_features))
            for supported_features_element in self.supported_features:
                supported_features_element.encode(part, version)
            tagged = (*tagged, (0, part.to_bytes()))
        if flexible and self.finalized_features_epoch != -1:
            part = Writer()
            part.write_int64(self.finalized_features_epoch)
            tagged = (*tagged, (1, part.to_bytes()))
        if flexible and self.finalized_features:
            part = Writer()
            part.write_compact_array_length(len(self.finalized_features))
            for finalized_features_element in self.finalized_features:
                finalized_features_element.encode(part, version)
            tagged = (*tagged, (2, part.to_bytes()))
        if flexible and self.zk_migration_ready:
            part = Writer()
            part.write_boolean(self.zk_migration_ready)
            tagged = (*tagged, (3, part.to_bytes()))
        if flexible:
            writer.write_tagged_fields(tagged)
