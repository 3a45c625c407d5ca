"""When replicas stop being eligible to lead because a setting changes (KIP-966).

They are eligible because the high watermark stood still after they left the ISR, and it does so on account of
min.insync.replicas. With another value it may move, so the eligible replicas are cleared. Not so where the
ISR is empty: nobody leads, nothing moves, and clearing would leave the partition without anybody who may lead
it. There they stay.

A leader that has not heard of a greater minimum goes on by the smaller one. Were it to drop a follower
meanwhile, the controller would hold the follower eligible while the leader acknowledges without it. So
partitions get a new partition epoch with another minimum: until a leader has heard of both, its proposals are
stale.
"""

from collections.abc import Iterable
from typing import Final

from gralha.metadata.features import has_eligible_leader_replicas
from gralha.metadata.image import TOPIC_RESOURCE, MetadataImage, TopicImage
from gralha.protocol.message import Message
from gralha.protocol.messages.cluster_records import ConfigRecord
from gralha.protocol.messages.topic_records import ClearElrRecord, PartitionChangeRecord

MIN_ISR: Final = "min.insync.replicas"


def after_config_changes(image: MetadataImage, records: Iterable[Message]) -> list[Message]:
    """What must follow the records of changed settings."""
    if not has_eligible_leader_replicas(image.features):
        return []
    changed = [record for record in records if isinstance(record, ConfigRecord) and record.name == MIN_ISR]
    if any(record.resource_type != TOPIC_RESOURCE for record in changed):
        every_topic = list(image.topics.values())
        return [*_cleared("", every_topic), *_new_partition_epochs(every_topic)]
    following: list[Message] = []
    for name in dict.fromkeys(record.resource_name for record in changed):
        if name in image.topics:
            topic = image.topics[name]
            following += [*_cleared(name, [topic]), *_new_partition_epochs([topic])]
    return following


def _new_partition_epochs(topics: list[TopicImage]) -> list[Message]:
    return [
        PartitionChangeRecord(topic_id=topic.id, partition_id=index)
        for topic in topics
        for index, partition in topic.partitions.items()
        if len(partition.isr) > 1
    ]


def _cleared(name: str, topics: list[TopicImage]) -> list[Message]:
    if not any(
        partition.eligible_leader_replicas or partition.last_known_elr
        for topic in topics
        for partition in topic.partitions.values()
    ):
        return []
    records: list[Message] = [ClearElrRecord(topic_name=name)]
    for topic in topics:
        for index, partition in topic.partitions.items():
            if not partition.isr:
                records.append(
                    PartitionChangeRecord(
                        topic_id=topic.id,
                        partition_id=index,
                        eligible_leader_replicas=list(partition.eligible_leader_replicas),
                        last_known_elr=list(partition.last_known_elr),
                    )
                )
    return records


def without_eligible_replicas(image: MetadataImage) -> list[Message]:
    """The feature is switched off: where the ISR is empty, it becomes those who were eligible."""
    records: list[Message] = []
    for topic in image.topics.values():
        for index, partition in topic.partitions.items():
            if not partition.isr:
                heirs = (
                    partition.eligible_leader_replicas or partition.last_known_elr or partition.replicas[:1]
                )
                records.append(PartitionChangeRecord(topic_id=topic.id, partition_id=index, isr=list(heirs)))
    return [*records, ClearElrRecord()]
