"""Replicas stop being eligible leaders when min.insync.replicas changes (KIP-966).

A replica is eligible because the high watermark did not move after it left the ISR. The high watermark did
not move because of min.insync.replicas. With another value it may move, so the eligible replicas are cleared.
The exception is a partition with an empty ISR: it has no leader, so nothing moves, and without eligible
replicas nobody could lead it. Its eligible replicas stay.

A leader that does not know a larger minimum yet continues with the smaller one. If it removed a follower from
the ISR meanwhile, the controller would call the follower eligible while the leader acknowledges records
without it. So the partitions get a new partition epoch: the leader's proposals are refused until it knows the
new epoch and the new minimum.
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
    """The records that must follow the records of changed settings."""
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
    """The feature is switched off. An empty ISR gets the replicas that were eligible."""
    records: list[Message] = []
    for topic in image.topics.values():
        for index, partition in topic.partitions.items():
            if not partition.isr:
                heirs = (
                    partition.eligible_leader_replicas or partition.last_known_elr or partition.replicas[:1]
                )
                records.append(PartitionChangeRecord(topic_id=topic.id, partition_id=index, isr=list(heirs)))
    return [*records, ClearElrRecord()]
