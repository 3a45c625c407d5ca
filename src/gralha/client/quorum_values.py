"""What the admin calls about the quorum and its features take and give."""

from enum import IntEnum
from typing import NamedTuple


class VoterEndpoint(NamedTuple):
    """Where a controller listens; prints as `CONTROLLER://host:port`."""

    listener: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


class QuorumReplica(NamedTuple):
    """How far a voter or an observer has come; times are None where the leader does not know them."""

    id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


class QuorumDescription(NamedTuple):
    """The leader of the metadata log, its voters and observers, and where the voters listen."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]
    endpoints: dict[int, list[VoterEndpoint]]


class FeatureRange(NamedTuple):
    """The levels of a feature that a node can run at."""

    lowest: int
    highest: int


class FeaturesDescription(NamedTuple):
    """What a node supports, and the levels that the cluster runs at as of an epoch (None: not known)."""

    supported: dict[str, FeatureRange]
    finalized: dict[str, int]
    epoch: int | None


class UpgradeType(IntEnum):
    """What a change of a feature's level may do (KIP-778)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3
