"""Classic groups under random joins, restarts, deaths, late requests, failing logs and coordinators.

Consumers live their lives step by step; between any two steps anything may happen. The witness compares all
answers; the invariants look at the group; in the end everybody must come to rest: with living consumers, in
a stable group that has divided all partitions, and without them, in an empty one that owes nobody an answer.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.groups.classic_clients import PARTITIONS, SESSION_MS, Client, Membership, Witness
from tests.groups.classic_room import GROUP, Classic, lasting

from gralha.groups.classic_group import ClassicGroup, ClassicState
from gralha.protocol.errors import ErrorCode, KafkaStorageError

CLIENTS = st.integers(0, 4)
SOME_CLIENTS = st.lists(CLIENTS, min_size=1, unique=True)
SHORT_MS, LONG_MS = SESSION_MS - 2_000, SESSION_MS + 4_000  # rebalance timeouts, below and above a session
TIME_MS = st.sampled_from([1, 500, 2_999, 3_000, SHORT_MS, SESSION_MS - 1, SESSION_MS, LONG_MS, 3 * LONG_MS])
TOPICS = st.sampled_from([("t",), ("u",), ("t", "u")])
PROTOCOLS = st.sampled_from([("range",), ("range", "sticky"), ("sticky", "range")])
NEW_MEMBER_MS = 30_000
LATE_ANSWERS = (
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
)


class ClassicGroups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.witness = Witness()
        self.generation = 0
        self.loaded_generation = 0

    @initialize(
        max_size=st.sampled_from([100, 100, 3]),
        rebalance_ms=st.sampled_from([SHORT_MS, LONG_MS]),
        is_stable=st.booleans(),
    )
    def start(self, max_size: int, rebalance_ms: int, is_stable: bool) -> None:
        self.room = Classic(group_max_size=max_size, new_member_join_timeout_ms=NEW_MEMBER_MS)
        self.clients = [
            Client(self.room, self.witness, rebalance_ms, version, instance_id)
            for version, instance_id in ((3, None), (9, None), (9, None), (8, "static 8"), (9, "static 9"))
        ]
        if is_stable:
            self.everybody_comes_to_rest()

    # What consumers do

    @rule(indexes=SOME_CLIENTS, times=st.integers(1, 4))
    def act(self, indexes: list[int], times: int) -> None:
        for _ in range(times):
            for index in indexes:
                self.clients[index].act()

    @rule(index=CLIENTS, topics=TOPICS, protocols=PROTOCOLS)
    def change_metadata(self, index: int, topics: tuple[str, ...], protocols: tuple[str, ...]) -> None:
        client = self.clients[index]
        client.topics, client.protocols = topics, protocols
        client.lose_connection()

    @rule(index=CLIENTS)
    def die_and_start_again(self, index: int) -> None:
        self.clients[index].start_again()
        self.clients[index].act()

    @rule(index=CLIENTS)
    def send_again(self, index: int) -> None:
        self.clients[index].send_again()

    @rule(index=CLIENTS)
    def leave(self, index: int) -> None:
        self.clients[index].leave()

    # What comes late

    @precondition(lambda self: self.witness.memberships)
    @rule(data=st.data(), is_sync=st.booleans())
    def late_request(self, data: st.DataObject, is_sync: bool) -> None:
        old = data.draw(st.sampled_from(self.witness.memberships))
        if not self._is_outdated(old):
            return
        if is_sync:
            everything = {client.member_id: b"all mine" for client in self.clients}
            code = self.room.sync(old.member_id, old.generation, everything, instance_id=old.instance_id).code
        else:
            code = self.room.heartbeat(old.member_id, old.generation, instance_id=old.instance_id)
        assert code in LATE_ANSWERS

    def _is_outdated(self, old: Membership) -> bool:
        """Of another generation, or of a static member that has another id by now."""
        group = self._group()
        if group is None or old.generation != group.generation:
            return True
        return group.static_members.get(old.instance_id or "", old.member_id) != old.member_id

    # What happens to the coordinator

    @rule(milliseconds=TIME_MS, unnoticed=st.booleans())
    def time_passes(self, milliseconds: int, unnoticed: bool) -> None:
        if unnoticed:
            self.room.machine.jump(milliseconds)
        else:
            self.room.advance(milliseconds)

    @rule(
        indexes=SOME_CLIENTS, starts_again=st.booleans(), milliseconds=st.sampled_from([0, 0, 1, SESSION_MS])
    )
    def log_fails_for_a_while(self, indexes: list[int], starts_again: bool, milliseconds: int) -> None:
        self.room.machine.append_error = KafkaStorageError()
        if starts_again:
            self.clients[indexes[0]].start_again()
        for index in indexes:
            self.clients[index].act()
        self.room.advance(milliseconds)
        self.room.machine.append_error = None

    @rule()
    def coordinator_moves(self) -> None:
        self.room.machine.reload()
        self.witness.coordinator += 1
        group = self._group()
        self.generation = self.loaded_generation = 0 if group is None else group.generation

    # What is always true

    @invariant()
    def generations_grow(self) -> None:
        group = self._group()
        if group is not None:
            assert group.generation >= self.generation
            self.generation = group.generation

    @invariant()
    def a_generation_is_of_those_who_have_joined_it(self) -> None:
        self.witness.listen()
        group = self._group()
        if group is None or group.state not in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            return
        if group.generation == self.loaded_generation:
            return
        joined = self.witness.joined[self.witness.coordinator, group.generation]
        assert {each.member_id for each in group.members.values() if not each.is_static} <= joined
        assert group.leader_id in joined

    @invariant()
    def the_log_knows_what_lasts(self) -> None:
        group = self._group()
        machine = self.room.machine if hasattr(self, "room") else None
        if machine is None:
            return
        loaded = machine.loaded().groups.get(GROUP)
        assert (loaded is None) == (group is None)
        if group is None:
            return
        assert isinstance(loaded, ClassicGroup)
        assert loaded.generation >= self.witness.assigned_generation
        assert loaded.written == group.written
        assert loaded.members.keys() <= group.members.keys(), "the log knows members that are gone"
        if group.state in (ClassicState.STABLE, ClassicState.EMPTY):
            assert lasting(loaded) == lasting(group)

    @invariant()
    def nobody_waits_in_the_wrong_phase(self) -> None:
        group = self._group()
        if group is None:
            return
        assert not group.waiting_joins or group.state is ClassicState.PREPARING_REBALANCE
        assert not group.waiting_syncs or group.state is ClassicState.COMPLETING_REBALANCE
        assert set(group.waiting_joins) | set(group.waiting_syncs) <= set(group.members)

    def _group(self) -> ClassicGroup | None:
        return self.room.group if hasattr(self, "room") and GROUP in self.room.machine.room.groups else None

    # How it ends

    @rule()
    def everybody_comes_to_rest(self) -> None:
        for _ in range(80):
            for client in self.clients:
                client.act()
            self.witness.listen()
            self.room.advance(1_000)
        members = [client for client in self.clients if client.owned is not None]
        assert len(members) == min(len(self.clients), self.room.config.group_max_size)
        assert self.room.state == "Stable"
        assert {client.generation for client in members} == {self.room.group.generation}
        owned = [partition for client in members for partition in client.owned or ()]
        # A static member that starts again with other topics waits for the next rebalance to get them.
        wanted = self.witness.wanted[self.room.group.generation]
        assert {topic for client in members if not client.instance_id for topic in client.topics} <= wanted
        everything = [(topic, number) for topic in sorted(wanted) for number in range(PARTITIONS[topic])]
        assert sorted(owned) == everything

    def teardown(self) -> None:
        if not hasattr(self, "room"):
            return
        self.room.advance(NEW_MEMBER_MS + 10 * LONG_MS)
        self.witness.listen()
        assert self.witness.requests == [], "a request was never answered"
        assert self.room.machine.open == []
        group = self._group()
        if group is not None:
            assert (group.state, group.members, group.pending_members) == (ClassicState.EMPTY, {}, set())
        assert self.room.machine.timers.pop_due(1 << 60) is None


TestClassicGroups = ClassicGroups.TestCase
TestClassicGroups.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
