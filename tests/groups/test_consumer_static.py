"""Static members of consumer groups: they leave for a while, come back, and keep others out."""

from tests.groups.consumer_room import GROUP, SESSION_MS, Consumer, partitions_in, response_of

from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_group import GroupState
from gralha.protocol.errors import ErrorCode, NotEnoughReplicasError


def test_a_static_member_comes_back_to_what_it_had():
    room = Consumer()
    room.join("a", instance_id="i")
    room.join("b")
    kept = partitions_in(response_of(room.beat("a", instance_id="i")))[0].partitions
    room.beat("a", instance_id="i", owned={"t": kept})
    room.beat("b")
    epoch, others = room.group.epoch, room.assigned("b")

    response = response_of(room.leave("a", "i", epoch=-2))
    assert (response.member_id, response.member_epoch) == ("a", -2)
    assert response_of(room.beat("b")).assignment is None

    response = response_of(room.join("c", instance_id="i"))
    assert response.member_epoch == epoch
    assert partitions_in(response) == room.topic_partitions({"t": kept})
    assert set(room.group.members) == {"b", "c"}
    assert room.group.static_members == {"i": "c"}
    assert room.assigned("b") == others
    assert room.group.epoch == epoch
    assert room.group.state is GroupState.STABLE


def test_what_it_was_to_give_back_is_free_when_it_leaves_for_a_while():
    room = Consumer()
    room.join("a", instance_id="i")
    room.join("b")
    room.beat("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    response = response_of(room.beat("b"))
    assert len(partitions_in(response)[0].partitions) == 1


def test_nobody_else_gets_what_it_has_while_it_is_away():
    room = Consumer()
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    assert partitions_in(response_of(room.join("b"))) == []
    assert response_of(room.beat("b")).assignment is None
    (kept,) = partitions_in(response_of(room.join("c", instance_id="i")))
    assert len(kept.partitions) == 2
    (got,) = partitions_in(response_of(room.beat("b")))
    assert len(got.partitions) == 1


def test_the_next_life_may_commit_what_it_has_whatever_epoch_it_has_heard_of():
    room = Consumer()
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    room.join("b", instance_id="i")
    check = room.group.check_offset_commit("b", "i", 1, False, 9)
    assert check is not None
    check("t", room.topics.topics["t"].id, 0)


def test_the_next_life_may_have_the_same_member_id():
    room = Consumer()
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    assert response_of(room.join("a", instance_id="i")).member_epoch == 2
    assert room.assigned("a") == {"t": [0, 1, 2]}
    room.advance(SESSION_MS - 1)
    assert "a" in room.group.members
    room.advance(1)
    assert room.group.is_empty


def test_the_next_life_may_subscribe_to_other_topics():
    room = Consumer()
    room.topics.create("u", 1)
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    response_of(room.join("b", topics=("u",), instance_id="i"))
    assert room.assigned("b") == {"u": [0]}
    assert room.group.subscribed_topics == {"u"}


def test_a_new_target_counts_the_next_life_as_the_same_member():
    room = Consumer()
    room.join("a", instance_id="i")
    room.join("b")
    room.leave("a", "i", epoch=-2)
    room.topics.grow("t", 6)
    target = room.named({topic: dict.fromkeys(each, 0) for topic, each in room.group.target["a"].items()})
    room.join("c", instance_id="i")
    assert set(target["t"]) <= room.group.target["c"][room.topics.topics["t"].id]
    assert set(room.group.target) == {"b", "c"}


def test_who_does_not_come_back_within_its_session_is_removed():
    room = Consumer()
    room.join("a", instance_id="i")
    room.advance(10_000)
    room.leave("a", "i", epoch=-2)
    room.advance(SESSION_MS - 10_000 - 1)
    assert "a" in room.group.members
    room.advance(1)
    assert room.group.is_empty
    assert room.group.static_members == {}


def test_an_instance_id_is_one_members_only():
    room = Consumer()
    room.join("a", instance_id="i")
    assert room.join("b", instance_id="i").code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert list(room.group.members) == ["a"]


def test_who_missed_the_answer_to_its_join_may_ask_again():
    room = Consumer()
    first = response_of(room.join("a", instance_id="i"))
    assert response_of(room.join("a", instance_id="i")) == first


def test_the_former_life_is_fenced():
    room = Consumer()
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    room.join("b", instance_id="i")
    assert room.beat("a", epoch=2, instance_id="i").code == ErrorCode.FENCED_INSTANCE_ID
    assert room.leave("a", "i").code == ErrorCode.FENCED_INSTANCE_ID
    assert room.leave("a", "i", epoch=-2).code == ErrorCode.FENCED_INSTANCE_ID
    assert room.beat("a", epoch=2).code == ErrorCode.UNKNOWN_MEMBER_ID


def test_unknown_instance_ids():
    room = Consumer()
    room.join("a")
    assert room.beat("a", instance_id="i").code == ErrorCode.UNKNOWN_MEMBER_ID
    assert room.leave("a", "i").code == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_leaves_for_good_is_removed():
    room = Consumer()
    room.join("a", instance_id="i")
    response_of(room.leave("a", "i"))
    assert room.group.is_empty
    assert response_of(room.join("b", instance_id="i")).member_epoch == room.group.epoch


def test_while_it_is_away_it_is_fenced_for_its_old_epoch():
    room = Consumer()
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    assert room.beat("a", epoch=2, instance_id="i", owned={}).code == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_failed_append_of_the_next_life_changes_nothing():
    room = Consumer()
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    room.append_error = NotEnoughReplicasError()
    room.join("b", instance_id="i")
    assert list(room.group.members) == ["a"]
    room.append_error = None
    assert response_of(room.join("c", instance_id="i")).member_epoch == 2


def test_a_full_group_has_no_room_for_a_next_life_with_another_id():
    """As in Apache Kafka: it looks at the member id only."""
    room = Consumer(config=GroupsConfig(consumer_max_size=1))
    room.join("a", instance_id="i")
    room.leave("a", "i", epoch=-2)
    assert room.join("b", instance_id="i").code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert room.join("a", instance_id="i").code == ErrorCode.NONE
    assert room.groups[GROUP] is room.group
