"""Groups change their kind while members are in them, or are empty."""

from dataclasses import replace

import pytest
from tests.groups.mixed_group import GROUP, MixedGroup
from tests.groups.mixed_members import REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, ClassicClient

from gralha.groups.config import GroupsConfig, MigrationPolicy
from gralha.groups.consumer_member import MemberState
from gralha.groups.consumer_protocol import read_assignment, write_assignment
from gralha.groups.group import GroupType
from gralha.protocol.errors import ErrorCode, NotEnoughReplicasError
from gralha.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from gralha.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartition
from gralha.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from gralha.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from gralha.protocol.messages.sync_group import SyncGroupRequest

CONFIG = GroupsConfig()
ALL_OF_A = [("a", 0), ("a", 1), ("a", 2)]


def with_policy(policy: MigrationPolicy) -> GroupsConfig:
    return replace(CONFIG, consumer_migration_policy=policy)


def join_request(member_id: str = "new", **fields: object) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        subscribed_topic_names=["a"],
        topic_partitions=[],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def kinds_of_records(world: MixedGroup, since: int) -> list[str]:
    return [
        type(record.key).__name__.removesuffix("Key") + ("" if record.value else " -")
        for record in world.machine.log[since:]
    ]


# Upgrade


def test_the_first_consumer_member_turns_a_classic_group_into_a_consumer_group():
    world = MixedGroup(a=2)
    classic = world.started_and_settled("cooperative", "a")
    written = len(world.machine.log)
    assert world.ask(join_request()).sent(ConsumerGroupHeartbeatResponse).member_epoch == 2
    assert kinds_of_records(world, written) == [
        "GroupMetadata -",
        # the classic member
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupCurrentMemberAssignment",
        # the new one
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupCurrentMemberAssignment",
    ]
    before, new = world.consumer.members[classic.member_id], world.consumer.members["new"]
    assert (before.epoch, before.previous_epoch, before.state) == (1, 1, MemberState.STABLE)
    assert before.assigned == {world.topics.topics["a"].id: {0: 1, 1: 1}}
    assert before.classic is not None
    assert before.classic.session_timeout_ms == SESSION_TIMEOUT_MS
    assert [protocol.name for protocol in before.classic.supported_protocols] == ["sticky", "range"]
    assert (new.epoch, new.state, new.classic) == (2, MemberState.UNRELEASED_PARTITIONS, None)
    world.machine.check_replay()


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_no_upgrade_against_the_policy(policy):
    world = MixedGroup(with_policy(policy), a=2)
    world.started_and_settled("eager", "a")
    written = len(world.machine.log)
    assert world.ask(join_request()).code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.group.type is GroupType.CLASSIC
    assert len(world.machine.log) == written


def join_of(protocol_type: str = "consumer", metadata: bytes = b"", **fields: object) -> JoinGroupRequest:
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol("range", metadata)],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def test_no_upgrade_of_a_group_of_something_else_than_consumers():
    world = MixedGroup(a=2)
    world.ask(join_of("connect"), api_version=3)
    assert world.ask(join_request()).code == ErrorCode.GROUP_ID_NOT_FOUND


def test_no_upgrade_if_subscriptions_cannot_be_read():
    world = MixedGroup(a=2)
    world.ask(join_of(metadata=b"\0"), api_version=3)
    assert world.ask(join_request()).code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("protocol_name", "user_data", "code"),
    [
        ("custom", b"mine", ErrorCode.GROUP_ID_NOT_FOUND),
        ("custom", b"", ErrorCode.NONE),
        ("cooperative-sticky", b"nobody reads this", ErrorCode.NONE),
    ],
)
def test_no_upgrade_if_an_unusual_assignor_hands_out_data_of_its_own(protocol_name, user_data, code):
    world = MixedGroup(a=2)
    client = world.started_and_settled("eager", "a")
    world.classic.protocol_name = protocol_name
    member = world.classic.members[client.member_id]
    assignment = read_assignment(member.assignment)
    assignment.user_data = user_data
    member.assignment = write_assignment(assignment)
    assert world.ask(join_request()).code == code


