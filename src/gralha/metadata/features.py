"""Feature levels: what this version of the cluster can do, and what a new cluster begins with.

Levels are Kafka's. Only what is served is listed; an issue that brings a feature adds its line.
"""

from collections.abc import Mapping
from typing import Final

from gralha.metadata.image import METADATA_VERSION

# Kafka's name for the level below: it fixes which version of each metadata record is written.
METADATA_VERSION_NAME: Final = "4.3-IV0"
METADATA_VERSION_LEVEL: Final = 30

# Level 1: consumer groups (KIP-848) may be used. Apache Kafka asks for it before it serves them.
GROUP_VERSION: Final = "group.version"
GROUP_VERSION_LEVEL: Final = 1

# Level 1: replicas that left an ISR below min.insync.replicas may lead (KIP-966).
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
ELIGIBLE_LEADER_REPLICAS_LEVEL: Final = 1

# Level 1: the voters of the quorum are records in its log and can be changed (KIP-853). The log itself knows
# its level: it is no feature record.
KRAFT_VERSION: Final = "kraft.version"
KRAFT_VERSIONS: Final = (0, 1)

# By name: the lowest and the highest level that this version can run at.
SUPPORTED_FEATURES: Final[dict[str, tuple[int, int]]] = {
    METADATA_VERSION: (METADATA_VERSION_LEVEL, METADATA_VERSION_LEVEL),
    GROUP_VERSION: (0, GROUP_VERSION_LEVEL),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (0, ELIGIBLE_LEADER_REPLICAS_LEVEL),
}

# What an empty data folder is formatted with.
BOOTSTRAP_FEATURES: Final[dict[str, int]] = {
    METADATA_VERSION: METADATA_VERSION_LEVEL,
    GROUP_VERSION: GROUP_VERSION_LEVEL,
    ELIGIBLE_LEADER_REPLICAS_VERSION: ELIGIBLE_LEADER_REPLICAS_LEVEL,
}


def has_eligible_leader_replicas(features: Mapping[str, int]) -> bool:
    """Is KIP-966 switched on?"""
    return features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= ELIGIBLE_LEADER_REPLICAS_LEVEL
