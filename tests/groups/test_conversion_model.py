"""A group with clients of both protocols, which come, go, crash and change their protocol, at random.

Whatever happens, no partition has two owners, and what is in the log makes the same group. When nothing
happens any more, everybody has its place and every partition an owner.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.groups.harness import Recorder
from tests.groups.mixed_members import ClassicClient, Client, ConsumerClient
from tests.groups.shard_machine import FakeTopics, ShardMachine

from gralha.groups.config import GroupsConfig
from gralha.groups.group import GroupType
from gralha.protocol.errors import CoordinatorNotAvailableError, KafkaError
from gralha.protocol.message import Message

GROUP = "group"
TOPICS = {"a": 3, "b": 2}
INSTANCES = {"instance-1": frozenset("ab"), "instance-2": frozenset("a")}
MAX_CLIENTS = 5
TICK_MS = 1_000
QUIET_TICKS = 120


class MixedGroup(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.topics = FakeTopics(TOPICS)
        self.machine = ShardMachine(GroupsConfig(), self.topics)
        self.clients: list[Client] = []
        self.started = 0

    def ask(self, request: Message) -> Recorder:
        return self.machine.send(request, client_id=f"client-{self.started}")

    def start(self, kind: str, topics: frozenset[str], instance_id: str | None) -> None:
        self.started += 1
        ids = {name: topic.id for name, topic in self.topics.topics.items()}
        if kind == "consumer":
            client: Client = ConsumerClient(
                self.ask, GROUP, ids, topics, instance_id, f"member-{self.started}"
            )
        else:
            client = ClassicClient(self.ask, GROUP, ids, topics, instance_id, TOPICS, kind == "cooperative")
        self.clients.append(client)

    kinds = st.sampled_from(["eager", "cooperative", "consumer"])
    subscriptions = st.sampled_from([frozenset("ab"), frozenset("a"), frozenset("b")])
    picks = st.integers(0, MAX_CLIENTS - 1)

    @initialize(kind=kinds)
    def begin(self, kind: str) -> None:
        self.start(kind, frozenset("ab"), None)
        self.clients[0].poll()
        self.machine.advance(GroupsConfig().group_initial_rebalance_delay_ms)
        self.clients[0].poll()

    @precondition(lambda self: len(self.clients) < MAX_CLIENTS)
    @rule(kind=kinds, topics=subscriptions)
    def start_dynamic(self, kind: str, topics: frozenset[str]) -> None:
        self.start(kind, topics, None)
        self.clients[-1].poll()

    @precondition(lambda self: len(self.clients) < MAX_CLIENTS)
    @rule(kind=kinds, instance_id=st.sampled_from(sorted(INSTANCES)))
    def start_static(self, kind: str, instance_id: str) -> None:
        """Also in the place of one that crashed, or that is stopped for it.

        It always subscribes to the same: a stable classic group does not look at what a static member that
        comes back says (KIP-345).
        """
        for client in [each for each in self.clients if each.instance_id == instance_id]:
            client.leave()
            self.clients.remove(client)
        self.start(kind, INSTANCES[instance_id], instance_id)
        self.clients[-1].poll()

    @precondition(lambda self: self.clients)
    @rule(pick=picks)
    def stop(self, pick: int) -> None:
        client = self.clients.pop(pick % len(self.clients))
        client.leave()
        if client.instance_id is None and client.epoch > 0:
            assert not self.may_commit(client, client.epoch)

    @precondition(lambda self: self.clients)
    @rule(pick=picks)
    def crash(self, pick: int) -> None:
        del self.clients[pick % len(self.clients)]

    @precondition(lambda self: self.clients)
    @rule(pick=picks)
    def poll(self, pick: int) -> None:
        self.poll_client(self.clients[pick % len(self.clients)])

    def poll_client(self, client: Client) -> None:
        client.poll()
        self.every_partition_has_one_owner_at_most()
        if client.is_settled:
            assert self.may_commit(client, client.epoch)
            assert not self.may_commit(client, client.epoch + 1)

    @precondition(lambda self: self.clients)
    @rule(pick=picks)
    def poll_while_nothing_can_be_written(self, pick: int) -> None:
        self.machine.append_error = CoordinatorNotAvailableError()
        self.clients[pick % len(self.clients)].poll()
        self.machine.append_error = None

    @rule(ticks=st.integers(1, 12))
    def let_time_pass(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick()

    @rule()
    def reload(self) -> None:
        self.machine.reload()

    def tick(self) -> None:
        for client in self.clients:
            self.poll_client(client)
        self.machine.advance(TICK_MS)
        self.clients = [client for client in self.clients if not client.is_dead]

    @rule()
    def be_quiet(self) -> None:
        for _ in range(QUIET_TICKS):
            self.tick()
        assert all(client.is_settled for client in self.clients)
        subscribed = {topic for client in self.clients for topic in client.subscription}
        wanted = {(topic, number) for topic in subscribed for number in range(TOPICS[topic])}
        assert {partition for client in self.clients for partition in client.owned} == wanted
        if self.clients:
            speaks_consumer = any(isinstance(client, ConsumerClient) for client in self.clients)
            expected = GroupType.CONSUMER if speaks_consumer else GroupType.CLASSIC
            assert self.machine.room.groups[GROUP].type is expected

    @invariant()
    def every_partition_has_one_owner_at_most(self) -> None:
        owned = sorted(partition for client in self.clients for partition in client.owned)
        assert len(owned) == len(set(owned)), {each.member_id: sorted(each.owned) for each in self.clients}

    def may_commit(self, client: Client, epoch: int) -> bool:
        group = self.machine.room.groups[GROUP]
        try:
            return group.check_offset_commit(client.member_id, client.instance_id, epoch, False, 9) is None
        except KafkaError:
            return False

    @invariant()
    def the_log_makes_the_same_group(self) -> None:
        self.machine.check_replay()

    def teardown(self) -> None:
        self.be_quiet()


TestMixedGroup = MixedGroup.TestCase
TestMixedGroup.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
