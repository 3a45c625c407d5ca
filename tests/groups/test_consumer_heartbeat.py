"""ConsumerGroupHeartbeat: what it may say, who may join, and which epochs are accepted."""

import pytest
from tests.groups.consumer_room import (
    GROUP,
    REBALANCE_MS,
    Consumer,
    FakeTopics,
    partitions_in,
    response_of,
)

from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_group import GroupState
from gralha.groups.consumer_member import MemberState
from gralha.protocol.errors import ErrorCode, NotEnoughReplicasError
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from gralha.protocol.messages.group_records import ConsumerGroupCurrentMemberAssignmentValue


def joining(**fields):
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def present(**fields):
    request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="m", member_epoch=2)
    for name, value in fields.items():
        setattr(request, name, value)
    return request


# What may be said


@pytest.mark.parametrize(
    "request_",
    [
        joining(member_id=""),
        joining(member_id="  "),
        joining(group_id=""),
        joining(instance_id=" "),
        joining(rack_id=""),
        joining(rebalance_timeout_ms=-1),
        joining(topic_partitions=None),
        joining(topic_partitions=[TopicPartitions(bytes(16), [0])]),
        joining(subscribed_topic_names=None),
        present(member_id=""),
        present(member_epoch=-1, member_id=""),
        present(member_epoch=-2),
        present(member_epoch=-3),
    ],
)
def test_requests_that_make_no_sense(request_):
    room = Consumer()
    assert room.heartbeat(request_).code == ErrorCode.INVALID_REQUEST
    assert not room.log


def test_in_version_0_a_new_member_gets_its_id_from_the_coordinator():
    room = Consumer()
    response = response_of(room.heartbeat(joining(member_id=""), version=0))
    assert response.member_id == "1"
    assert list(room.group.members) == ["1"]
    assert room.heartbeat(present(member_id="", member_epoch=1), version=0).code == ErrorCode.INVALID_REQUEST


def test_an_assignor_must_be_one_of_those_that_are_configured():
    room = Consumer(config=GroupsConfig(consumer_assignors=("range",)))
    reply = room.join(assignor="uniform")
    assert reply.code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "range" in str(reply.error)
    assert room.join(assignor="range").code == ErrorCode.NONE


def test_the_protocol_can_be_turned_off():
    room = Consumer(config=GroupsConfig(consumer_protocol_enabled=False))
    assert room.join().code == ErrorCode.UNSUPPORTED_VERSION


# Joining


def test_the_first_member_gets_everything():
    room = Consumer()
    response = response_of(room.join())
    assert response.member_epoch == 2
    assert response.heartbeat_interval_ms == 5_000
    assert [each.partitions for each in partitions_in(response)] == [[0, 1, 2]]
    assert room.group.state is GroupState.STABLE
    assert (room.group.epoch, room.group.assignment_epoch) == (2, 2)


def test_a_member_that_subscribes_to_nothing_yet():
    room = Consumer()
    response = response_of(room.join(topics=()))
    assert response.member_epoch == 1
    assert partitions_in(response) == []
    assert room.group.state is GroupState.STABLE
    assert response_of(room.beat(topics=("t",))).member_epoch == 2
    assert room.assigned() == {"t": [0, 1, 2]}


def test_a_topic_that_does_not_exist_is_waited_for():
    room = Consumer(FakeTopics())
    assert partitions_in(response_of(room.join())) == []
    room.topics.create("t", 2)
    response_of(room.beat())
    assert room.assigned() == {"t": [0, 1]}


def test_a_group_has_room_for_so_many_members():
    room = Consumer(config=GroupsConfig(consumer_max_size=2))
    room.join("a")
    room.join("b")
    assert room.join("c").code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert room.join("b").code == ErrorCode.NONE
    room.leave("a")
    assert room.join("c").code == ErrorCode.NONE


def test_who_joins_again_is_told_everything_again():
    room = Consumer()
    first = response_of(room.join())
    records = len(room.log)
    assert response_of(room.join()) == first
    assert room.log[records:] == []


