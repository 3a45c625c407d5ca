"""Clusters of several brokers for tests, with given replicas and brokers that fail and come back."""

from tests.metadata.cluster import cluster, context, introduction, replay, unfence_broker

from gralha.metadata.controller.brokers import fence_broker, register_broker
from gralha.metadata.controller.isr_changes import alter_partition
from gralha.metadata.controller.topics import create_topics
from gralha.metadata.features import BOOTSTRAP_FEATURES
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartition,
    AlterPartitionRequestTopic,
    BrokerState,
)
from gralha.protocol.messages.cluster_records import FeatureLevelRecord
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)


class Cluster:
    """Brokers 1 to n and a topic `t`, one partition for each list of replicas. Changes apply at once."""

    def __init__(self, brokers, *assignments, features=None, **configs):
        self.context = context(node_id=100)
        self.image = cluster(brokers)
        levels = BOOTSTRAP_FEATURES if features is None else features
        self.apply(FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items())
        if assignments:
            self.create("t", *assignments, **configs)

    def create(self, name, *assignments, **configs):
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(index, list(replicas))
                for index, replicas in enumerate(assignments)
            ],
            configs=[CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()],
        )
        response = self.take(create_topics(self.image, CreateTopicsRequest(topics=[topic]), self.context))
        assert response.topics[0].error_code == 0

    def apply(self, records):
        self.image, _ = replay(self.image, list(records))

    def take(self, decision):
        self.apply(decision.records)
        return decision.response

    def partition(self, index=0, topic="t"):
        return self.image.partition(topic, index)

    def epoch(self, broker_id):
        return self.image.brokers[broker_id].epoch

    def fence(self, *broker_ids):
        for broker_id in broker_ids:
            self.take(fence_broker(self.image, broker_id, self.context))

    def unfence(self, *broker_ids):
        for broker_id in broker_ids:
            self.take(unfence_broker(self.image, broker_id, self.epoch(broker_id), self.context))

    def restart(self, broker_id, clean):
        """Registers a new process, fenced."""
        broker = introduction(broker_id)._replace(
            incarnation_id=(self.image.offset + 1000).to_bytes(16, "big"),
            previous_epoch=self.epoch(broker_id) if clean else -1,
        )
        return self.take(register_broker(self.image, broker, self.context))

    def isr_request(self, *isr, index=0, broker_id=None, version=3, **others):
        """The leader's proposal. Brokers of the ISR are ids, or ids with epochs."""
        partition = self.partition(index)
        leader = partition.leader if broker_id is None else broker_id
        states = [one if isinstance(one, tuple) else (one, self.epoch(one)) for one in isr]
        wanted = {"leader_epoch": partition.leader_epoch, "partition_epoch": partition.partition_epoch}
        change = AlterPartitionRequestPartition(
            partition_index=index,
            new_isr=[broker for broker, _ in states] if version < 3 else [],
            new_isr_with_epochs=[BrokerState(*one) for one in states] if version >= 3 else [],
            **{**wanted, **others},
        )
        topic = AlterPartitionRequestTopic(self.image.topics["t"].id, [change])
        return AlterPartitionRequest(broker_id=leader, broker_epoch=self.epoch(leader), topics=[topic])

    def alter_isr(self, *isr, version=3, **others):
        """The answer for the partition. Makes the change if the controller agrees."""
        decision = alter_partition(
            self.image, self.isr_request(*isr, version=version, **others), self.context, version
        )
        (answer,) = self.take(decision).topics[0].partitions
        return answer
