"""UpdateFeatures: set the levels of features such as metadata.version (KIP-584).

Generated from definitions/update_features.kafka by gralha.protocol.compiler: change that, not this.
"""

from typing import ClassVar, final

from mypy_extensions import i64

from gralha.protocol.message import EMPTY, Message, Struct, no_such_version, not_in_version
from gralha.protocol.primitives import Reader, TaggedField, Writer


@final
class FeatureUpdateKey(Struct):
    __slots__ = ("allow_downgrade", "feature", "max_version_level", "upgrade_type")

    FIELDS: ClassVar[tuple[str, ...]] = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    def __init__(
        self,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.feature: str = feature
        self.max_version_level: int = max_version_level
        self.allow_downgrade: bool = allow_downgrade
        self.upgrade_type: int = upgrade_type
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "FeatureUpdateKey":
        feature = reader.compact_string()
        max_version_level = reader.int16()
        allow_downgrade: bool = False
        if version <= 0:
            allow_downgrade = reader.boolean()
        upgrade_type: int = 1
        if version >= 1:
            upgrade_type = reader.int8()
        unknown = reader.tagged_fields()
        return FeatureUpdateKey(feature, max_version_level, allow_downgrade, upgrade_type, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.feature)
        writer.write_int16(self.max_version_level)
        if version <= 0:
            writer.write_boolean(self.allow_downgrade)
        elif self.allow_downgrade:
            raise not_in_version("FeatureUpdateKey.allow_downgrade", version)
        if version >= 1:
            writer.write_int8(self.upgrade_type)
        elif self.upgrade_type != 1:
            raise not_in_version("FeatureUpdateKey.upgrade_type", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UpdateFeaturesRequest(Message):
    __slots__ = ("feature_updates", "timeout_ms", "validate_only")

    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("timeout_ms", "feature_updates", "validate_only")

    def __init__(
        self,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = EMPTY,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.timeout_ms: int = timeout_ms
        self.feature_updates: list[FeatureUpdateKey] = [] if feature_updates is EMPTY else feature_updates
        self.validate_only: bool = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UpdateFeaturesRequest":
        if version < 0 or version > 2:
            raise no_such_version("UpdateFeaturesRequest", version)
        timeout_ms = reader.int32()
        feature_updates: list[FeatureUpdateKey] = [
            FeatureUpdateKey.decode(reader, version) for _ in range(reader.compact_array_length())
        ]
        validate_only: bool = False
        if version >= 1:
            validate_only = reader.boolean()
        unknown = reader.tagged_fields()
        return UpdateFeaturesRequest(timeout_ms, feature_updates, validate_only, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("UpdateFeaturesRequest", version)
        writer.write_int32(self.timeout_ms)
        writer.write_compact_array_length(len(self.feature_updates))
        for feature_updates_element in self.feature_updates:
            feature_updates_element.encode(writer, version)
        if version >= 1:
            writer.write_boolean(self.validate_only)
        elif self.validate_only:
            raise not_in_version("UpdateFeaturesRequest.validate_only", version)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UpdatableFeatureResult(Struct):
    __slots__ = ("error_code", "error_message", "feature")

    FIELDS: ClassVar[tuple[str, ...]] = ("feature", "error_code", "error_message")

    def __init__(
        self,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.feature: str = feature
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UpdatableFeatureResult":
        feature = reader.compact_string()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        unknown = reader.tagged_fields()
        return UpdatableFeatureResult(feature, error_code, error_message, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        writer.write_compact_string(self.feature)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        writer.write_tagged_fields(self.unknown_tagged_fields)


@final
class UpdateFeaturesResponse(Message):
    __slots__ = ("error_code", "error_message", "results", "throttle_time_ms")

    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = EMPTY,
        unknown_tagged_fields: tuple[TaggedField, ...] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.error_message: str | None = error_message
        self.results: list[UpdatableFeatureResult] = [] if results is EMPTY else results
        self.unknown_tagged_fields = unknown_tagged_fields

    @staticmethod
    def decode(reader: Reader, version: i64) -> "UpdateFeaturesResponse":
        if version < 0 or version > 2:
            raise no_such_version("UpdateFeaturesResponse", version)
        throttle_time_ms = reader.int32()
        error_code = reader.int16()
        error_message = reader.compact_nullable_string()
        results: list[UpdatableFeatureResult] = []
        if version <= 1:
            results = [
                UpdatableFeatureResult.decode(reader, version) for _ in range(reader.compact_array_length())
            ]
        unknown = reader.tagged_fields()
        return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results, unknown)

    def encode(self, writer: Writer, version: i64) -> None:
        if version < 0 or version > 2:
            raise no_such_version("UpdateFeaturesResponse", version)
        writer.write_int32(self.throttle_time_ms)
        writer.write_int16(self.error_code)
        writer.write_compact_nullable_string(self.error_message)
        if version <= 1:
            writer.write_compact_array_length(len(self.results))
            for results_element in self.results:
                results_element.encode(writer, version)
        writer.write_tagged_fields(self.unknown_tagged_fields)
