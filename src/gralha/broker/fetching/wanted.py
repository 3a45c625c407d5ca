"""What a client wants of one partition."""

from typing import Final

from gralha.protocol.messages.fetch import FetchRequest, PartitionData

TOPIC_IDS_FROM_VERSION: Final = 13
CONSUMER: Final = -1  # the replica id of a client that is no broker
NOTHING_TOLD: Final = -1

# A topic is named by its id from version 13 on, by its name before.
PartitionKey = tuple[bytes | str, int]


class Wanted:
    """What a client wants of one partition, and what its session last told it."""

    def __init__(self, topic: str, topic_id: bytes, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.fetch_offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        self.log_start_offset = -1  # of a follower
        self.told_high_watermark = NOTHING_TOLD
        self.told_log_start_offset = NOTHING_TOLD

    def has_news(self, data: PartitionData) -> bool:
        """Whether an incremental response must name the partition. Remembers what the client is told."""
        news = data.records is not None and data.records.end > data.records.start
        if data.high_watermark != self.told_high_watermark:
            self.told_high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.told_log_start_offset:
            self.told_log_start_offset = data.log_start_offset
            news = True
        if data.error_code or data.preferred_read_replica != -1 or data.diverging_epoch is not None:
            # Without a remembered high watermark, the first answer after the error is news as well.
            self.told_high_watermark = NOTHING_TOLD
            news = True
        return news

    def take_over(self, newer: "Wanted") -> None:
        """The client wants something else of the same partition now."""
        self.fetch_offset = newer.fetch_offset
        self.max_bytes = newer.max_bytes
        self.leader_epoch = newer.leader_epoch
        self.last_fetched_epoch = newer.last_fetched_epoch
        self.log_start_offset = newer.log_start_offset


def wanted_by(request: FetchRequest, version: int) -> dict[PartitionKey, Wanted]:
    """What the request names."""
    found: dict[PartitionKey, Wanted] = {}
    by_id = version >= TOPIC_IDS_FROM_VERSION
    for topic in request.topics:
        name: bytes | str = topic.topic_id if by_id else topic.topic
        for partition in topic.partitions:
            wanted = Wanted(topic.topic, topic.topic_id, partition.partition)
            wanted.fetch_offset = partition.fetch_offset
            wanted.max_bytes = partition.partition_max_bytes
            wanted.leader_epoch = partition.current_leader_epoch
            wanted.last_fetched_epoch = partition.last_fetched_epoch
            wanted.log_start_offset = partition.log_start_offset
            found[name, partition.partition] = wanted
    return found


def replica_of(request: FetchRequest) -> int:
    """The broker that fetches, or CONSUMER."""
    return request.replica_id if request.replica_state is None else request.replica_state.replica_id