def test_a_failed_append_leaves_no_member_behind():
    room = Consumer()
    room.append_error = NotEnoughReplicasError()
    assert room.join().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert GROUP not in room.groups
    room.append_error = None
    assert response_of(room.join()).member_epoch == 2


# Two members


def test_partitions_go_from_one_to_the_other():
    room = Consumer()
    room.join("a")
    response = response_of(room.join("b"))
    assert (response.member_epoch, partitions_in(response)) == (3, [])
    assert room.member("b").state is MemberState.UNRELEASED_PARTITIONS

    response = response_of(room.beat("a", owned={"t": [0, 1, 2]}))
    assert response.member_epoch == 2
    (kept,) = partitions_in(response)
    (given,) = {0, 1, 2} - set(kept.partitions)
    assert room.member("a").state is MemberState.UNREVOKED_PARTITIONS

    assert response_of(room.beat("b")).assignment is None  # a still has it
    assert response_of(room.beat("a")).assignment is None  # and does not say otherwise
    response = response_of(room.beat("a", owned={"t": kept.partitions}))
    assert (response.member_epoch, response.assignment) == (3, None)

    response = response_of(room.beat("b"))
    assert [each.partitions for each in partitions_in(response)] == [[given]]
    assert room.group.state is GroupState.STABLE


def test_an_answer_has_the_assignment_only_when_there_is_news():
    room = Consumer()
    room.join()
    assert response_of(room.beat()).assignment is None
    records = len(room.log)
    assert response_of(room.beat(owned={"t": [0, 1, 2]})).assignment is None
    assert room.log[records:] == []


@pytest.mark.parametrize("subscription", [{"subscribed_topic_names": ["t"]}, {"subscribed_topic_regex": ""}])
def test_who_says_everything_is_told_everything(subscription):
    room = Consumer()
    room.join()
    owned = room.topic_partitions({"t": [0, 1, 2]})
    whole = present(rebalance_timeout_ms=1, topic_partitions=owned, **subscription)
    assert response_of(room.heartbeat(whole)).assignment is not None


def test_members_that_come_and_go_change_the_state_of_the_group():
    room = Consumer(assignment_interval_ms=1_000)
    room.join("a")
    assert room.group.state_name == "Stable"
    room.join("b")
    assert room.group.state_name == "Assigning"
    room.advance(1_000)
    room.beat("b")
    assert room.group.state_name == "Reconciling"
    room.leave("a")
    room.leave("b")
    assert room.group.state_name == "Empty"


# Epochs


def test_unknown_members_and_groups():
    room = Consumer()
    assert room.heartbeat(present()).code == ErrorCode.GROUP_ID_NOT_FOUND
    assert room.leave().code == ErrorCode.GROUP_ID_NOT_FOUND
    room.join()
    assert room.heartbeat(present(member_id="x")).code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.leave("x").code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("epoch", [1, 3])
def test_members_with_an_epoch_that_is_not_theirs_are_fenced(epoch):
    room = Consumer()
    room.join()
    assert room.beat(epoch=epoch, owned={}).code == ErrorCode.FENCED_MEMBER_EPOCH


def test_the_epoch_before_is_accepted_from_who_owns_no_more_than_it_may():
    room = Consumer()
    room.join("a")
    room.join("b")
    room.leave("b")
    room.beat("a", owned={"t": [0, 1, 2]})  # the answer, with epoch 4, is lost
    assert (room.member("a").epoch, room.member("a").previous_epoch) == (4, 2)
    assert room.beat("a", epoch=2).code == ErrorCode.FENCED_MEMBER_EPOCH
    assert room.beat("a", epoch=2, owned={"t": [0, 3]}).code == ErrorCode.FENCED_MEMBER_EPOCH
    assert room.beat("a", epoch=3, owned={"t": [0]}).code == ErrorCode.FENCED_MEMBER_EPOCH
    assert response_of(room.beat("a", epoch=2, owned={"t": [0, 2]})).member_epoch == 4


