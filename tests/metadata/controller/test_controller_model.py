"""Random histories of brokers and partitions: a leader always has all acknowledged records.

A model of the logs counts the acknowledged records of each replica. Records are acknowledged if the whole ISR
has them and it is not below min.insync.replicas. A broker that crashes loses all its records.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.metadata.cluster import context, introduction, replay

from gralha.metadata.controller.active import ActiveController
from gralha.metadata.controller.brokers import (
    fence_broker,
    is_only_broker,
    register_broker,
    unregister_broker,
)
from gralha.metadata.controller.configs import incremental_alter_configs
from gralha.metadata.controller.features import update_features
from gralha.metadata.controller.heartbeats import heartbeat
from gralha.metadata.controller.isr_changes import alter_partition
from gralha.metadata.controller.leader_elections import balance_leaders, elect_leaders, elect_unclean_leaders
from gralha.metadata.controller.partition_changes import PartitionChanges
from gralha.metadata.controller.reassignments import alter_partition_reassignments
from gralha.metadata.controller.topics import create_topics
from gralha.metadata.delta import ImageDelta
from gralha.metadata.features import BOOTSTRAP_FEATURES, ELIGIBLE_LEADER_REPLICAS_VERSION
from gralha.metadata.image import EMPTY_IMAGE, NO_LEADER, TOPIC_RESOURCE, PartitionImage
from gralha.metadata.snapshot import snapshot_records
from gralha.protocol.messages import elect_leaders as elections
from gralha.protocol.messages import incremental_alter_configs as configs
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartition,
    AlterPartitionRequestTopic,
    BrokerState,
)
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from gralha.protocol.messages.cluster_records import FeatureLevelRecord
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from gralha.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

any_number = st.integers(0, 999)


class Controller(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.image = EMPTY_IMAGE
        self.context = context(node_id=100)
        self.incarnations = 0
        self.crashing = False
        # The acknowledged records by topic and partition, and those of each replica.
        self.acknowledged = {}
        self.logs = {}

    # The cluster

    @initialize(
        brokers=st.integers(1, 6),
        eligible=st.booleans(),
        topics=st.lists(
            st.tuples(st.integers(1, 3), st.integers(1, 3), st.booleans()), min_size=1, max_size=3
        ),
    )
    def start(self, brokers, eligible, topics):
        levels = {**BOOTSTRAP_FEATURES, ELIGIBLE_LEADER_REPLICAS_VERSION: int(eligible)}
        self.image, _ = replay(
            self.image, [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
        )
        ActiveController(self.image, self.context, 0)
        self.brokers = list(range(1, brokers + 1))
        for broker_id in self.brokers:
            self.register(broker_id, previous_epoch=-1)
            self.beat(broker_id)
        for number, (factor, min_isr, unclean) in enumerate(topics):
            self.create_topic(f"t{number}", min(factor, brokers), min_isr, unclean)

    def create_topic(self, name, factor, min_isr, unclean):
        chosen = {
            "min.insync.replicas": str(min_isr),
            "unclean.leader.election.enable": str(unclean).lower(),
        }
        topic = CreatableTopic(
            name=name,
            num_partitions=2,
            replication_factor=factor,
            assignments=[],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in chosen.items()],
        )
        self.take(create_topics(self.image, CreateTopicsRequest(topics=[topic]), self.context))

    def take(self, decision, forced_unclean=False, may_add_fenced=False, caught_up=()):
        before = self.image
        self.image, _ = replay(before, decision.records)
        for name, topic in self.image.topics.items():
            for index, partition in topic.partitions.items():
                key = name, index
                old = before.partition(name, index)
                if old is None:
                    self.acknowledged[key] = 0
                    self.logs[key] = dict.fromkeys(partition.replicas, 0)
                elif old != partition:
                    self.check_transition(key, old, partition, forced_unclean, may_add_fenced, caught_up)
        return decision.response

    def check_transition(self, key, old, new, forced_unclean, may_add_fenced, caught_up):
        assert new.partition_epoch > old.partition_epoch
        assert new.leader_epoch >= old.leader_epoch
        if new.leader != old.leader:
            assert new.leader_epoch > old.leader_epoch
        if not may_add_fenced:
            assert all(self.image.brokers[one].is_active for one in set(new.isr) - set(old.isr))
        if not self.crashing and (old.isr or old.eligible_leader_replicas):
            assert new.isr or new.eligible_leader_replicas, "nobody is left to wait for"
        if not set(old.replicas) <= set(new.replicas):
            assert new.leader_epoch > old.leader_epoch
        log = self.logs[key] = {one: self.logs[key].get(one, 0) for one in new.replicas}
        if new.leader_epoch == old.leader_epoch or new.leader == NO_LEADER:
            return
        if new.leader in {*old.isr, *old.eligible_leader_replicas, *caught_up}:
            assert log[new.leader] == self.acknowledged[key], "a leader without what was acknowledged"
        else:
            allowed = self.settings_of(key).unclean_elections or forced_unclean
            assert allowed or old.last_known_elr == (new.leader,)
            assert new.leader_recovery_state == 1
            assert new.isr == (new.leader,)
            self.acknowledged[key] = log[new.leader]
            for replica in log:
                log[replica] = min(log[replica], log[new.leader])

    def settings_of(self, key):
        return PartitionChanges(self.image, self.context).rules(key[0])

    def pick(self, number):
        keys = list(self.acknowledged)
        return keys[number % len(keys)]

    def partition_of(self, key: tuple[str, int]) -> PartitionImage:
        name, index = key
        return self.image.topics[name].partitions[index]

    # Brokers

    def register(self, broker_id, previous_epoch):
        self.incarnations += 1
        broker = introduction(broker_id)._replace(
            incarnation_id=self.incarnations.to_bytes(16, "big"), previous_epoch=previous_epoch
        )
        return self.take(register_broker(self.image, broker, self.context))

    def beat(self, broker_id, **wishes):
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            return None
        self.context.liveness.touch(broker_id, broker.epoch, 0, self.image.offset)
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=broker.epoch,
            current_metadata_offset=self.image.offset,
            **wishes,
        )
        return self.take(heartbeat(self.image, request, self.context))

    @rule(number=any_number)
    def heartbeat(self, number):
        self.beat(self.brokers[number % len(self.brokers)])

    @rule(number=any_number)
    def fence(self, number):
        broker_id = self.brokers[number % len(self.brokers)]
        self.take(fence_broker(self.image, broker_id, self.context))

    @rule(number=any_number)
    def want_fence(self, number):
        self.beat(self.brokers[number % len(self.brokers)], want_fence=True)

    @rule(number=any_number)
    def shut_down(self, number):
        broker_id = self.brokers[number % len(self.brokers)]
        self.beat(broker_id, want_shut_down=True)

    @rule(number=any_number)
    def crash_and_start(self, number):
        broker_id = self.brokers[number % len(self.brokers)]
        # The only broker stays the leader with what it has. Without eligible replicas crashes do not matter.
        loses = self.has_eligible() and not is_only_broker(self.image, broker_id)
        for log in self.logs.values() if loses else ():
            if broker_id in log:
                log[broker_id] = 0
        self.crashing = True
        self.register(broker_id, previous_epoch=-1)
        self.crashing = False

    @rule(number=any_number)
    def stop_and_start(self, number):
        broker_id = self.brokers[number % len(self.brokers)]
        if broker_id in self.image.brokers:
            self.register(broker_id, self.image.brokers[broker_id].epoch)

    @rule(number=any_number)
    def unregister(self, number):
        broker_id = self.brokers[number % len(self.brokers)]
        if broker_id in self.image.brokers:
            self.take(unregister_broker(self.image, broker_id, self.context))

    def has_eligible(self):
        return self.image.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0

    # Partitions

    @rule(number=any_number)
    def acknowledge(self, number):
        key = self.pick(number)
        partition = self.partition_of(key)
        least = min(self.settings_of(key).min_insync_replicas, len(partition.replicas))
        if partition.leader != NO_LEADER and len(partition.isr) >= least:
            self.acknowledged[key] += 1
            self.logs[key].update(dict.fromkeys(partition.isr, self.acknowledged[key]))

    @rule(number=any_number, wanted=st.sets(st.integers(1, 6)), stale=st.sampled_from([0, 0, 0, 1, -1]))
    def alter_isr(self, number, wanted, stale):
        """A leader adds replicas that have caught up to the ISR, and removes others."""
        key = self.pick(number)
        partition = self.partition_of(key)
        if partition.leader == NO_LEADER or partition.leader not in self.image.brokers:
            return
        isr = [one for one in partition.replicas if one in wanted or one == partition.leader]
        request = self.isr_request(key, partition, isr, stale)
        version = 3
        decision = alter_partition(self.image, request, self.context, version)
        (answer,) = decision.response.topics[0].partitions
        alive = all(one in self.image.brokers and self.image.brokers[one].is_active for one in isr)
        if stale or not alive:
            assert answer.error_code
            assert not decision.records
            return
        for one in isr:
            self.logs[key][one] = self.acknowledged[key]
        self.take(decision, caught_up=isr)
        after = self.partition_of(key)
        if not answer.error_code:
            assert (answer.leader_id, answer.leader_epoch) == (after.leader, after.leader_epoch)
            assert (tuple(answer.isr), answer.partition_epoch) == (after.isr, after.partition_epoch)
        else:
            assert answer.error_code == 108
            assert after.leader != partition.leader

    def isr_request(self, key, partition, isr, stale):
        brokers = self.image.brokers
        return AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=brokers[partition.leader].epoch,
            topics=[
                AlterPartitionRequestTopic(
                    topic_id=self.image.topics[key[0]].id,
                    partitions=[
                        AlterPartitionRequestPartition(
                            partition_index=key[1],
                            leader_epoch=partition.leader_epoch,
                            partition_epoch=partition.partition_epoch + stale,
                            new_isr_with_epochs=[
                                BrokerState(one, brokers[one].epoch if one in brokers else 7) for one in isr
                            ],
                        )
                    ],
                )
            ],
        )

    @rule(number=any_number, kind=st.sampled_from([0, 0, 0, 1]))
    def elect(self, number, kind):
        name, index = self.pick(number)
        request = elections.ElectLeadersRequest(
            election_type=kind, topic_partitions=[elections.TopicPartitions(name, [index])]
        )
        self.take(elect_leaders(self.image, request, self.context), forced_unclean=kind == 1)

    @rule()
    def balance(self):
        self.take(balance_leaders(self.image, self.context))

    @rule()
    def elect_unclean(self):
        self.take(elect_unclean_leaders(self.image, self.context))

    @rule(number=any_number, wanted=st.lists(st.integers(1, 6), unique=True, min_size=1, max_size=4))
    def reassign(self, number, wanted):
        self.move(number, [one for one in wanted if one in self.image.brokers] or None)

    @rule(number=any_number)
    def call_off(self, number):
        self.move(number, None)

    def move(self, number, target):
        name, index = self.pick(number)
        topic = ReassignableTopic(name, [ReassignablePartition(index, target)])
        request = AlterPartitionReassignmentsRequest(topics=[topic])
        response = self.take(alter_partition_reassignments(self.image, request, self.context))
        after = self.partition_of((name, index))
        if target and not response.responses[0].partitions[0].error_code:
            staying = [one for one in after.replicas if one not in after.removing_replicas]
            assert staying == target

    # Settings

    @rule(number=any_number, min_isr=st.integers(1, 3))
    def change_min_isr(self, number, min_isr):
        resource = configs.AlterConfigsResource(
            TOPIC_RESOURCE,
            self.pick(number)[0],
            [configs.AlterableConfig("min.insync.replicas", 0, str(min_isr))],
        )
        request = configs.IncrementalAlterConfigsRequest(resources=[resource])
        response = self.take(incremental_alter_configs(self.image, request, self.context))
        assert response.responses[0].error_code == 0

    @precondition(lambda self: not any(p.last_known_elr for p in self.partitions()))
    @rule(level=st.integers(0, 1))
    def switch_eligible_leaders(self, level):
        update = FeatureUpdateKey(
            feature=ELIGIBLE_LEADER_REPLICAS_VERSION,
            max_version_level=level,
            upgrade_type=1 if level else 2,
        )
        request = UpdateFeaturesRequest(feature_updates=[update])
        self.take(update_features(self.image, request, self.context, 2, 0), may_add_fenced=True)

    def partitions(self):
        return [one for topic in self.image.topics.values() for one in topic.partitions.values()]

    # Invariants

    @invariant()
    def only_the_living_lead(self):
        for partition in self.partitions():
            if partition.leader == NO_LEADER:
                continue
            assert partition.leader in partition.isr
            broker = self.image.brokers[partition.leader]
            # The only broker stays the leader while it starts, because nobody else has its partitions.
            assert broker.is_active or partition.replicas == (broker.id,)

    @invariant()
    def replicas_on_the_move_are_replicas(self):
        for partition in self.partitions():
            assert set(partition.adding_replicas) <= set(partition.replicas)
            assert set(partition.removing_replicas) <= set(partition.replicas)
            assert not set(partition.adding_replicas) & set(partition.removing_replicas)

    @invariant()
    def in_sync_is_who_has_everything(self):
        for key, acknowledged in self.acknowledged.items():
            partition = self.partition_of(key)
            assert all(self.logs[key][one] == acknowledged for one in partition.isr)
            assert all(self.logs[key][one] == acknowledged for one in partition.eligible_leader_replicas)

    @invariant()
    def a_snapshot_restores_it(self):
        delta = ImageDelta(EMPTY_IMAGE)
        for record in snapshot_records(self.image):
            delta.apply(record)
        restored, _ = delta.finish(self.image.offset, self.image.epoch)
        assert restored == self.image


Controller.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestController = Controller.TestCase
