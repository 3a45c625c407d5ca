"""Parts of a partition that tests look at: the follower's part, and who has subscribed."""

from gralha.replication.following import Following
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import END_MOVED, HIGH_WATERMARK_MOVED, START_MOVED


def following(partition: Partition) -> Following:
    assert partition.following is not None
    return partition.following


def waiting_for_high_watermark(partition: Partition) -> int:
    return len(partition._subscribers_of(HIGH_WATERMARK_MOVED))


def waiting_for_end(partition: Partition) -> int:
    return len(partition._subscribers_of(END_MOVED))


def waiting_for_start(partition: Partition) -> int:
    return len(partition._subscribers_of(START_MOVED))
