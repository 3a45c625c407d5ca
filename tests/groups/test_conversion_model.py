"""A group with clients of both protocols, which come, go, crash and change their protocol, at random.

Whatever happens, no partition has two owners, and what is in the log makes the same group. When nothing
happens any more, everybody has its place and every partition an owner.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.groups.mixed_group import GROUP, MixedGroup
from tests.groups.mixed_members import Client, ConsumerClient

from gralha.groups.classic_group import ClassicGroup, ClassicState
from gralha.groups.config import GroupsConfig
from gralha.groups.group import GroupType
from gralha.protocol.errors import KafkaError, NotEnoughReplicasError

TOPICS = {"a": 3, "b": 2}
INSTANCES = {"instance-1": "ab", "instance-2": "a"}
MAX_CLIENTS = 5
TICK_MS = 1_000
QUIET_TICKS = 120


class MixedGroups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = MixedGroup(None, **TOPICS)
        self.machine = self.world.machine
        self.paused: list[Client] = []
        self.were_paused: list[Client] = []
        self.forgotten_ids: set[str] = set()

    @property
    def clients(self) -> list[Client]:
        return self.world.clients

    kinds = st.sampled_from(["eager", "cooperative", "consumer"])
    subscriptions = st.sampled_from(["ab", "a", "b"])
    picks = st.integers(0, MAX_CLIENTS - 1)

    @initialize(kind=kinds)
    def begin(self, kind: str) -> None:
        self.world.start(kind, "ab", None)
        self.clients[0].poll()
        self.machine.advance(GroupsConfig().group_initial_rebalance_delay_ms)
        self.clients[0].poll()

    @precondition(lambda self: len(self.clients) < MAX_CLIENTS)
    @rule(kind=kinds, topics=subscriptions)
    def start_dynamic(self, kind: str, topics: str) -> None:
        self.world.start(kind, topics, None)
        self.clients[-1].poll()

    @precondition(lambda self: len(self.clients) < MAX_CLIENTS)
    @rule(kind=kinds, instance_id=st.sampled_from(sorted(INSTANCES)))
    def start_static(self, kind: str, instance_id: str) -> None:
        """Also in the place of one that crashed or paused, or that is stopped for it.

        It always subscribes to the same: a stable classic group does not look at what a static member that
        comes back says (KIP-345).
        """
        for client in [each for each in self.clients if each.instance_id == instance_id]:
            client.leave()
            self.clients.remove(client)
        self.paused = [each for each in self.paused if each.instance_id != instance_id]
        self.world.start(kind, INSTANCES[instance_id], instance_id)
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
    def pause(self, pick: int) -> None:
        """It neither reads nor sends anything, and so cannot know what becomes of its partitions."""
        self.paused.append(self.clients.pop(pick % len(self.clients)))

    @precondition(lambda self: self.paused and len(self.clients) < MAX_CLIENTS)
    @rule(pick=picks)
    def resume(self, pick: int) -> None:
        client = self.paused.pop(pick % len(self.paused))
        self.clients.append(client)
        self.were_paused.append(client)
        self.poll_client(client)

    @precondition(lambda self: self.clients)
    @rule(pick=picks)
    def poll(self, pick: int) -> None:
        self.poll_client(self.clients[pick % len(self.clients)])

    def poll_client(self, client: Client) -> None:
        client.poll()
        self.every_partition_has_one_owner_at_most()
        if client.is_dead:
            # This happens only to those who missed that they were removed, or whose id was lost on the way.
            assert client in self.were_paused or client.member_id in self.forgotten_ids
        elif client.is_settled:
            assert self.may_commit(client, client.epoch)
            assert not self.may_commit(client, client.epoch + 1)

    @precondition(lambda self: self.clients)
    @rule(pick=picks)
    def poll_while_nothing_can_be_written(self, pick: int) -> None:
        self.machine.append_error = NotEnoughReplicasError()
        self.clients[pick % len(self.clients)].poll()
        self.machine.append_error = None

    @rule(ticks=st.integers(1, 12))
    def let_time_pass(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick()

    @rule()
    def reload(self) -> None:
        """A static member that came back during a rebalance may be fenced afterwards, as in Kafka.

        A classic group is written when its rebalance ends, with the ids that its members have then. One that
        is loaded earlier knows the instance by its former id, and takes the new id for that of a process that
        was replaced: it cannot tell the two apart.
        """
        before = self.unwritten_static_ids()
        self.machine.reload()
        if before:
            after = self.world.classic.static_members
            self.forgotten_ids |= {
                each for instance, each in before.items() if after.get(instance, each) != each
            }

    def unwritten_static_ids(self) -> dict[str, str]:
        """The member ids by instance id of a group that rebalances; at other times all are in the log."""
        group = self.machine.room.groups.get(GROUP)
        rebalances = (ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE)
        if isinstance(group, ClassicGroup) and group.state in rebalances:
            return dict(group.static_members)
        return {}

    def tick(self) -> None:
        for client in self.clients:
            self.poll_client(client)
        self.machine.advance(TICK_MS)
        self.world.clients = [client for client in self.clients if not client.is_dead]

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
            assert self.world.group.type is expected

    @invariant()
    def every_partition_has_one_owner_at_most(self) -> None:
        owned = sorted(partition for client in self.clients for partition in client.owned)
        assert len(owned) == len(set(owned)), {each.member_id: sorted(each.owned) for each in self.clients}

    def may_commit(self, client: Client, epoch: int) -> bool:
        group = self.machine.room.groups.get(GROUP)
        if group is None:
            return False  # it was empty for so long that it was deleted, and so has no members
        try:
            return group.check_offset_commit(client.member_id, client.instance_id, epoch, False, 9) is None
        except KafkaError:
            return False

    @invariant()
    def the_log_makes_the_same_group(self) -> None:
        self.machine.check_replay()

    def teardown(self) -> None:
        self.be_quiet()


TestMixedGroups = MixedGroups.TestCase
TestMixedGroups.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
