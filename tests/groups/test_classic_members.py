"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of classic members in a consumer group."""

import pytest
from tests.groups.harness import Recorder
from tests.groups.mixed_group import GROUP, MixedGroup
from tests.groups.mixed_members import REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, ConsumerClient

from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_member import ConsumerMember, MemberState
from gralha.groups.consumer_protocol import protocol_version, read_assignment, write_subscription
from gralha.protocol.errors import (
    ErrorCode,
    IllegalGenerationError,
    NotEnoughReplicasError,
    UnsupportedVersionError,
)
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolSubscription, TopicPartition
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from gralha.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

TICK_MS = 1_000


class Room:
    """A consumer group whose only member, of the consumer protocol, owns the three partitions of topic a."""

    def __init__(self, config: GroupsConfig | None = None, instance_id: str | None = None) -> None:
        self.world = MixedGroup(config, a=3, b=1)
        self.consumer = self.world.started_and_settled("consumer", "a", instance_id)
        assert isinstance(self.consumer, ConsumerClient)

    def join(
        self,
        member_id: str = "classic",
        owned: tuple[int, ...] = (),
        instance_id: str | None = None,
        protocols: tuple[str, ...] = ("range",),
        version: int = 3,
        topics: tuple[str, ...] = ("a",),
        api_version: int = 9,
        **fields: object,
    ) -> Recorder:
        partitions = [TopicPartition("a", list(owned))] if owned else []
        subscription = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=partitions)
        metadata = write_subscription(subscription, version)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name, metadata) for name in protocols],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.world.ask(request, api_version)

    def sync(self, generation: int, member_id: str = "classic", **fields: object) -> Recorder:
        request = SyncGroupRequest(group_id=GROUP, generation_id=generation, member_id=member_id)
        for name, value in fields.items():
            setattr(request, name, value)
        return self.world.ask(request)

    def heartbeat(
        self, generation: int, member_id: str = "classic", instance_id: str | None = None
    ) -> int | None:
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        return self.world.ask(request).code

    def leave(self, *members: MemberIdentity) -> list[int]:
        reply = self.world.ask(LeaveGroupRequest(group_id=GROUP, members=list(members)))
        return [member.error_code for member in reply.sent(LeaveGroupResponse).members]

    @property
    def members(self) -> dict[str, ConsumerMember]:
        return self.world.consumer.members

    def state(self, member_id: str) -> MemberState:
        return self.members[member_id].state

    def assigned(self, reply: Recorder) -> list[int]:
        topics = read_assignment(reply.sent(SyncGroupResponse).assignment).assigned_partitions
        assert [topic.topic for topic in topics] in ([], ["a"])
        return [number for topic in topics for number in topic.partitions]


@pytest.fixture
def room() -> Room:
    return Room()


def settled(room: Room) -> int:
    """Let a classic member join and get its partition; its generation."""
    room.join()
    room.consumer.poll()  # gives partitions back
    generation = room.join().sent(JoinGroupResponse).generation_id
    assert room.assigned(room.sync(generation)) != []
    assert room.heartbeat(generation) == 0
    return generation


# JoinGroup


def test_a_member_without_an_id_is_given_one(room):
    reply = room.join("")
    assert reply.code == ErrorCode.MEMBER_ID_REQUIRED
    assert reply.response.member_id
    assert reply.response.member_id not in room.members
    assert room.join(reply.response.member_id).code == 0


@pytest.mark.parametrize("instance_id", [None, "instance"])
def test_older_clients_and_static_members_join_at_once(room, instance_id):
    reply = room.join("", instance_id=instance_id, api_version=3 if instance_id is None else 9)
    assert reply.code == 0
    assert room.members[reply.response.member_id].instance_id == instance_id


