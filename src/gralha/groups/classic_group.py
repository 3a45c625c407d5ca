"""A classic group: its members divide the work among themselves, the coordinator only brings them together.

    Empty ───────────────> PreparingRebalance      a first member joins; others get a moment to join too
    PreparingRebalance ──> CompletingRebalance     everybody has joined, or those who have not are removed:
                                                   a new generation, its leader is told who is in it
    PreparingRebalance ──> Empty                   the last member has gone: an empty generation
    CompletingRebalance ─> Stable                  the leader has sent the assignment, which is written
    CompletingRebalance, Stable ─> PreparingRebalance   a member joins, leaves, dies or wants something else
    CompletingRebalance, Stable ─> Empty           the last member has gone

The state of a group has two parts. `written` is what the log says: a generation, its members and what they
were assigned. Only `replay` changes it. The rest is in memory alone: members that have joined and are in no
record yet, the requests that wait for an answer, ids that were handed out, the phase of the rebalance. It is
lost with the coordinator, and the clients start again. `replay` keeps this rest, as far as the record does
not contradict.

Records are written when a leader has assigned, and when members go (see classic_records.py). A coordinator
that loads a group finds it Stable, Empty, or, if members had gone, in PreparingRebalance.

This module is the state and its rules. What requests and timers do with it is in classic.py, classic_join.py
and classic_rebalance.py.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum
from typing import Final

from gralha.coordination.decision import Reply
from gralha.groups.classic_member import ClassicMember, loaded_member
from gralha.groups.consumer_protocol import CONSUMER_PROTOCOL_TYPE, protocol_version
from gralha.groups.group import Group, GroupType
from gralha.groups.records import GroupRecord
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

NO_TIMESTAMP: Final = -1


class ClassicState(Enum):
    """The value is Kafka's word. A group that is not there is called Dead."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicGroup(Group):
    """Everything a coordinator knows of a classic group. Times are handed in, answers are sent by others."""

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
        self.pending_members: set[str] = set()  # were given an id, have not joined with it yet (KIP-394)
        self.pending_sync_members: set[str] = set()  # of this generation, have not sent a SyncGroup yet
        self.waiting_joins: dict[str, Reply] = {}
        self.waiting_syncs: dict[str, Reply] = {}
        self.is_initial_rebalance = False  # the rebalance under way began in an empty group
        self.has_joined_during_delay = False  # somebody has joined since the initial delay (again) began
        self.subscribed_topics: frozenset[str] | None = None  # None: not known
        self._protocol_type = ""
        self._supporters: Counter[str] = Counter()  # how many members support a protocol

    # As other rooms see it

    @property
    def state_name(self) -> str:
        """Kafka's word for the state."""
        return self.state.value

    @property
    def protocol_type(self) -> str:
        """What its members are: "consumer", "connect", ...; "" if it never had any."""
        return self._protocol_type

    @property
    def is_empty(self) -> bool:
        """Whether it has no members. Ids that were handed out do not count."""
        return self.state is ClassicState.EMPTY

    @property
    def is_of_consumers(self) -> bool:
        """Do its members speak the consumer protocol among themselves?"""
        return self._protocol_type == CONSUMER_PROTOCOL_TYPE

    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None] | None:
        """May this member commit? Without a generation anybody may, as long as nobody is in the group."""
        if member_epoch < 0 and self.is_empty:
            return None
        if member_epoch >= 0 or member_id or instance_id is not None:
            self.check_member(member_id, instance_id)
            self.check_generation(member_epoch)
        elif not is_transactional:
            # A producer from before KIP-447 commits for a group without saying who it is.
            raise UnknownMemberIdError()
        if not is_transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            raise RebalanceInProgressError()
        return None

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Anybody may read the offsets of a classic group."""

    def check_offset_delete(self) -> None:
        """With members of an unknown kind nobody can tell which topics are in use."""
        if not self.is_empty and not self.is_of_consumers:
            raise NonEmptyGroupError()

    def check_delete(self) -> None:
        """Only a group without members can be deleted."""
        if not self.is_empty:
            raise NonEmptyGroupError()

    def is_subscribed_to(self, topic: str) -> bool:
        """A group of consumers whose topics are not known may be subscribed to any."""
        if self.subscribed_topics is None:
            return self.is_of_consumers
        return topic in self.subscribed_topics

    def tombstones(self) -> list[GroupRecord]:
        """One record is all there is of a classic group."""
        return [GroupRecord(GroupMetadataKey(group=self.group_id), None)]

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        """From when it became empty; from the commit, if it never had members or they do not subscribe."""
        if not self._protocol_type:
            return commit_timestamp_ms
        if self.is_empty:
            return commit_timestamp_ms if self.state_timestamp_ms == NO_TIMESTAMP else self.state_timestamp_ms
        if self.is_of_consumers and self.subscribed_topics is not None and self.state is ClassicState.STABLE:
            return commit_timestamp_ms
        return None

    # Rules

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Is this a member, and with an instance id the newest one of that id?"""
        if instance_id is not None:
            current_id = self.static_members.get(instance_id)
            if current_id is None:
                raise UnknownMemberIdError()
            if current_id != member_id:
                raise FencedInstanceIdError()
        if member_id not in self.members:
            raise UnknownMemberIdError()

    def check_generation(self, generation: int) -> None:
        """Does a member speak of the present generation?"""
        if generation != self.generation:
            raise IllegalGenerationError()

    def supports(self, protocol_type: str, protocols: Mapping[str, bytes]) -> bool:
        """Does everybody support one of these protocols? The members of an empty group choose freely."""
        if self.is_empty:
            return bool(protocol_type and protocols)
        if protocol_type != self._protocol_type:
            return False
        return any(self._supporters[name] == len(self.members) for name in protocols)

    @property
    def has_everybody_joined(self) -> bool:
        """Does every member, also every future one that has an id, wait for the next generation?"""
        return len(self.members) == len(self.waiting_joins) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long members get to join or to sync: as long as the slowest of them asks for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def is_leader(self, member_id: str) -> bool:
        """Is it the one that assigns?"""
        return self.leader_id == member_id

    # Members

    def add(self, member: ClassicMember, protocol_type: str, reply: Reply | None = None) -> None:
        """Take in a member, which waits for the next generation if it has a reply."""
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
        """Let go of a member, or of one that never joined with its id. What it waits for is answered."""
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
        # Kafka leaves a SyncGroup of a member that was removed unanswered.
        self.fail_requests(member_id, UnknownMemberIdError())

    def update(
        self,
        member: ClassicMember,
        protocols: dict[str, bytes],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """A member describes itself anew."""
        self._supporters -= Counter(member.protocols.keys())  # unlike subtract() it keeps no zeros
        self._supporters.update(protocols.keys())
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_static_member(self, instance_id: str, member_id: str) -> ClassicMember:
        """A static member is back under a new id, and takes over everything that the old one had.

        A request that waits under the old id comes from a second process with that instance id: it is fenced.
        """
        old_id = self.static_members[instance_id]
        self.fail_requests(old_id, FencedInstanceIdError())
        member = self.members[old_id]
        member.member_id, member.is_new = member_id, False
        # In the same place: the order of members is the order in the record.
        self.members = {each.member_id: each for each in self.members.values()}
        self.static_members[instance_id] = member_id
        if self.is_leader(old_id):
            self.leader_id = member_id
        if old_id in self.pending_sync_members:
            self.pending_sync_members.remove(old_id)
            self.pending_sync_members.add(member_id)
        return member

    # Those who wait

    def wait_for_join(self, member_id: str, reply: Reply) -> None:
        """Keep a JoinGroup. An older one of the same member came over a connection that it has given up."""
        _fail(self.waiting_joins.pop(member_id, None), RebalanceInProgressError())
        self.waiting_joins[member_id] = reply

    def wait_for_sync(self, member_id: str, reply: Reply) -> None:
        """Keep a SyncGroup until the leader's assignment is there."""
        _fail(self.waiting_syncs.pop(member_id, None), RebalanceInProgressError())
        self.waiting_syncs[member_id] = reply

    def answer_join(self, member_id: str, response: Message) -> None:
        """Answer a JoinGroup that waits, if one does."""
        reply = self.waiting_joins.pop(member_id, None)
        if reply is not None:
            reply.send(response)

    def fail_requests(self, member_id: str, error: KafkaError) -> None:
        """Answer whatever a member waits for with an error."""
        _fail(self.waiting_joins.pop(member_id, None), error)
        _fail(self.waiting_syncs.pop(member_id, None), error)

    def fail_all_requests(self, error: KafkaError) -> None:
        """Answer everybody who waits with an error."""
        for member_id in [*self.waiting_joins, *self.waiting_syncs]:
            self.fail_requests(member_id, error)

    # A generation

    def prepare_rebalance(self, now_ms: int) -> None:
        """From now on everybody has to join again."""
        self.is_initial_rebalance = self.is_empty
        self.has_joined_during_delay = False
        self.pending_sync_members.clear()
        self.state, self.state_timestamp_ms = ClassicState.PREPARING_REBALANCE, now_ms

    def keep_leader(self, leader_id: str | None) -> None:
        """Let a member go on to lead, if it is still there, after a record without a leader."""
        if leader_id in self.members:
            self.leader_id = leader_id

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take another who has. False if nobody has."""
        if self.leader_id not in self.waiting_joins:
            self.leader_id = next(iter(self.waiting_joins), self.leader_id)
        return self.leader_id in self.waiting_joins

    def start_generation(self, now_ms: int) -> None:
        """The present members are the next generation."""
        assert self.state is ClassicState.PREPARING_REBALANCE, f"{self.group_id} is {self.state_name}"
        self.generation += 1
        self.protocol_name = choose_protocol([member.protocols for member in self.members.values()])
        self._note_topics(self.metadata_of(member) for member in self.members.values())
        self.state, self.state_timestamp_ms = ClassicState.COMPLETING_REBALANCE, now_ms
        self.pending_sync_members = set(self.members)

    def member_list(self) -> list[JoinGroupResponseMember]:
        """What a leader has to know to assign."""
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                metadata=self.metadata_of(member),
            )
            for member in self.members.values()
        ]

    def metadata_of(self, member: ClassicMember) -> bytes:
        """What a member says in the chosen protocol: in groups of consumers, its subscription."""
        assert self.protocol_name is not None, "no protocol is chosen in an empty group"
        return member.protocols[self.protocol_name]

    def _note_topics(self, subscriptions: Iterable[bytes]) -> None:
        """Read the members' subscriptions, if they are consumers."""
        self.subscribed_topics = None
        if not self.is_of_consumers:
            return
        try:
            topics = [_subscribed_topics(subscription) for subscription in subscriptions]
        except ProtocolError:
            return  # clients may put anything there; the coordinator just knows less
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
            # What a member has told us since the last record stays, unless this record is about the member.
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
        # A record has one protocol only. The member may have told us of others.
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
    """All versions of a subscription, also future ones, begin like version 0."""
    protocol_version(subscription)
    return ConsumerProtocolSubscription.decode(Reader(subscription, 2), 0).topics


def _fail(reply: Reply | None, error: KafkaError) -> None:
    if reply is not None:
        reply.fail(error)
