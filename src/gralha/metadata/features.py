"""Feature levels: what this version supports, and the levels of a new cluster.

The levels are Kafka's. A feature is listed only if it works.
"""

from collections.abc import Mapping
from typing import Final

from gralha.metadata.image import METADATA_VERSION

# Kafka's name for the level below, which decides the version of each metadata record.
METADATA_VERSION_NAME: Final = "4.3-IV0"
METADATA_VERSION_LEVEL: Final = 30

# Controllers of Kafka know delegation tokens from this level on (3.6-IV2).
DELEGATION_TOKENS_LEVEL: Final = 14

# Level 1: consumer groups (KIP-848). Clients of Apache Kafka use them only if the cluster has this level.
GROUP_VERSION: Final = "group.version"
GROUP_VERSION_LEVEL: Final = 1

# Level 1: records of transactions may have tagged fields. Level 2: each transaction has an epoch of its own,
# and Produce and TxnOffsetCommit add what they write to the transaction (KIP-890).
TRANSACTION_VERSION: Final = "transaction.version"
TRANSACTION_VERSION_LEVEL: Final = 2

# Level 1: replicas that left an ISR below min.insync.replicas may lead (KIP-966).
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
ELIGIBLE_LEADER_REPLICAS_LEVEL: Final = 1

# Level 1: the voters of the quorum are records in its log and can be changed (KIP-853). The quorum's log has
# the level; there is no feature record.
KRAFT_VERSION: Final = "kraft.version"
KRAFT_VERSIONS: Final = (0, 1)

# The lowest and the highest level that this version supports, by name.
SUPPORTED_FEATURES: Final[dict[str, tuple[int, int]]] = {
    METADATA_VERSION: (METADATA_VERSION_LEVEL, METADATA_VERSION_LEVEL),
    TRANSACTION_VERSION: (0, TRANSACTION_VERSION_LEVEL),
    GROUP_VERSION: (0, GROUP_VERSION_LEVEL),
    ELIGIBLE_LEADER_REPLICAS_VERSION: (0, ELIGIBLE_LEADER_REPLICAS_LEVEL),
}

# The levels of a new cluster.
BOOTSTRAP_FEATURES: Final[dict[str, int]] = {
    METADATA_VERSION: METADATA_VERSION_LEVEL,
    TRANSACTION_VERSION: TRANSACTION_VERSION_LEVEL,
    GROUP_VERSION: GROUP_VERSION_LEVEL,
    ELIGIBLE_LEADER_REPLICAS_VERSION: ELIGIBLE_LEADER_REPLICAS_LEVEL,
}


def has_eligible_leader_replicas(features: Mapping[str, int]) -> bool:
    """Returns True if KIP-966 is switched on."""
    return features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= ELIGIBLE_LEADER_REPLICAS_LEVEL


def transaction_version(features: Mapping[str, int]) -> int:
    """The level of transactions: 0, 1 or 2."""
    return features.get(TRANSACTION_VERSION, 0)


def has_delegation_tokens(features: Mapping[str, int]) -> bool:
    """Returns True if the metadata log may have delegation tokens."""
    return features.get(METADATA_VERSION, 0) >= DELEGATION_TOKENS_LEVEL