def test_a_member_joins_with_the_groups_next_epoch_and_without_a_leader(room):
    epoch = room.world.consumer.epoch
    response = room.join(protocols=("sticky", "range")).response
    assert isinstance(response, JoinGroupResponse)
    assert (response.generation_id, response.protocol_type, response.protocol_name) == (
        epoch + 1,
        "consumer",
        "sticky",
    )
    assert (response.leader, response.members) == ("", [])
    member = room.members["classic"]
    assert (member.epoch, member.state) == (epoch + 1, MemberState.UNRELEASED_PARTITIONS)
    assert member.topic_names == {"a"}
    assert member.rebalance_timeout_ms == REBALANCE_TIMEOUT_MS


def test_a_member_changes_its_subscription(room):
    generation = settled(room)
    assert room.join(topics=("b",)).sent(JoinGroupResponse).generation_id == generation
    assert room.members["classic"].topic_names == {"b"}
    assert room.world.consumer.epoch == generation + 1
    # The next target assignment has to wait; then the member is told to fetch it.
    assert room.heartbeat(generation) == 0
    room.world.machine.advance(TICK_MS)
    assert room.heartbeat(generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.join(topics=("b",)).sent(JoinGroupResponse).generation_id == generation + 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"instance_id": "instance", "member_id": "m"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_join_that_is_refused(room, fields, code):
    written = len(room.world.machine.log)
    assert room.join(**fields).code == code
    assert len(room.world.machine.log) == written


def test_a_join_with_unreadable_metadata_is_refused(room):
    protocols = [JoinGroupRequestProtocol("range", b"\0")]
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        member_id="m",
        protocol_type="consumer",
        protocols=protocols,
    )
    assert room.world.ask(request).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_classic_members_need_a_protocol_in_common(room):
    room.join(protocols=("range", "sticky"))
    assert room.join("other", protocols=("roundrobin",)).code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert room.join("other", protocols=("sticky",)).code == 0


def test_no_room_for_another_member():
    room = Room(GroupsConfig(consumer_max_size=1))
    assert room.join().code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_static_member_with_another_member_id_is_fenced(room):
    member_id = room.join("", instance_id="instance").response.member_id
    assert room.join("other", instance_id="instance").code == ErrorCode.FENCED_INSTANCE_ID
    assert room.join(member_id, instance_id="instance").code == 0


def test_a_static_member_that_starts_again_takes_its_place(room):
    first = room.join("", instance_id="instance").response.member_id
    room.consumer.poll()
    generation = room.join(first, instance_id="instance").sent(JoinGroupResponse).generation_id
    had = room.assigned(room.sync(generation, first, group_instance_id="instance"))
    assert had
    epoch = room.world.consumer.epoch
    again = room.join("", instance_id="instance").sent(JoinGroupResponse)
    assert again.member_id != first
    assert again.generation_id == generation
    assert room.assigned(room.sync(generation, again.member_id, group_instance_id="instance")) == had
    assert first not in room.members
    assert room.world.consumer.epoch == epoch
    assert room.heartbeat(generation, first, "instance") == ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_of_the_consumer_protocol_comes_back_as_a_classic_one():
    room = Room(instance_id="instance")
    room.world.started_and_settled("consumer", "a")
    held = {number for _topic, number in room.consumer.owned}
    response = room.join("", instance_id="instance").sent(JoinGroupResponse)
    synced = room.sync(response.generation_id, response.member_id, group_instance_id="instance")
    assert set(room.assigned(synced)) == held
    assert room.consumer.member_id not in room.members


def test_a_classic_static_member_comes_back_with_the_consumer_protocol(room):
    member_id = room.join("", instance_id="instance").response.member_id
    client = room.world.started_and_settled("consumer", "a", "instance")
    assert member_id not in room.members
    assert len(client.owned) + len(room.consumer.owned) == 3


def test_a_join_that_is_not_written_has_not_happened(room):
    room.world.machine.append_error = NotEnoughReplicasError()
    assert room.join().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    room.world.machine.append_error = None
    assert "classic" not in room.members
    room.world.machine.advance(SESSION_TIMEOUT_MS)
    assert room.join().code == 0


# Partitions come and go


