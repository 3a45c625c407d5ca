"""Classic groups for tests: requests with few words, and groups that are stable already."""

from typing import Any

from tests.groups.harness import Machine, Recorder, numbered_ids

from gralha.coordination.timers import Timers
from gralha.groups.caller import Caller
from gralha.groups.classic import ClassicProtocol
from gralha.groups.classic_group import ClassicGroup
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_protocol import write_subscription
from gralha.groups.group import Group
from gralha.groups.records import GroupRecord
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from gralha.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

GROUP = "g"
DELAY_MS = 3_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str) -> bytes:
    return write_subscription(ConsumerProtocolSubscription(topics=list(topics)), 1)


class Joined:
    """A member's view of a generation, taken from the answer to its JoinGroup."""

    def __init__(self, reply: Recorder) -> None:
        assert isinstance(reply.response, JoinGroupResponse), reply.error
        assert reply.code == 0, reply.response
        self.response = reply.response
        self.member_id = reply.response.member_id
        self.generation = reply.response.generation_id
        self.leads = reply.response.leader == self.member_id
        self.instance_id: str | None = None


class ClassicRoom(ClassicProtocol):
    """The protocol with its groups at hand."""

    def __init__(self, timers: Timers, config: GroupsConfig, new_id: Any) -> None:
        self.groups: dict[str, Group] = {}
        super().__init__(self.groups, timers, config, new_id)

    def replay(self, record: GroupRecord) -> None:
        assert isinstance(record.key, GroupMetadataKey)
        assert record.value is None or isinstance(record.value, GroupMetadataValue)
        self.replay_group_metadata(record.key, record.value)


class Classic:
    """A machine of classic groups. A method sends one request and returns the reply, which may be open."""

    def __init__(self, **config: Any) -> None:
        self.config = GroupsConfig(**config)
        self.new_id = numbered_ids()
        self.machine = Machine(
            lambda timers: ClassicRoom(timers, self.config, self.new_id),
            ClassicRoom.replay,
            lambda room, now_ms: room.on_loaded(now_ms),
        )

    @property
    def group(self) -> ClassicGroup:
        group = self.machine.room.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def state(self) -> str:
        return self.group.state_name

    @property
    def last_value(self) -> GroupMetadataValue:
        value = self.machine.log[-1].value
        assert isinstance(value, GroupMetadataValue)
        return value

    def advance(self, milliseconds: int) -> None:
        self.machine.advance(milliseconds)

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: dict[str, bytes] | list[tuple[str, bytes]] | None = None,
        protocol_type: str = "consumer",
        session_timeout_ms: int = SESSION_MS,
        rebalance_timeout_ms: int = REBALANCE_MS,
        version: int = 9,
        group_id: str = GROUP,
        client_id: str = "client",
    ) -> Recorder:
        if protocols is None:
            protocols = {"range": subscription("t")}
        if isinstance(protocols, dict):
            protocols = list(protocols.items())
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name, data) for name, data in protocols],
        )
        reply = Recorder()
        caller = Caller(client_id, "/10.0.0.1", version)
        return self.machine.ask(
            lambda room: room.join_group(caller, request, reply, self.machine.now_ms), reply
        )

    def new_id_for(self, **join: Any) -> str:
        """The first half of KIP-394: an id to join with."""
        response = self.join(**join).response
        assert isinstance(response, JoinGroupResponse)
        assert response.error_code == 79
        return response.member_id

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        group_id: str = GROUP,
    ) -> Recorder:
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[SyncGroupRequestAssignment(*each) for each in (assignments or {}).items()],
        )
        reply = Recorder()
        caller = Caller("client", "/10.0.0.1", 5)
        return self.machine.ask(
            lambda room: room.sync_group(caller, request, reply, self.machine.now_ms), reply
        )

    def heartbeat(
        self, member_id: str, generation: int, *, instance_id: str | None = None, group_id: str = GROUP
    ) -> int | None:
        request = HeartbeatRequest(group_id, generation, member_id, instance_id)
        caller = Caller("client", "/10.0.0.1", 4)
        return self.machine.ask(lambda room: room.heartbeat(caller, request, self.machine.now_ms)).code

    def leave(self, *members: MemberIdentity, version: int = 5, group_id: str = GROUP) -> Recorder:
        request = LeaveGroupRequest(group_id=group_id, members=list(members))
        if version < 3:
            request = LeaveGroupRequest(group_id=group_id, member_id=members[0].member_id)
        caller = Caller("client", "/10.0.0.1", version)
        return self.machine.ask(lambda room: room.leave_group(caller, request, self.machine.now_ms))

    # Groups that are somewhere already

    def completing(self, count: int, **join: Any) -> list[Joined]:
        """A group of so many dynamic members that have joined; the leader comes first."""
        replies = [self.join(self.new_id_for(**join), **join) for _ in range(count)]
        self.advance(DELAY_MS * 2)
        joined = [Joined(reply) for reply in replies]
        return sorted(joined, key=lambda each: not each.leads)

    def stable(self, count: int, **join: Any) -> list[Joined]:
        """A group of so many dynamic members, each with an assignment; the leader comes first."""
        members = self.completing(count, **join)
        self.settle(members)
        return members

    def stable_but_one(self, **join: Any) -> list[Joined]:
        """Three members, of whom the last never asks for its assignment."""
        members = self.completing(3, **join)
        self.settle(members[:2])
        return members

    def stable_static(self, *instance_ids: str, **join: Any) -> list[Joined]:
        """The same of static members, in the order of their instance ids: the first one leads."""
        replies = [self.join(instance_id=instance_id, **join) for instance_id in instance_ids]
        self.advance(DELAY_MS * 2)
        members = [Joined(reply) for reply in replies]
        for member, instance_id in zip(members, instance_ids, strict=True):
            member.instance_id = instance_id
        self.settle(members)
        return members

    def settle(self, members: list[Joined]) -> None:
        """Everybody syncs; each is assigned its own id."""
        assignments = {member.member_id: member.member_id.encode() for member in members}
        for member in members:
            reply = self.sync(member.member_id, member.generation, assignments if member.leads else None)
            assert reply.code in (None, 0)
        assert self.state == "Stable"


def lasting(group: ClassicGroup) -> object:
    """All that a new coordinator knows of a stable or empty group."""
    members = {
        member.member_id: (
            member.instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms,
            member.session_timeout_ms,
            group.metadata_of(member),
            member.assignment,
        )
        for member in group.members.values()
    }
    return (
        group.state,
        group.generation,
        group.protocol_type,
        group.protocol_name,
        group.leader_id,
        group.subscribed_topics,
        group.static_members,
        members,
    )


def loaded_group(value: GroupMetadataValue) -> ClassicGroup:
    """The group of which the log says no more than this."""
    group = ClassicGroup(GROUP)
    group.replay(value)
    return group