def test_a_protocol_that_nobody_chose_need_not_be_one_of_consumers():
    world = MixedGroup(a=2)
    client = world.started_and_settled("eager", "a")
    member = world.classic.members[client.member_id]
    member.protocols = {"odd": b"", **member.protocols}
    assert world.ask(join_request()).code == 0
    request = SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=client.member_id)
    world.machine.advance(1_000)
    assert world.ask(request).code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.ask(join_request(member_epoch=-1)).code == 0
    assert read_assignment(world.classic.members[client.member_id].assignment).assigned_partitions


def test_an_upgraded_member_keeps_a_topic_that_its_assignment_names_twice():
    world = MixedGroup(a=2)
    client = world.started_and_settled("eager", "a")
    twice = ConsumerProtocolAssignment(
        assigned_partitions=[TopicPartition("a", [0]), TopicPartition("a", [1])]
    )
    world.classic.members[client.member_id].assignment = write_assignment(twice)
    assert world.ask(join_request()).code == 0
    assert world.consumer.members[client.member_id].assigned == {world.topics.topics["a"].id: {0: 1, 1: 1}}


def test_no_upgrade_of_a_group_that_is_too_large():
    world = MixedGroup(replace(CONFIG, consumer_max_size=1), a=2)
    world.start("eager", "a")
    world.started_and_settled("eager", "a")
    reply = world.ask(join_request())
    assert reply.code == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.group.type is GroupType.CLASSIC


def test_only_a_member_that_joins_upgrades_a_group():
    world = MixedGroup(a=2)
    world.started_and_settled("eager", "a")
    assert world.ask(join_request(member_epoch=1)).code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_upgrade_that_is_not_written_has_not_happened():
    world = MixedGroup(a=2)
    client = world.started_and_settled("cooperative", "a")
    world.machine.append_error = NotEnoughReplicasError()
    assert world.ask(join_request()).code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.machine.append_error = None
    assert world.group.type is GroupType.CLASSIC
    world.crash(client)
    world.machine.advance(SESSION_TIMEOUT_MS + REBALANCE_TIMEOUT_MS)
    assert world.group.is_empty
    assert world.group.type is GroupType.CLASSIC


def test_whoever_waits_for_a_rebalance_has_to_join_again():
    world = MixedGroup(a=2)
    world.started_and_settled("eager", "a")
    joining = world.start("eager", "a")
    joining.poll()
    assert isinstance(joining, ClassicClient)
    waiting = joining.join
    assert waiting is not None
    assert not waiting.answered
    world.ask(join_request())
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS
    assert set(world.consumer.members) == set(world.consumer.target) > {joining.member_id, "new"}


def type_of(world: MixedGroup) -> GroupType:
    return world.group.type


def test_whoever_waits_for_an_assignment_has_to_join_again():
    world = MixedGroup(a=2)
    leader = world.started_and_settled("eager", "a")
    follower = world.start("eager", "a")
    follower.poll()
    # The leader joins, and the follower syncs before it.
    assert isinstance(leader, ClassicClient)
    leader._heartbeat()
    leader._send_join()
    follower.poll()
    assert isinstance(follower, ClassicClient)
    waiting = follower.sync
    assert waiting is not None
    assert not waiting.answered
    world.ask(join_request())
    assert waiting.code == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_of_an_upgraded_group_have_their_own_sessions():
    world = MixedGroup(a=2)
    client = world.started_and_settled("eager", "a")
    consumer = world.start("consumer", "a")
    consumer.poll()
    world.crash(client)
    world.machine.advance(SESSION_TIMEOUT_MS - 1)
    assert client.member_id in world.consumer.members
    world.machine.advance(1)
    assert client.member_id not in world.consumer.members


def test_a_static_member_changes_its_protocol_and_nobody_else_notices():
    world = MixedGroup(a=2)
    other = world.started_and_settled("cooperative", "a")
    static = world.started_and_settled("eager", "a", "instance")
    epoch, owned = other.epoch, static.owned
    world.crash(static)
    static = world.start("consumer", "a", "instance")
    static.poll()
    assert (static.epoch, static.owned) == (epoch, owned)
    other.poll()
    assert other.is_settled
    assert other.epoch == epoch
    assert world.consumer.epoch == epoch


def test_an_upgrade_in_the_middle_of_a_rebalance_assigns_what_nobody_has():
    world = MixedGroup(a=2)
    static = world.start("cooperative", "a", "instance")
    static.poll()
    world.crash(static)
    static = world.started_and_settled("consumer", "a", "instance")
    assert static.owned == {("a", 0), ("a", 1)}


