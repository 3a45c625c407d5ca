"""Consumer groups among clients that are slow, lose answers, crash and come back; topics come and go.

At any moment no partition is with two members; epochs only grow; what the log says, compacted or not, is what
the coordinator knows. Once it is quiet, everybody has the epoch and the partitions that it should have, and
every partition of a subscribed topic is with exactly one of its subscribers.
"""

from collections import Counter
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.groups.consumer_client import Client, Subscription
from tests.groups.consumer_room import GROUP, INTERVAL_MS, Consumer, FakeTopics

from gralha.groups.consumer_group import ConsumerGroup, GroupState
from gralha.groups.records import GroupRecord, encode_record
from gralha.protocol.errors import NotEnoughReplicasError

WHICH = st.integers(0, 3)
SLOTS = range(4)
STATIC_SLOTS = (0, 1)
TOPICS = ("a", "b", "ab")
SUBSCRIPTIONS = st.one_of(
    st.sets(st.sampled_from(TOPICS), max_size=2).map(lambda names: Subscription(tuple(sorted(names)))),
    st.sampled_from((Subscription(regex="a.*"), Subscription(regex=".*b"), Subscription(("a",), "b"))),
)
HEARTBEAT_MS = 5_000
# Longer than a session, a revocation and a look-up of regular expressions, one after the other.
ROUNDS_TO_SETTLE = 30


