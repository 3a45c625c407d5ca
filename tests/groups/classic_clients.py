"""Little consumers of a classic group, and a witness who hears every answer that they get.

A consumer does what the Java client does: it joins, assigns if it is told to lead, syncs, sends heartbeats,
and joins again when an answer says so. It acts only when told, one request at a time, so that a test can put
anything in between: its death, another request, a coordinator that fails.
"""

from collections import defaultdict
from typing import NamedTuple

from tests.groups.classic_room import Classic, subscription
from tests.groups.harness import Recorder

from gralha.groups.consumer_protocol import read_assignment, read_subscription, write_assignment
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartition
from gralha.protocol.messages.join_group import JoinGroupResponse
from gralha.protocol.messages.leave_group import MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupResponse

PARTITIONS = {"t": 3, "u": 2}
SESSION_MS = 8_000
FORGET_ID = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION)


class Membership(NamedTuple):
    """A consumer's membership at some time. Requests in its name may come late."""

    member_id: str
    instance_id: str | None
    coordinator: int
    generation: int


class Witness:
    """Checks each answer against all the others. A coordinator is one load of the groups."""

    def __init__(self) -> None:
        self.coordinator = 0
        # With coordinator and instance id; with its generation if it is a SyncGroup.
        self.requests: list[tuple[Recorder, int, str | None, int | None]] = []
        self.memberships: list[Membership] = []
        self.joined: dict[tuple[int, int], set[str]] = defaultdict(set)
        self.generations: dict[tuple[int, int], tuple[str, str | None]] = {}
        self.wanted: dict[int, set[str]] = {}  # the topics that a generation's leader knew to be wanted
        self.owners: dict[tuple[int, str, int], str] = {}
        self.assigned_generation = 0
        self._names: dict[str, str] = {}  # member ids of static members to instance ids

    def name_of(self, member_id: str) -> str:
        """The name of a member. A static one has the same name under all its ids."""
        return self._names.get(member_id, member_id)

    def asked(self, reply: Recorder, instance_id: str | None, generation: int | None = None) -> None:
        self.requests.append((reply, self.coordinator, instance_id, generation))

    def listen(self) -> None:
        """Take notice of the answers that have come since."""
        answered = [request for request in self.requests if request[0].answered]
        self.requests = [request for request in self.requests if not request[0].answered]
        joins = [
            (reply.response, coordinator, instance_id)
            for reply, coordinator, instance_id, _ in answered
            if isinstance(reply.response, JoinGroupResponse) and reply.code == 0
        ]
        for reply, _, _, generation in answered:
            if generation is not None and reply.code == 0:
                # When it is answered; a client may take note of that much later.
                assert generation >= self.assigned_generation, "an assignment of an old generation"
                self.assigned_generation = generation
        self._names |= {join.member_id: instance_id for join, _, instance_id in joins if instance_id}
        for join, coordinator, instance_id in joins:
            self._heard_join(join, coordinator, instance_id)

    def _heard_join(self, response: JoinGroupResponse, coordinator: int, instance_id: str | None) -> None:
        generation = coordinator, response.generation_id
        self.joined[generation].add(response.member_id)
        self.memberships.append(Membership(response.member_id, instance_id, *generation))
        said = self.name_of(response.leader), response.protocol_name
        assert self.generations.setdefault(generation, said) == said, "two leaders or two protocols"

    def heard_assignment(self, name: str, generation: int, partitions: set[tuple[str, int]]) -> None:
        for topic, partition in partitions:
            owner = self.owners.setdefault((generation, topic, partition), name)
            assert owner == name, f"{topic}-{partition} has two owners in generation {generation}"


