"""The feature levels of the Kafka releases up to 4.3, for kafka-features and kafka-storage.

These are Kafka's facts, not facts of a cluster: `version-mapping` connects to no cluster.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from gralha.cli.program import CommandError

METADATA_VERSION: Final = "metadata.version"

# Each internal version is the next level. A release may have several.
_FIRST_LEVEL: Final = 7
_INTERNAL_VERSIONS: Final = (
    "3.3-IV3",
    "3.4-IV0",
    *("3.5-IV0", "3.5-IV1", "3.5-IV2"),
    *("3.6-IV0", "3.6-IV1", "3.6-IV2"),
    *("3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4"),
    "3.8-IV0",
    "3.9-IV0",
    *("4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3"),
    *("4.1-IV0", "4.1-IV1"),
    *("4.2-IV0", "4.2-IV1"),
    "4.3-IV0",
    "4.4-IV0",
)
LATEST_RELEASE: Final = "4.3-IV0"


class FeatureLevel(NamedTuple):
    """A level of a feature: the metadata version that introduced it, and the levels that it needs."""

    since: str
    requires: Mapping[str, int] = {}


# The levels of each feature from 0 on, with the features in Kafka's order.
FEATURES: Final[Mapping[str, tuple[FeatureLevel, ...]]] = {
    "kraft.version": (FeatureLevel("3.3-IV3"), FeatureLevel("3.9-IV0")),
    "transaction.version": (FeatureLevel("3.3-IV3"), FeatureLevel("4.0-IV2"), FeatureLevel("4.0-IV2")),
    "group.version": (FeatureLevel("3.3-IV3"), FeatureLevel("4.0-IV0")),
    "eligible.leader.replicas.version": (
        FeatureLevel("3.3-IV3"),
        FeatureLevel("4.1-IV0", {METADATA_VERSION: 23}),
    ),
    "share.version": (FeatureLevel("3.3-IV3"), FeatureLevel("4.2-IV0")),
    "streams.version": (FeatureLevel("3.3-IV3"), FeatureLevel("4.2-IV1")),
}


def metadata_level(release: str) -> int:
    """The level of metadata.version of a release: `4.3-IV0`, `4.3`, `4.3.1`."""
    key = ".".join(release.split(".")[:2])
    if key not in _INTERNAL_VERSIONS:
        # A release without an internal version means its last one, if it is released.
        released = _INTERNAL_VERSIONS[: _INTERNAL_VERSIONS.index(LATEST_RELEASE) + 1]
        key = next((one for one in reversed(released) if one.partition("-")[0] == key), key)
    if key not in _INTERNAL_VERSIONS:
        known = ", ".join(_INTERNAL_VERSIONS)
        raise CommandError(f"Unknown metadata.version '{release}'. Supported metadata.version are: {known}")
    return _FIRST_LEVEL + _INTERNAL_VERSIONS.index(key)


def metadata_release(level: int) -> str | None:
    """The internal version with a level of metadata.version, if Kafka 4.3 knows it."""
    index = level - _FIRST_LEVEL
    return _INTERNAL_VERSIONS[index] if 0 <= index < len(_INTERNAL_VERSIONS) else None


def level_text(feature: str, level: int) -> str:
    """A level as text. For metadata.version it is the name of the release."""
    if feature != METADATA_VERSION:
        return str(level)
    return metadata_release(level) or f"UNKNOWN {level}"


def levels_of(release: str) -> dict[str, int]:
    """The level of each feature in a new cluster of a release, with metadata.version first."""
    metadata = metadata_level(release)
    levels = {METADATA_VERSION: metadata}
    for name, feature in FEATURES.items():
        levels[name] = max(
            level for level, one in enumerate(feature) if metadata_level(one.since) <= metadata
        )
    return levels


def dependencies(feature: str, level: int) -> Mapping[str, int]:
    """The levels of other features that a level of a feature needs."""
    if feature == METADATA_VERSION:
        if metadata_release(level) is None:
            raise CommandError(f"Unknown metadata.version {level}")
        return {}
    if feature not in FEATURES:
        raise CommandError(f"Unknown feature: {feature}")
    if not 0 <= level < len(FEATURES[feature]):
        raise CommandError(f"No feature:{feature} with feature level {level}")
    return FEATURES[feature][level].requires


def mapping_text(release: str) -> str:
    """The output of version-mapping."""
    levels = levels_of(release)
    first = f"{METADATA_VERSION}={levels.pop(METADATA_VERSION)} ({release})"
    return "\n".join([first, *(f"{name}={level}" for name, level in levels.items())])


def mapping_json(release: str) -> dict[str, object]:
    """The document of version-mapping."""
    levels = levels_of(release)
    return {
        "releaseVersion": release,
        "features": [{"feature": name, "level": level} for name, level in levels.items()],
    }


def dependencies_json(feature: str, level: int) -> dict[str, object]:
    """One feature in the document of feature-dependencies."""
    needed = dependencies(feature, level)
    requires = [{"feature": name, "level": minimum} for name, minimum in needed.items()]
    return {"feature": feature, "level": level, "requires": requires}


def dependencies_text(feature: str, level: int) -> str:
    """The output of feature-dependencies for one feature."""
    needed = dependencies(feature, level)
    if not needed:
        return f"{_level_and_release(feature, level)} has no dependencies."
    lines = [f"{feature}={level} requires:"]
    lines += [f"    {_level_and_release(name, minimum)}" for name, minimum in needed.items()]
    return "\n".join(lines)


def _level_and_release(feature: str, level: int) -> str:
    release = f" ({level_text(feature, level)})" if feature == METADATA_VERSION else ""
    return f"{feature}={level}{release}"
