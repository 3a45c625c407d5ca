"""The values of admin calls about the quorum and feature levels."""

from enum import IntEnum
from typing import NamedTuple


class VoterEndpoint(NamedTuple):
    """An address of a controller, printed as `CONTROLLER://host:port`."""

    listener: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


class QuorumReplica(NamedTuple):
    """The position of a voter or an observer. Times are None if the leader does not know them."""

    id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


class QuorumDescription(NamedTuple):
    """The leader of the metadata log, its voters and observers, and the voters' addresses."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]
    endpoints: dict[int, list[VoterEndpoint]]


class FeatureRange(NamedTuple):
    """The levels of a feature that a node supports."""

    lowest: int
    highest: int


class FeaturesDescription(NamedTuple):
    """The levels that a node supports, and the cluster's current levels with their epoch (None: unknown)."""

    supported: dict[str, FeatureRange]
    finalized: dict[str, int]
    epoch: int | None


class UpgradeType(IntEnum):
    """The kind of change of a feature level (KIP-778)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3
