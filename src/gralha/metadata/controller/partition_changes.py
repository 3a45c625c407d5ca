"""The changes of partitions that follow from changes of brokers and settings."""

from collections.abc import Callable, Collection
from functools import partial

from gralha.metadata.config_keys import topic_config_value
from gralha.metadata.controller.decision import ControllerContext
from gralha.metadata.controller.directories import default_directory, is_online
from gralha.metadata.controller.elections import Election, PartitionChange, PartitionRules
from gralha.metadata.features import has_eligible_leader_replicas
from gralha.metadata.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from gralha.protocol.message import Message


class PartitionChanges:
    """Creates changes of the partitions of one image."""

    def __init__(self, image: MetadataImage, context: ControllerContext) -> None:
        self.image = image
        self._layers = context.config_layers(image)
        self.eligible_leader_replicas = has_eligible_leader_replicas(image.features)
        self._rules: dict[str, PartitionRules] = {}
        self._default_directory = partial(default_directory, image)

    def rules(self, topic: str) -> PartitionRules:
        """The rules for the partitions of a topic."""
        rules = self._rules.get(topic)
        if rules is None:
            configs = self.image.topic_configs(topic)
            min_isr = topic_config_value("min.insync.replicas", configs, self._layers)
            unclean = topic_config_value("unclean.leader.election.enable", configs, self._layers)
            rules = self._rules[topic] = PartitionRules(
                int(min_isr or 1), (unclean or "").strip().lower() == "true", self.eligible_leader_replicas
            )
        return rules

    def change(
        self,
        topic: TopicImage,
        index: int,
        election: Election = Election.ONLINE,
        is_active: Callable[[int], bool] | None = None,
    ) -> PartitionChange:
        """A change of a partition. `is_active` replaces the image's answer for brokers that come or go."""
        partition = topic.partitions[index]
        return PartitionChange(
            topic.id,
            index,
            partition,
            self.rules(topic.name),
            partial(self._may_lead, partition, is_active or self.is_active),
            self._default_directory,
            election,
        )

    def is_active(self, broker_id: int) -> bool:
        """Returns True if the broker may lead and be in sync."""
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def _may_lead(self, partition: PartitionImage, is_active: Callable[[int], bool], broker_id: int) -> bool:
        if not is_active(broker_id) or broker_id not in partition.replicas:
            # A replica that a reassignment adds is not in sync yet, so it cannot lead.
            return False
        broker = self.image.brokers[broker_id]
        place = partition.replicas.index(broker_id)
        return place >= len(partition.directories) or is_online(broker, partition.directories[place])

    # Changes of brokers

    def broker_leaves(self, broker_id: int) -> list[Message]:
        """Elects other leaders for the broker's partitions and removes it from their ISRs."""
        return [
            record
            for topic, index in self._partitions(lambda one: broker_id in one.isr)
            if (record := self._without(topic, index, broker_id, crashed=False)) is not None
        ]

    def broker_crashed(self, broker_id: int) -> list[Message]:
        """Does the same, and makes the broker ineligible, because it may have lost acknowledged records."""
        return [
            record
            for topic, index in self._partitions(
                lambda one: broker_id in one.isr or broker_id in one.eligible_leader_replicas
            )
            if (record := self._without(topic, index, broker_id, crashed=True)) is not None
        ]

    def broker_comes(self, broker_id: int) -> list[Message]:
        """Elects leaders for partitions that have none."""

        def is_active(replica: int) -> bool:
            return replica == broker_id or self.is_active(replica)

        records = []
        for topic, index in self._partitions(lambda one: one.leader == NO_LEADER):
            record = self.change(topic, index, self.usual_election(topic), is_active).record()
            if record is not None:
                records.append(record)
        return list(records)

    def directories_fail(self, broker_id: int, directories: Collection[bytes]) -> list[Message]:
        """Removes a broker from the ISRs of partitions in folders that it cannot read any more."""

        def is_there(partition: PartitionImage) -> bool:
            places = zip(partition.replicas, partition.directories, strict=False)
            return broker_id in partition.isr and any(
                replica == broker_id and directory in directories for replica, directory in places
            )

        return [
            record
            for topic, index in self._partitions(is_there)
            if (record := self._without(topic, index, broker_id, crashed=False)) is not None
        ]

    def usual_election(self, topic: TopicImage) -> Election:
        """The usual kind of election: unclean only if the topic's settings allow it."""
        return Election.UNCLEAN if self.rules(topic.name).unclean_elections else Election.ONLINE

    def _without(self, topic: TopicImage, index: int, broker_id: int, crashed: bool) -> Message | None:
        def is_active(replica: int) -> bool:
            return replica != broker_id and self.is_active(replica)

        change = self.change(topic, index, self.usual_election(topic), is_active)
        change.isr = [replica for replica in change.isr if replica != broker_id]
        if crashed:
            change.crashed = frozenset((broker_id,))
        return change.record()

    def _partitions(self, concerned: Callable[[PartitionImage], bool]) -> list[tuple[TopicImage, int]]:
        return [
            (topic, index)
            for topic in self.image.topics.values()
            for index, partition in topic.partitions.items()
            if concerned(partition)
        ]