class ConsumerGroupModel(RuleBasedStateMachine):
    @initialize(
        interval_ms=st.sampled_from((0, INTERVAL_MS)),
        partition_counts=st.tuples(st.integers(1, 4), st.integers(1, 4)),
        subscriptions=st.lists(SUBSCRIPTIONS, min_size=1, max_size=len(SLOTS)),
    )
    def start(
        self, interval_ms: int, partition_counts: tuple[int, int], subscriptions: list[Subscription]
    ) -> None:
        self.topics = FakeTopics(**dict(zip(TOPICS, partition_counts, strict=False)))
        self.machine = Consumer(self.topics, assignment_interval_ms=interval_ms)
        self.clients: dict[int, Client] = {}
        self.started = 0
        self.epochs = (0, 0)
        for subscription in subscriptions:
            self.start_client(0, subscription, False)
            self.machine.advance(HEARTBEAT_MS)

    # Members

    def client(self, which: int) -> Client:
        return self.clients[self.slot(which)]

    def slot(self, which: int) -> int:
        slots = sorted(self.clients)
        return slots[which % len(slots)]

    @precondition(lambda self: len(self.clients) < len(SLOTS))
    @rule(which=WHICH, subscription=SUBSCRIPTIONS, is_lost=st.booleans())
    def start_client(self, which: int, subscription: Subscription, is_lost: bool) -> None:
        free = [slot for slot in SLOTS if slot not in self.clients]
        slot = free[which % len(free)]
        self.started += 1
        instance_id = f"i{slot}" if slot in STATIC_SLOTS else None
        self.clients[slot] = Client(f"m{self.started}", subscription, instance_id)
        self.clients[slot].heartbeat(self.machine, is_lost)

    @precondition(lambda self: self.clients)
    @rule(which=WHICH, is_lost=st.booleans(), comes_to_goal=st.booleans())
    def heartbeat(self, which: int, is_lost: bool, comes_to_goal: bool) -> None:
        if comes_to_goal:
            self.client(which).come_to_goal()
        self.client(which).heartbeat(self.machine, is_lost)

    @precondition(lambda self: self.clients)
    @rule(random=st.randoms(use_true_random=False), rounds=st.integers(1, 4))
    def everybody_goes_on(self, random: Random, rounds: int) -> None:
        for _ in range(rounds):
            self.machine.advance(HEARTBEAT_MS)
            for client in self.clients.values():
                if random.random() < 0.7:
                    client.come_to_goal()
                if random.random() < 0.9:
                    client.heartbeat(self.machine, random.random() < 0.1)
                self.no_partition_is_with_two_members()

    @precondition(lambda self: self.clients)
    @rule(which=WHICH, subscription=SUBSCRIPTIONS)
    def subscribe(self, which: int, subscription: Subscription) -> None:
        self.client(which).subscription = subscription
        self.client(which).heartbeat(self.machine)

    @precondition(lambda self: self.clients)
    @rule(which=WHICH)
    def crash(self, which: int) -> None:
        del self.clients[self.slot(which)]

    @precondition(lambda self: self.clients)
    @rule(which=WHICH, is_static=st.booleans())
    def leave(self, which: int, is_static: bool) -> None:
        slot = self.slot(which)
        self.clients.pop(slot).leave(self.machine, -2 if is_static and slot in STATIC_SLOTS else -1)

    # Topics

    @rule(name=st.sampled_from(TOPICS), partition_count=st.integers(1, 5))
    def create_or_grow_topic(self, name: str, partition_count: int) -> None:
        topic = self.topics.by_name(name)
        if topic is None:
            self.topics.create(name, partition_count)
        elif topic.partition_count < partition_count:
            self.topics.grow(name, partition_count)

    @precondition(lambda self: self.topics.topics)
    @rule(which=WHICH)
    def delete_topic(self, which: int) -> None:
        names = sorted(self.topics.topics)
        self.topics.delete(names[which % len(names)])

    # The coordinator

    @rule()
    def let_appends_fail_or_work(self) -> None:
        works = self.machine.append_error is None
        self.machine.append_error = NotEnoughReplicasError() if works else None

    @rule(milliseconds=st.sampled_from((1, INTERVAL_MS, HEARTBEAT_MS, 20_000, 50_000)))
    def wait(self, milliseconds: int) -> None:
        self.machine.advance(milliseconds)

    @rule(milliseconds=st.sampled_from((-30_000, -1_000, 1_000, 100_000)))
    def set_clock(self, milliseconds: int) -> None:
        self.machine.timers.shift(milliseconds)
        self.machine.now_ms += milliseconds

    @rule()
    def stall(self) -> None:
        self.machine.jump(70_000)

    @rule()
    def compact_the_log_and_change_coordinator(self) -> None:
        self.check_the_log_has_it_all()
        self.machine.log[:] = compacted(self.machine.log)
        self.check_the_log_has_it_all()
        self.machine.reload()

    # What must hold

    @property
    def group(self) -> ConsumerGroup:
        group = self.machine.groups.get(GROUP)
        return group if isinstance(group, ConsumerGroup) else ConsumerGroup(GROUP)

    @invariant()
    @precondition(lambda self: hasattr(self, "machine"))
    def no_partition_is_with_two_members(self) -> None:
        held = Counter(each for member in self.group.members.values() for each in member.partitions())
        assert all(count == 1 for count in held.values())
        assert held.keys() == self.group.owners.keys()
        for client in self.clients.values():
            member = self.group.members.get(client.member_id)
            if member is not None and client.epoch > 0:
                assert client.owned <= set(member.partitions()), "it uses what another may be given"

    @invariant()
    @precondition(lambda self: hasattr(self, "machine"))
    def epochs_only_grow(self) -> None:
        epochs = (self.group.epoch, self.group.assignment_epoch)
        assert epochs[0] >= self.epochs[0]
        assert epochs[1] >= self.epochs[1]
        assert epochs[1] <= epochs[0]
        self.epochs = epochs

    @invariant()
    @precondition(lambda self: hasattr(self, "machine"))
    def only_regexes_that_are_used_are_kept(self) -> None:
        assert self.group.regexes.keys() == self.group.subscribed_regexes

    def check_the_log_has_it_all(self) -> None:
        loaded = self.machine.groups_of(self.machine.loaded())
        assert loaded.keys() == self.machine.groups.keys()
        if loaded:
            assert durable(loaded[GROUP]) == durable(self.group)

    def teardown(self) -> None:
        if hasattr(self, "machine"):
            self.settle()
            self.check_the_log_has_it_all()

    def settle(self) -> None:
        self.machine.append_error = None
        for _ in range(ROUNDS_TO_SETTLE):
            for client in self.clients.values():
                client.come_to_goal()
                client.heartbeat(self.machine)
            self.machine.advance(HEARTBEAT_MS)
            self.no_partition_is_with_two_members()
            self.epochs_only_grow()
        assert self.group.members.keys() == {client.member_id for client in self.clients.values()}
        if not self.clients:
            return
        assert self.group.state is GroupState.STABLE
        for client in self.clients.values():
            member = self.group.members[client.member_id]
            assert client.epoch == member.epoch == self.group.epoch
            assert client.owned == set(member.partitions())
        self.check_all_partitions_are_assigned()

    def check_all_partitions_are_assigned(self) -> None:
        owned = Counter(each for client in self.clients.values() for each in client.owned)
        expected = Counter[tuple[bytes, int]]()
        for topic in self.topics.topics.values():
            subscribers = [each for each in self.clients.values() if matches(each.subscription, topic.name)]
            for partition in range(topic.partition_count if subscribers else 0):
                expected[topic.id, partition] = 1
                assert any((topic.id, partition) in client.owned for client in subscribers)
        assert owned == expected


def matches(subscription: Subscription, topic: str) -> bool:
    by_regex = {"": False, "a.*": topic.startswith("a"), ".*b": topic.endswith("b"), "b": topic == "b"}
    return topic in subscription.topics or by_regex[subscription.regex]


def compacted(log: list[GroupRecord]) -> list[GroupRecord]:
    """Only the last record of each key, and of what is gone nothing at all."""
    last = {encode_record(record)[0]: number for number, record in enumerate(log)}
    return [log[number] for number in sorted(last.values()) if log[number].value is not None]


def durable(group: object) -> dict[str, object]:
    """All but what is worked out anew."""
    return {
        name: value
        for name, value in vars(group).items()
        if name not in ("checks", "_subscribed_topics", "_subscribed_regexes")
    }


TestConsumerGroupModel = ConsumerGroupModel.TestCase
TestConsumerGroupModel.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