def test_who_is_in_a_state_of_a_later_version_has_to_give_everything_up():
    room = Consumer()
    room.join()
    values = [each.value for each in room.log]
    states = [value for value in values if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)]
    states[-1].state = 9
    room.reload()
    assert room.member("m").state is MemberState.UNKNOWN
    assert room.beat().code == ErrorCode.FENCED_MEMBER_EPOCH
    assert room.beat(owned={"t": [0]}).code == ErrorCode.FENCED_MEMBER_EPOCH
    assert room.beat(owned={}).code == ErrorCode.NONE
    assert room.member("m").state is MemberState.STABLE


# Leaving and timing out


def test_who_leaves_has_nothing_any_more():
    room = Consumer()
    room.join("a")
    room.join("b")
    response = response_of(room.leave("a"))
    assert (response.member_id, response.member_epoch) == ("a", -1)
    response_of(room.beat("b"))
    assert room.assigned("b") == {"t": [0, 1, 2]}
    assert room.timers.deadline_ms(("consumer session", GROUP, "a")) is None


def test_a_session_lasts_as_long_as_heartbeats_come():
    room = Consumer()
    room.join()
    for _ in range(3):
        room.advance(44_999)
        room.beat()
    room.advance(44_999)
    assert "m" in room.group.members
    room.advance(1)
    assert room.group.is_empty
    assert room.group.epoch == 3


def test_the_session_may_be_set_for_a_single_group():
    room = Consumer()
    room.join()
    room.times = room.times.__class__(50_000, 7_000, 0)
    assert response_of(room.beat()).heartbeat_interval_ms == 7_000
    room.advance(49_999)
    assert "m" in room.group.members
    room.advance(1)
    assert room.group.is_empty


def test_who_does_not_give_back_in_time_is_removed():
    room = Consumer()
    room.join("a")
    room.join("b")
    room.beat("a")
    for _ in range(5):
        room.advance(10_000)
        room.beat("a")
        room.beat("b")
    room.advance(REBALANCE_MS - 50_000 - 1)
    assert "a" in room.group.members
    room.advance(1)
    assert list(room.group.members) == ["b"]


def test_who_gives_back_in_time_stays():
    room = Consumer()
    room.join("a")
    room.join("b")
    kept = partitions_in(response_of(room.beat("a")))[0].partitions
    room.advance(30_000)
    assert room.timers.deadline_ms(("consumer revocation", GROUP, "a")) is not None
    room.beat("a", owned={"t": kept})
    assert room.timers.deadline_ms(("consumer revocation", GROUP, "a")) is None
    room.beat("b")
    room.advance(31_000)
    assert set(room.group.members) == {"a", "b"}


def test_a_revocation_that_could_not_be_written_is_not_waited_for():
    room = Consumer()
    room.join()
    room.append_error = NotEnoughReplicasError()
    room.beat(topics=())
    room.append_error = None
    for _ in range(7):
        room.advance(10_000)
        assert room.beat(topics=("t",)).code == ErrorCode.NONE


def test_a_removal_that_could_not_be_written_is_tried_again():
    room = Consumer()
    room.join()
    room.append_error = NotEnoughReplicasError()
    room.advance(60_000)
    assert room.failed_appends > 1
    assert "m" in room.group.members
    room.append_error = None
    room.advance(1_000)
    assert room.group.is_empty


def test_after_a_reload_everybody_has_a_whole_session():
    room = Consumer()
    room.join("a")
    room.join("b")
    room.beat("a")
    room.advance(44_000)
    room.reload()
    room.advance(44_999)
    assert set(room.group.members) == {"a", "b"}
    room.advance(1)
    assert room.group.is_empty


def test_after_a_reload_revocations_are_waited_for_again():
    room = Consumer()
    room.join("a")
    room.join("b")
    room.beat("a")
    room.reload()
    for _ in range(6):
        room.advance(10_000)
        if "a" in room.group.members:
            room.beat("a")
        room.beat("b")
    assert list(room.group.members) == ["b"]
