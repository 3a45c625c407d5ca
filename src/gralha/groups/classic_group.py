"""A classic group: the coordinator brings members together, and one of them, the leader, assigns partitions.

    Empty ───────────────> PreparingRebalance      A first member joins. Others get a moment to join, too.
    PreparingRebalance ──> CompletingRebalance     All members have joined, or the late ones are removed.
                                                   A new generation begins; its leader learns the members.
    CompletingRebalance ─> Stable                  The leader has sent the assignment, and it is written.
    CompletingRebalance ─> PreparingRebalance      A member joins, leaves, dies or changes its subscription.
    Stable ──────────────> PreparingRebalance      The same.
    all others ──────────> Empty                   The last member has gone.

The state of a group has two parts. `written` is what the log says: a generation, its members and their
assignments. Only `replay` changes it. The rest is in memory alone: members that have joined and are in no
record yet, requests that wait for an answer, ids that were handed out, the phase of the rebalance. The rest
is lost with the coordinator, and the clients start again. `replay` keeps the rest unless the record
contradicts it.

The coordinator writes a record when a leader has assigned, and when members go (see classic_records.py). A
coordinator that loads a group finds it Stable, Empty, or in PreparingRebalance if members had gone.

This module has the state and its rules. The modules classic.py, classic_join.py and classic_rebalance.py
change it when requests come and timers run out.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum

from gralha.coordination.decision import Reply
from gralha.groups.classic_member import ClassicMember, loaded_member
from gralha.groups.consumer_protocol import CONSUMER_PROTOCOL_TYPE, protocol_version
from gralha.groups.group import Group, GroupType
from gralha.groups.records import GroupRecord
from gralha.protocol.batches import NO_TIMESTAMP
from gralha.protocol.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaError,
    NonEmptyGroupError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from gralha.protocol.messages.join_group import JoinGroupResponseMember
from gralha.protocol.primitives import ProtocolError, Reader


class ClassicState(Enum):
    """The value is Kafka's name. Kafka calls a group Dead if it does not exist."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicGroup(Group):
    """Everything that a coordinator knows of a classic group."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.type = GroupType.CLASSIC
        self.state = ClassicState.EMPTY
        # When the group came into this state; NO_TIMESTAMP if an old record did not say.
        self.state_timestamp_ms = NO_TIMESTAMP
        self.written = GroupMetadataValue("", 0, None, None)  # what the log says
        self.generation = 0
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.pending_members: set[str] = set()  # ids that nobody has joined with yet (KIP-394)
        self.pending_sync_members: set[str] = set()  # members that have not sent a SyncGroup yet
        self.waiting_joins: dict[str, Reply] = {}
        self.waiting_syncs: dict[str, Reply] = {}
        self.is_initial_rebalance = False  # the present rebalance began in an empty group
        self.has_joined_during_delay = False  # a member has joined since the delay began
        self.subscribed_topics: frozenset[str] | None = None  # None if it is not known
        self._protocol_type = ""
        self._supporters: Counter[str] = Counter()  # how many members support a protocol

    # The group as offsets, listings and deletions see it

    @property
    def state_name(self) -> str:
        """Kafka's name for the state."""
        return self.state.value

    @property
    def protocol_type(self) -> str:
        """The kind of its members: "consumer", "connect", ...; "" if the group never had members."""
        return self._protocol_type

    @property
    def is_empty(self) -> bool:
        """Whether the group has no members. Ids that were handed out do not count."""
        return self.state is ClassicState.EMPTY

    @property
    def is_of_consumers(self) -> bool:
        """Whether its members are consumers."""
        return self._protocol_type == CONSUMER_PROTOCOL_TYPE

    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None] | None:
        """Only members of this generation may commit. An empty group takes commits from anyone."""
        if member_epoch < 0 and self.is_empty:
            return None
        if member_epoch >= 0 or member_id or instance_id is not None:
            self.check_member(member_id, instance_id)
            self.check_generation(member_epoch)
        elif not is_transactional:
            # Only a producer from before KIP-447 names no member.
            raise UnknownMemberIdError()
        if not is_transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            raise RebalanceInProgressError()
        return None

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Anyone may read the offsets of a classic group."""

    def check_offset_delete(self) -> None:
        """If the members are not consumers, the coordinator does not know which topics they use."""
        if not self.is_empty and not self.is_of_consumers:
            raise NonEmptyGroupError()

    def check_delete(self) -> None:
        """Only a group without members can be deleted."""
        if not self.is_empty:
            raise NonEmptyGroupError()

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member subscribes to the topic. If subscriptions cannot be read, it might."""
        if self.subscribed_topics is None:
            return self.is_of_consumers
        return topic in self.subscribed_topics

    def tombstones(self) -> list[GroupRecord]:
        """The tombstone of the group's only record."""
        return [GroupRecord(GroupMetadataKey(group=self.group_id), None)]

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        """Retention begins when the group became empty, or with the commit if it had no members."""
        if not self._protocol_type:
            return commit_timestamp_ms
        if self.is_empty:
            return commit_timestamp_ms if self.state_timestamp_ms == NO_TIMESTAMP else self.state_timestamp_ms
        if self.is_of_consumers and self.subscribed_topics is not None and self.state is ClassicState.STABLE:
            return commit_timestamp_ms
        return None

    # Rules

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Refuse an unknown member, and a static member that was started again elsewhere."""
        if instance_id is not None:
            current_id = self.static_members.get(instance_id)
            if current_id is None:
                raise UnknownMemberIdError()
            if current_id != member_id:
                raise FencedInstanceIdError()
        if member_id not in self.members:
            raise UnknownMemberIdError()

    def check_generation(self, generation: int) -> None:
        """Refuse a request that names another generation."""
        if generation != self.generation:
            raise IllegalGenerationError()

    def supports(self, protocol_type: str, protocols: Mapping[str, bytes]) -> bool:
        """Whether all members support one of these protocols. An empty group takes any."""
        if self.is_empty:
            return bool(protocol_type and protocols)
        if protocol_type != self._protocol_type:
            return False
        return any(self._supporters[name] == len(self.members) for name in protocols)

    @property
    def has_everybody_joined(self) -> bool:
        """Whether all members wait for the next generation, and no id was handed out that is not used yet."""
        return len(self.members) == len(self.waiting_joins) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """The time that members have to join or to sync: the longest that any of them asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_leader(self, member_id: str) -> bool:
        """Whether this member assigns."""
        return self.leader_id == member_id

    # Members

    def add(self, member: ClassicMember, protocol_type: str, reply: Reply | None = None) -> None:
        """Add a member. With a reply, it waits for the next generation."""
        if not self.members:
            self._protocol_type = protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._supporters.update(member.protocols.keys())
        self.pending_members.discard(member.member_id)
        if reply is not None:
            self.waiting_joins[member.member_id] = reply

    def remove(self, member_id: str) -> None:
        """Remove a member, or an id that nobody has joined with. Requests that wait are answered."""
        self.pending_members.discard(member_id)
        self.pending_sync_members.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._supporters -= Counter(member.protocols.keys())
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)
        if not self.members:
            self.state = ClassicState.EMPTY
        # Kafka does not answer the SyncGroup of a member that was removed.
        self.fail_requests(member_id, UnknownMemberIdError())

    def update(
        self,
        member: ClassicMember,
        protocols: dict[str, bytes],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """A member has joined again, with other protocols or timeouts."""
        self._supporters -= Counter(member.protocols.keys())  # unlike subtract() it keeps no zeros
        self._supporters.update(protocols.keys())
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_static_member(self, instance_id: str, member_id: str) -> ClassicMember:
        """A static member is back under a new id. It takes over everything that it had under the old one.

        A request that waits under the old id comes from a second process with that instance id: it is fenced.
        """
        old_id = self.static_members[instance_id]
        self.fail_requests(old_id, FencedInstanceIdError())
        member = self.members[old_id]
        member.member_id, member.is_new = member_id, False
        # The member keeps its place, because the order of members is the order in the record.
        self.members = {each.member_id: each for each in self.members.values()}
        self.static_members[instance_id] = member_id
        if self.is_leader(old_id):
            self.leader_id = member_id
        if old_id in self.pending_sync_members:
            self.pending_sync_members.remove(old_id)
            self.pending_sync_members.add(member_id)
        return member

    # Requests that wait

    def wait_for_join(self, member_id: str, reply: Reply) -> None:
        """Keep a JoinGroup. An older JoinGroup of this member came over a connection that it has given up."""
        _fail(self.waiting_joins.pop(member_id, None), RebalanceInProgressError())
        self.waiting_joins[member_id] = reply

    def wait_for_sync(self, member_id: str, reply: Reply) -> None:
        """Keep a SyncGroup until the leader has assigned."""
        _fail(self.waiting_syncs.pop(member_id, None), RebalanceInProgressError())
        self.waiting_syncs[member_id] = reply

    def answer_join(self, member_id: str, response: Message) -> None:
        """Answer the JoinGroup of a member if one waits."""
        reply = self.waiting_joins.pop(member_id, None)
        if reply is not None:
            reply.send(response)

    def fail_requests(self, member_id: str, error: KafkaError) -> None:
        """Answer all requests of a member that wait with an error."""
        _fail(self.waiting_joins.pop(member_id, None), error)
        _fail(self.waiting_syncs.pop(member_id, None), error)

    def fail_all_requests(self, error: KafkaError) -> None:
        """Answer all requests that wait with an error."""
        for member_id in [*self.waiting_joins, *self.waiting_syncs]:
            self.fail_requests(member_id, error)

    # A generation

    def prepare_rebalance(self, now_ms: int) -> None:
        """From now on, all members have to join again."""
        self.is_initial_rebalance = self.is_empty
        self.has_joined_during_delay = False
        self.pending_sync_members.clear()
        self.state, self.state_timestamp_ms = ClassicState.PREPARING_REBALANCE, now_ms

    def keep_leader(self, leader_id: str | None) -> None:
        """Let a member lead on after the replay of a record without a leader, if it is still a member."""
        if leader_id in self.members:
            self.leader_id = leader_id

    def elect_joined_leader(self) -> bool:
        """Let a member lead that has joined, the present leader if possible. False if none has joined."""
        if self.leader_id not in self.waiting_joins:
            self.leader_id = next(iter(self.waiting_joins), self.leader_id)
        return self.leader_id in self.waiting_joins

    def start_generation(self, now_ms: int) -> None:
        """Begin the next generation with the present members."""
        assert self.state is ClassicState.PREPARING_REBALANCE, f"{self.group_id} is {self.state_name}"
        self.generation += 1
        self.protocol_name = choose_protocol([member.protocols for member in self.members.values()])
        self._note_topics(self.metadata_of(member) for member in self.members.values())
        self.state, self.state_timestamp_ms = ClassicState.COMPLETING_REBALANCE, now_ms
        self.pending_sync_members = set(self.members)

    def member_list(self) -> list[JoinGroupResponseMember]:
        """The members and their metadata, for the leader, which assigns."""
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=self.metadata_of(member),
            )
            for member in self.members.values()
        ]

    def metadata_of(self, member: ClassicMember) -> bytes:
        """The member's metadata for the chosen protocol. For a consumer this is its subscription."""
        assert self.protocol_name is not None, "no protocol is chosen in an empty group"
        return member.protocols[self.protocol_name]

    def _note_topics(self, subscriptions: Iterable[bytes]) -> None:
        """Note the topics in the subscriptions of the members, if they are consumers."""
        self.subscribed_topics = None
        if not self.is_of_consumers:
            return
        try:
            topics = [_subscribed_topics(subscription) for subscription in subscriptions]
        except ProtocolError:
            return  # clients may put anything there
        self.subscribed_topics = frozenset().union(*topics)

    # The log

    def replay(self, value: GroupMetadataValue) -> list[str]:
        """Take over what a record says. Members that are in no record yet stay, and so do requests that wait.

        Returns the ids of the members that are gone.
        """
        before = {member.member_id: member for member in self.written.members}
        is_same_protocol = value.protocol == self.written.protocol
        self._protocol_type = value.protocol_type
        for stored in value.members:
            # A member may have joined again with other protocols since the last record. Keep them unless the
            # record says something new about this member.
            if stored != before.pop(stored.member_id, None) or not is_same_protocol:
                self._replay_member(stored, value.protocol or "")
        for member_id in before:
            self.remove(member_id)
        self.written = value
        self.generation = value.generation
        self.protocol_name = value.protocol
        self.leader_id = value.leader or None
        self.state_timestamp_ms = value.current_state_timestamp
        if self.leader_id is not None and value.members:
            self.state = ClassicState.STABLE
        else:
            self.state = ClassicState.PREPARING_REBALANCE if self.members else ClassicState.EMPTY
        self._note_topics(member.subscription for member in value.members)
        return list(before)

    def _replay_member(self, stored: MemberMetadata, protocol: str) -> None:
        instance_id = stored.group_instance_id
        if instance_id is not None and self.static_members.get(instance_id, "") not in ("", stored.member_id):
            self.replace_static_member(instance_id, stored.member_id)
        loaded = loaded_member(stored, protocol)
        member = self.members.get(stored.member_id)
        if member is None:
            self.add(loaded, self._protocol_type)
            return
        # A record has the metadata of one protocol only. The member may support others.
        is_known = member.protocols.get(protocol) == stored.subscription
        protocols = member.protocols if is_known else loaded.protocols
        self.update(member, protocols, loaded.rebalance_timeout_ms, loaded.session_timeout_ms)
        member.client_id, member.client_host = loaded.client_id, loaded.client_host
        member.assignment = loaded.assignment


def choose_protocol(supported: Collection[Mapping[str, bytes]]) -> str:
    """Each member votes for its favourite among the protocols that all members support."""
    common = set.intersection(*(set(protocols) for protocols in supported))
    votes = Counter(next(name for name in protocols if name in common) for protocols in supported)
    return max(votes, key=votes.__getitem__)


def _subscribed_topics(subscription: bytes) -> list[str]:
    """The topics of a subscription. All versions begin like version 0."""
    protocol_version(subscription)
    return ConsumerProtocolSubscription.decode(Reader(subscription, 2), 0).topics


def _fail(reply: Reply | None, error: KafkaError) -> None:
    if reply is not None:
        reply.fail(error)