def test_a_member_gets_what_others_have_given_back(room):
    generation = room.join().sent(JoinGroupResponse).generation_id
    assert room.assigned(room.sync(generation)) == []
    assert room.heartbeat(generation) == 0  # nothing is free yet
    room.consumer.poll()
    assert room.heartbeat(generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.join().sent(JoinGroupResponse).generation_id == generation
    assert len(room.assigned(room.sync(generation))) == 1
    assert room.heartbeat(generation) == 0


def test_a_cooperative_member_gives_back_in_two_rounds(room):
    generation = settled(room)
    owned = tuple(room.assigned(room.sync(generation)))
    room.world.machine.advance(TICK_MS)
    assert room.join(owned=owned, topics=("b",)).sent(JoinGroupResponse).generation_id == generation
    assert room.state("classic") is MemberState.UNREVOKED_PARTITIONS
    assert room.heartbeat(generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.assigned(room.sync(generation)) == []
    assert room.join(topics=("b",)).sent(JoinGroupResponse).generation_id == generation + 1
    assert room.state("classic") is MemberState.STABLE


def test_an_eager_member_has_given_everything_back_when_it_joins(room):
    generation = settled(room)
    room.world.machine.advance(TICK_MS)
    response = room.join(topics=("b",)).response
    assert response.generation_id > generation
    assert room.members["classic"].state is MemberState.STABLE


def test_members_hear_of_a_new_target(room):
    generation = settled(room)
    room.world.machine.advance(TICK_MS)
    room.world.start("consumer", "a").poll()
    assert room.world.consumer.assignment_epoch > generation
    assert room.heartbeat(generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert room.sync(generation).code == ErrorCode.REBALANCE_IN_PROGRESS


# SyncGroup


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_has_the_version_of_the_subscription(room, version):
    room.join(version=version)
    room.consumer.poll()
    generation = room.join(version=version).sent(JoinGroupResponse).generation_id
    reply = room.sync(generation, protocol_type="consumer", protocol_name="range")
    assert protocol_version(reply.response.assignment) == version
    assert len(room.assigned(reply)) == 1
    assert (reply.response.protocol_type, reply.response.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 99}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 1}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "roundrobin"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_that_is_refused(room, fields, code):
    generation = room.join().sent(JoinGroupResponse).generation_id
    request = {"generation_id": generation, "member_id": "classic", **fields}
    assert room.sync(request.pop("generation_id"), request.pop("member_id"), **request).code == code


# Heartbeat


def test_a_heartbeat_that_is_refused(room):
    generation = settled(room)
    static = room.join("", instance_id="instance").sent(JoinGroupResponse)
    assert room.heartbeat(generation, "nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(generation, "classic", "nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.heartbeat(generation + 9) == ErrorCode.ILLEGAL_GENERATION
    assert room.heartbeat(generation - 1) == ErrorCode.ILLEGAL_GENERATION
    assert room.heartbeat(static.generation_id, "classic", "instance") == ErrorCode.FENCED_INSTANCE_ID
    consumer_id = room.consumer.member_id
    assert room.heartbeat(room.consumer.epoch, consumer_id) == ErrorCode.UNKNOWN_MEMBER_ID


# Timers


def test_a_silent_member_is_removed_when_its_session_ends(room):
    settled(room)
    room.world.machine.advance(SESSION_TIMEOUT_MS - 1)
    assert "classic" in room.members
    room.world.machine.advance(1)
    assert "classic" not in room.members


def test_heartbeats_keep_a_session_alive(room):
    generation = settled(room)
    for _ in range(3):
        room.world.machine.advance(SESSION_TIMEOUT_MS - 1)
        assert room.heartbeat(generation) == 0
        room.consumer.poll()


def test_a_member_that_does_not_join_again_is_removed(room):
    generation = settled(room)
    room.world.start("consumer", "a").poll()
    room.world.machine.advance(TICK_MS)
    room.consumer.poll()
    for _ in range(REBALANCE_TIMEOUT_MS // 5_000):
        assert room.heartbeat(generation) == ErrorCode.REBALANCE_IN_PROGRESS
        room.consumer.poll()
        room.world.machine.advance(5_000)
    assert "classic" not in room.members


def test_a_member_that_joins_but_does_not_sync_is_removed(room):
    generation = room.join().sent(JoinGroupResponse).generation_id
    for _ in range(REBALANCE_TIMEOUT_MS // 5_000):
        assert room.heartbeat(generation) == 0
        room.world.machine.advance(5_000)
    assert "classic" not in room.members


def test_a_removal_that_is_not_written_is_tried_again(room):
    generation = room.join().sent(JoinGroupResponse).generation_id
    for _ in range(REBALANCE_TIMEOUT_MS // 5_000 - 1):
        assert room.heartbeat(generation) == 0
        room.world.machine.advance(5_000)
    room.world.machine.append_error = NotEnoughReplicasError()
    room.heartbeat(generation)
    room.world.machine.advance(5_000)
    assert "classic" in room.members
    room.world.machine.append_error = None
    room.world.machine.advance(1_000)
    assert "classic" not in room.members


def test_timers_end_with_the_membership(room):
    generation = settled(room)
    room.join("other")
    room.world.machine.advance(TICK_MS)
    assert room.heartbeat(generation) == ErrorCode.REBALANCE_IN_PROGRESS
    expected = [
        ("consumer session", GROUP, "classic"),
        ("consumer join", GROUP, "classic"),
        ("consumer session", GROUP, "other"),
        ("consumer sync", GROUP, "other"),
    ]
    timers = room.world.machine.timers
    assert all(timers.deadline_ms(key) is not None for key in expected)
    room.leave(MemberIdentity("classic"), MemberIdentity("other"))
    assert all(timers.deadline_ms(key) is None for key in expected)


def test_a_member_that_has_not_synced_joins_again_after_a_downgrade():
    room = Room(instance_id="instance")
    generation = room.join(topics=("b",), protocols=("sticky", "range")).sent(JoinGroupResponse).generation_id
    room.consumer.poll()
    assert room.world.group.state_name == "Stable"
    last = room.join("", instance_id="instance", protocols=("range", "sticky"))
    assert not last.answered
    for name in ("sticky", "range"):
        assert room.sync(generation, protocol_name=name).code == ErrorCode.REBALANCE_IN_PROGRESS


# LeaveGroup


def test_members_leave(room):
    settled(room)
    static = room.join("", instance_id="instance").response.member_id
    assert room.leave(
        MemberIdentity("classic"),
        MemberIdentity("nobody"),
        MemberIdentity("classic", "instance"),
        MemberIdentity("", "instance"),
        MemberIdentity("", "nobody"),
    ) == [
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert room.members.keys().isdisjoint({"classic", static})


def test_nobody_leaves(room):
    written, epoch = len(room.world.machine.log), room.world.consumer.epoch
    assert room.leave(MemberIdentity("nobody")) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert (len(room.world.machine.log), room.world.consumer.epoch) == (written, epoch)


def test_older_clients_leave_one_at_a_time(room):
    settled(room)
    request = LeaveGroupRequest(group_id=GROUP, member_id="classic")
    assert room.world.ask(request, 2).response.error_code == 0
    assert room.world.ask(request, 2).response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_of_the_consumer_protocol_may_be_removed_too():
    room = Room(instance_id="instance")
    assert room.leave(MemberIdentity("", "instance")) == [0]
    assert room.world.consumer.is_empty


# Offsets


def test_commits_are_fenced_by_generation(room):
    generation = settled(room)
    check = room.world.group.check_offset_commit
    assert check("classic", None, generation, False, 2) is None
    with pytest.raises(IllegalGenerationError):
        check("classic", None, generation + 1, False, 2)
    with pytest.raises(UnsupportedVersionError):
        check(room.consumer.member_id, None, room.consumer.epoch, False, 2)