class Client:
    """One consumer. `version` is that of its JoinGroup requests."""

    def __init__(
        self,
        room: Classic,
        witness: Witness,
        rebalance_timeout_ms: int,
        version: int = 9,
        instance_id: str | None = None,
    ) -> None:
        self.room = room
        self.witness = witness
        self.version = version
        self.instance_id = instance_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topics: tuple[str, ...] = ("t",)
        self.protocols: tuple[str, ...] = ("range",)
        self.start_again()

    def start_again(self) -> None:
        """The consumer forgets everything, and does not wait for its requests any more."""
        self.member_id = ""
        self.lose_connection()

    def lose_connection(self) -> None:
        self.reply: Recorder | None = None
        self.is_joining = True  # else the open request is a SyncGroup
        self.generation = -1
        self.assignments: dict[str, bytes] = {}
        self.owned: set[tuple[str, int]] | None = None  # None: not a member at the moment

    def act(self) -> None:
        """Send the next request, or take note of the answer to the last one."""
        if self.reply is not None:
            if self.reply.answered:
                reply, self.reply = self.reply, None
                take = self._take_join if self.is_joining else self._take_sync
                take(reply)
        elif self.owned is None:
            self._send_join()
        else:
            self._send_heartbeat()

    def send_again(self) -> None:
        """The connection broke: the same request once more, over another."""
        if self.reply is not None:
            if self.is_joining:
                self._send_join()
            else:
                self._send_sync()

    def leave(self) -> None:
        self.room.leave(MemberIdentity(self.member_id, self.instance_id))
        self.start_again()

    def _send_join(self) -> None:
        metadata = subscription(*self.topics)
        self.is_joining = True
        self.reply = self.room.join(
            self.member_id,
            instance_id=self.instance_id,
            protocols=dict.fromkeys(self.protocols, metadata),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            version=self.version,
        )
        self.witness.asked(self.reply, self.instance_id)

    def _take_join(self, reply: Recorder) -> None:
        response = reply.response
        if reply.code in FORGET_ID:
            self.start_again()
        if not isinstance(response, JoinGroupResponse):
            return
        if reply.code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = response.member_id
        if reply.code == ErrorCode.NONE:
            self.generation = response.generation_id
            leads = response.leader == self.member_id and not response.skip_assignment
            self.assignments = self._assign(response) if leads else {}
            self._send_sync()

    def _assign(self, response: JoinGroupResponse) -> dict[str, bytes]:
        """The work of a leader: every partition of a topic to one of those who want the topic."""
        wishes = {each.member_id: read_subscription(each.metadata).topics for each in response.members}
        self.witness.wanted[self.generation] = {topic for topics in wishes.values() for topic in topics}
        shares: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in wishes}
        for topic, count in PARTITIONS.items():
            wanted_by = [member_id for member_id, topics in wishes.items() if topic in topics]
            for partition in range(count if wanted_by else 0):
                shares[wanted_by[partition % len(wanted_by)]].setdefault(topic, []).append(partition)
        return {member_id: _share(share) for member_id, share in shares.items()}

    def _send_sync(self) -> None:
        self.is_joining = False
        self.reply = self.room.sync(
            self.member_id, self.generation, self.assignments, instance_id=self.instance_id
        )
        self.witness.asked(self.reply, self.instance_id, self.generation)

    def _take_sync(self, reply: Recorder) -> None:
        if reply.code in FORGET_ID:
            self.start_again()
        elif reply.code == ErrorCode.NONE:
            assert isinstance(reply.response, SyncGroupResponse)
            self.owned = _partitions(reply.response.assignment)
            self.witness.heard_assignment(self.instance_id or self.member_id, self.generation, self.owned)
        else:
            self.lose_connection()

    def _send_heartbeat(self) -> None:
        code = self.room.heartbeat(self.member_id, self.generation, instance_id=self.instance_id)
        if code in FORGET_ID:
            self.start_again()
        elif code != ErrorCode.NONE:
            self.lose_connection()


def _share(share: dict[str, list[int]]) -> bytes:
    return write_assignment(
        ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(*each) for each in share.items()])
    )


def _partitions(assignment: bytes) -> set[tuple[str, int]]:
    if not assignment:
        return set()
    return {
        (each.topic, partition)
        for each in read_assignment(assignment).assigned_partitions
        for partition in each.partitions
    }