def test_a_cooperative_member_keeps_what_it_has_though_a_rebalance_was_broken_off():
    world = MixedGroup(a=2)
    leader = world.started_and_settled("cooperative", "a")
    assert isinstance(leader, ClassicClient)
    world.start("cooperative", "a").poll()
    leader._heartbeat()
    leader._send_join()
    assert world.classic.state_name == "CompletingRebalance"
    world.start("cooperative", "a").poll()
    assert world.classic.state_name == "PreparingRebalance"
    world.ask(join_request())
    held = world.consumer.members[leader.member_id].partitions()
    assert {("a", number) for _topic_id, number in held} == leader.owned


# Downgrade


def upgraded(config: GroupsConfig = CONFIG) -> MixedGroup:
    """A consumer group of two classic members and one of the consumer protocol, who is the last client."""
    world = MixedGroup(config, a=3)
    world.start("cooperative", "a")
    world.start("cooperative", "a")
    world.settle()
    world.started_and_settled("consumer", "a")
    assert world.group.type is GroupType.CONSUMER
    return world


def test_the_last_consumer_member_leaves_a_classic_group_behind():
    world = upgraded()
    staying, written = world.clients[:2], len(world.machine.log)
    epoch = world.consumer.epoch
    owned = {client.member_id: client.owned for client in staying}
    world.stop(world.clients[-1])
    assert kinds_of_records(world, written) == [
        *["ConsumerGroupCurrentMemberAssignment -"] * 3,
        *["ConsumerGroupTargetAssignmentMember -"] * 3,
        "ConsumerGroupTargetAssignmentMetadata -",
        *["ConsumerGroupMemberMetadata -"] * 3,
        "ConsumerGroupPartitionMetadata -",
        "ConsumerGroupMetadata -",
        "GroupMetadata",
    ]
    record = world.machine.log[-1]
    assert isinstance(record.key, GroupMetadataKey)
    assert isinstance(record.value, GroupMetadataValue)
    assert (record.value.generation, record.value.protocol_type) == (epoch, "consumer")
    assert record.value.current_state_timestamp == world.machine.now_ms
    assert {
        member.member_id: {
            (each.topic, number)
            for each in read_assignment(member.assignment).assigned_partitions
            for number in each.partitions
        }
        for member in record.value.members
    } == owned
    assert world.classic.state_name == "PreparingRebalance"
    world.settle()
    assert world.classic.generation > epoch
    assert world.owned == ALL_OF_A


def test_the_last_consumer_member_expires():
    world = upgraded()
    world.crash(world.clients[-1])
    for _ in range(CONFIG.consumer_times.session_timeout_ms // 1_000):
        world.tick()
    world.settle()
    assert world.group.type is GroupType.CLASSIC
    assert world.owned == ALL_OF_A


def test_an_administrator_removes_the_last_consumer_member():
    world = MixedGroup(a=3)
    world.started_and_settled("eager", "a")
    static = world.started_and_settled("consumer", "a", "instance")
    reply = world.ask(LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity("", "instance")]))
    assert [member.error_code for member in reply.sent(LeaveGroupResponse).members] == [0]
    world.crash(static)
    world.settle()
    assert world.group.type is GroupType.CLASSIC


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.UPGRADE])
def test_no_downgrade_against_the_policy_but_nobody_is_left_without_partitions(policy):
    world = MixedGroup(with_policy(policy), a=3)
    consumer = world.started_and_settled("consumer", "a")
    world.start("cooperative", "a")
    world.start("eager", "a")
    world.settle()
    world.stop(consumer)
    world.settle()
    assert world.group.type is GroupType.CONSUMER
    assert world.owned == ALL_OF_A


def test_no_downgrade_to_a_group_that_would_be_too_large():
    world = MixedGroup(replace(CONFIG, group_max_size=1), a=3)
    world.started_and_settled("consumer", "a")
    world.start("eager", "a")
    world.start("eager", "a")
    world.settle()
    world.stop(world.clients[0])
    world.settle()
    assert world.group.type is GroupType.CONSUMER
    assert world.owned == ALL_OF_A


