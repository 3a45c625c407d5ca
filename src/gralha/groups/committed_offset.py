"""One offset that a group has committed."""

from typing import NamedTuple


class CommittedOffset(NamedTuple):
    """The offset of a group in a partition. There may be millions of these."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int  # old clients set it; NO_TIMESTAMP: the setting counts
    topic_id: bytes  # ZERO_UUID if it is not known