def test_a_downgrade_that_is_not_written_is_tried_again():
    world = upgraded()
    world.crash(world.clients[-1])
    world.machine.append_error = NotEnoughReplicasError()
    for _ in range(CONFIG.consumer_times.session_timeout_ms // 1_000):
        world.tick()
    assert world.machine.failed_appends > 0
    assert type_of(world) is GroupType.CONSUMER
    world.machine.append_error = None
    world.settle()
    assert type_of(world) is GroupType.CLASSIC


def test_a_downgraded_group_rebalances_even_under_a_new_coordinator():
    world = upgraded()
    world.stop(world.clients[-1])
    world.machine.reload()
    world.settle()
    assert world.owned == ALL_OF_A


def test_a_downgraded_group_is_upgraded_before_it_has_rebalanced():
    world = upgraded()
    staying = world.clients[:2]
    world.stop(world.clients[-1])
    world.ask(join_request())
    topic_id = world.topics.topics["a"].id
    for client in staying:
        held = world.consumer.members[client.member_id].assigned.get(topic_id, {})
        assert {("a", number) for number in held} == client.owned
    world.machine.check_replay()


# A static member takes the place of the last consumer member


def test_a_static_member_goes_back_to_the_classic_protocol_and_nobody_else_notices():
    world = MixedGroup(a=2)
    other = world.started_and_settled("cooperative", "a")
    static = world.started_and_settled("consumer", "a", "instance")
    epoch, owned = other.epoch, static.owned
    world.crash(static)
    static = world.start("eager", "a", "instance")
    static.poll()
    assert world.classic.state_name == "Stable"
    assert (static.epoch, static.owned) == (epoch, owned)
    other.poll()
    assert other.is_settled
    assert (other.epoch, world.classic.generation) == (epoch, epoch)
    world.machine.check_replay()


def test_sessions_go_on_after_a_downgrade():
    world = MixedGroup(a=2)
    other = world.started_and_settled("cooperative", "a")
    world.crash(world.started_and_settled("consumer", "a", "instance"))
    world.start("eager", "a", "instance").poll()
    world.crash(other)
    assert other.member_id in world.classic.members
    world.machine.advance(SESSION_TIMEOUT_MS)
    assert other.member_id not in world.classic.members


def test_the_group_rebalances_if_somebody_has_not_got_all_that_it_should_have():
    world = MixedGroup(a=3)
    world.started_and_settled("cooperative", "a")
    static = world.started_and_settled("consumer", "a", "instance")
    joining = world.start("cooperative", "a")
    joining.poll()  # and has to wait for the others
    world.crash(static)
    static = world.start("eager", "a", "instance")
    static.poll()
    assert isinstance(static, ClassicClient)
    assert static.join is not None
    assert not static.join.answered
    assert world.classic.state_name == "PreparingRebalance"
    world.settle()
    assert sorted(len(client.owned) for client in world.clients) == [1, 1, 1]
    assert world.group.type is GroupType.CLASSIC


def test_a_static_member_is_the_only_one():
    world = MixedGroup(a=2)
    static = world.started_and_settled("consumer", "a", "instance")
    world.crash(static)
    static = world.start("cooperative", "a", "instance")
    static.poll()
    assert static.owned == {("a", 0), ("a", 1)}
    assert world.classic.state_name == "Stable"


# Empty groups


def test_an_empty_classic_group_becomes_a_consumer_group_whatever_the_policy():
    world = MixedGroup(with_policy(MigrationPolicy.DISABLED), a=2)
    world.stop(world.started_and_settled("eager", "a"))
    assert world.classic.is_empty
    written = len(world.machine.log)
    assert world.ask(join_request()).code == 0
    assert kinds_of_records(world, written)[0] == "GroupMetadata -"
    assert set(world.consumer.members) == {"new"}
    world.machine.check_replay()


def test_an_empty_consumer_group_becomes_a_classic_group_whatever_the_policy():
    world = MixedGroup(with_policy(MigrationPolicy.DISABLED), a=2)
    world.stop(world.started_and_settled("consumer", "a"))
    assert world.consumer.is_empty
    client = world.started_and_settled("eager", "a")
    assert client.owned == {("a", 0), ("a", 1)}
    assert world.group.type is GroupType.CLASSIC
    world.machine.check_replay()


def test_the_last_member_leaves_an_empty_group_of_its_kind():
    world = upgraded()
    for client in [world.clients[0], world.clients[1], world.clients[2]]:
        world.stop(client)
    assert world.group.type is GroupType.CONSUMER
    assert world.group.is_empty
