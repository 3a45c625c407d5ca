"""Subscriptions of consumer groups: changing topics, regular expressions, when a new target is made."""

import pytest
from tests.groups.consumer_room import INTERVAL_MS, Consumer, FakeTopics, partitions_in, response_of

from gralha.groups import subscriptions
from gralha.groups.config import GroupsConfig
from gralha.groups.consumer_member import MemberState
from gralha.groups.subscriptions import MetadataHash
from gralha.groups.topics import Topic
from gralha.protocol.errors import ErrorCode, NotEnoughReplicasError
from gralha.protocol.messages.group_records import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionKey,
)

# Topics


def test_partitions_that_are_added_are_assigned():
    room = Consumer()
    room.join()
    room.topics.grow("t", 5)
    assert response_of(room.beat()).member_epoch == 3
    assert room.assigned() == {"t": [0, 1, 2, 3, 4]}


def test_a_topic_that_is_deleted_has_to_be_given_back():
    room = Consumer(FakeTopics(t=1, u=1))
    room.join(topics=("t", "u"))
    owned = room.topic_partitions({"t": [0]})
    room.topics.delete("u")
    response = response_of(room.beat())
    assert partitions_in(response) == owned
    assert room.member("m").state is MemberState.UNREVOKED_PARTITIONS
    assert response_of(room.beat(owned={"t": [0]})).member_epoch == 3
    assert not room.member("m").pending_revocation


def test_a_topic_that_is_made_again_is_another_topic():
    room = Consumer()
    room.join()
    before = room.topics.topics["t"].id
    room.topics.delete("t")
    room.topics.create("t", 1)
    room.beat(owned={})
    assert room.member("m").assigned.keys() == {room.topics.topics["t"].id} != {before}


def test_other_topics_do_not_matter():
    room = Consumer()
    room.join()
    records = len(room.log)
    room.topics.create("other", 1)
    room.topics.touch()
    room.beat()
    assert room.log[records:] == []


def test_a_change_of_topics_is_noticed_even_if_it_could_not_be_written_at_first():
    room = Consumer()
    room.join()
    room.topics.grow("t", 4)
    room.append_error = NotEnoughReplicasError()
    assert room.beat().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    room.append_error = None
    response_of(room.beat())
    assert room.assigned() == {"t": [0, 1, 2, 3]}


def test_a_change_of_topics_while_nobody_watched_is_noticed():
    room = Consumer()
    room.join()
    room.topics.grow("t", 4)
    room.reload()
    response_of(room.beat())
    assert room.assigned() == {"t": [0, 1, 2, 3]}


def test_the_hash_of_topics():
    topics = FakeTopics(t=1, u=1)
    hashes = MetadataHash(topics)
    assert hashes.of([]) == hashes.of(["missing"]) == 0
    both = hashes.of(["t", "u"])
    assert both == hashes.of(["u", "t", "missing"])
    assert -(1 << 63) <= both < 1 << 63
    seen = {both, hashes.of(["t"]), hashes.of(["u"])}
    topics.grow("t", 2)
    seen.add(hashes.of(["t", "u"]))
    topics.topics["t"] = Topic("t", topics.topics["t"].id, 2, (frozenset("r"), frozenset("s")))
    topics.touch()
    seen.add(hashes.of(["t", "u"]))
    topics.delete("t")
    topics.create("t", 2)
    seen.add(hashes.of(["t", "u"]))
    assert len(seen) == 6


# Subscriptions


def test_names_of_topics_that_do_not_exist_are_not_kept():
    hashes = MetadataHash(FakeTopics(t=1))
    for number in range(1_000):
        assert hashes.of(["t", f"no-{number}"]) == hashes.of(["t"])
    assert list(hashes._hashes) == ["t"]


def test_topics_that_are_unsubscribed_from_have_to_be_given_back_at_once():
    room = Consumer(FakeTopics(t=1, u=1), assignment_interval_ms=INTERVAL_MS)
    room.join(topics=("t", "u"))
    response = response_of(room.beat(topics=("t",)))
    assert partitions_in(response) == room.topic_partitions({"t": [0]})
    assert room.member("m").state is MemberState.UNREVOKED_PARTITIONS
    assert room.group.assignment_epoch < room.group.epoch


def test_topics_that_are_subscribed_to_are_assigned():
    room = Consumer(FakeTopics(t=1, u=1))
    room.join()
    response_of(room.beat(topics=("t", "u")))
    assert room.assigned() == {"t": [0], "u": [0]}
    assert room.group.is_subscribed_to("u")
    assert not room.group.is_subscribed_to("v")


def test_a_new_target_is_made_for_all_who_came_in_the_interval():
    room = Consumer(assignment_interval_ms=INTERVAL_MS)
    room.join("a")
    first = room.group.assignment_epoch
    assert response_of(room.join("b")).member_epoch == first
    room.advance(INTERVAL_MS - 1)
    room.join("c")
    assert room.group.assignment_epoch == first
    room.advance(1)
    room.beat("c")
    assert room.group.assignment_epoch == room.group.epoch == first + 2
    assert sorted(len(each) for each in room.group.target.values()) == [1, 1, 1]


def test_a_clock_that_was_set_back_does_not_stop_assignments():
    room = Consumer(assignment_interval_ms=INTERVAL_MS)
    room.join("a")
    room.now_ms -= 500_000
    room.join("b")
    assert room.group.assignment_epoch == room.group.epoch


def test_most_members_choose_the_assignor():
    room = Consumer(FakeTopics(t=2, u=2))
    room.join("a", topics=("t", "u"))
    assert room.room.describe("g").assignor_name == "uniform"
    room.join("b", topics=("t", "u"), assignor="range")
    assert room.room.describe("g").assignor_name == "range"
    assert all(len(each) == 2 for each in room.group.target.values())  # one partition of each topic
    room.join("c", topics=("t", "u"), assignor="uniform")
    room.join("d", topics=("t", "u"), assignor="uniform")
    assert room.room.describe("g").assignor_name == "uniform"


def test_an_assignor_that_is_no_longer_configured_has_no_votes():
    room = Consumer(config=GroupsConfig(consumer_assignors=("uniform", "range")))
    room.join("a", assignor="range")
    room.config = GroupsConfig(consumer_assignors=("uniform",))
    room.reload()
    room.join("b")
    assert room.room.describe("g").assignor_name == "uniform"


# Regular expressions


def test_a_regular_expression_must_match_the_whole_name():
    room = Consumer(FakeTopics(ab=1, abc=1, b=1))
    response_of(room.join(topics=None, regex="ab?"))
    assert room.assigned() == {"ab": [0]}
    response_of(room.beat(regex="ab.*"))
    assert room.assigned() == {"ab": [0], "abc": [0]}
    assert list(room.group.regexes) == ["ab.*"]


def test_names_and_a_regular_expression_together():
    room = Consumer(FakeTopics(a=1, b=1, c=1))
    room.join(topics=("a",), regex="b")
    assert room.assigned() == {"a": [0], "b": [0]}


@pytest.mark.parametrize(
    "regex", ["(", "[a", "a(?=b)", r"(a)\1", "a{2000}", "x{1000}y{1000}z{1000}w{1000}v{1000}u{1000}"]
)
def test_expressions_that_are_none(regex):
    room = Consumer()
    assert room.join(topics=None, regex=regex).code == ErrorCode.INVALID_REGULAR_EXPRESSION
    room.join()
    assert room.beat(regex=regex).code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert room.beat().code == ErrorCode.NONE


def test_an_expression_that_another_broker_accepted_matches_nothing():
    room = Consumer()
    room.join(topics=None, regex="t")
    for record in room.log:
        if isinstance(record.key, ConsumerGroupRegularExpressionKey):
            record.key.regular_expression = "("
        if isinstance(record.value, ConsumerGroupMemberMetadataValue):
            record.value.subscribed_topic_regex = "("
    room.reload()
    assert room.beat().code == ErrorCode.NONE
    assert room.group.subscribed_topics == frozenset()


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds():
    room = Consumer(FakeTopics(a1=1))
    room.join(topics=None, regex="a.")
    room.beat()
    room.topics.create("a2", 1)
    room.advance(10_000)
    room.beat()
    assert room.assigned() == {"a1": [0]}
    room.advance(1)
    room.beat()
    assert room.assigned() == {"a1": [0], "a2": [0]}


def test_a_change_of_a_regular_expressions_topics_is_noticed_even_if_it_could_not_be_written_at_first():
    room = Consumer(FakeTopics(a1=1))
    room.join(topics=None, regex="a.")
    room.topics.create("a2", 1)
    room.append_error = NotEnoughReplicasError()
    assert room.beat().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    room.append_error = None
    room.beat()
    assert room.assigned() == {"a1": [0], "a2": [0]}


def test_topics_that_are_gone_are_no_longer_in_the_expression():
    room = Consumer(FakeTopics(a1=1, a2=1))
    room.join(topics=None, regex="a.")
    room.beat()
    room.topics.delete("a1")
    room.advance(10_001)
    room.beat()
    assert room.group.regexes["a."].topics == {"a2"}


def test_expressions_are_looked_up_again_from_time_to_time():
    room = Consumer(FakeTopics(a1=1), GroupsConfig(consumer_regex_refresh_interval_ms=600_000))
    room.join(topics=None, regex="a.")
    room.beat()
    assert room.group.checks.regexes_checked_ms == room.now_ms
    for _ in range(20):
        room.advance(30_000)
        room.beat()
    assert room.group.checks.regexes_checked_ms == room.now_ms - 600_000
    room.advance(1)
    room.beat()
    assert room.group.checks.regexes_checked_ms == room.now_ms


def test_a_new_expression_does_not_have_the_others_looked_up(monkeypatch):
    room = Consumer(FakeTopics(a1=1))
    looked_up = []
    look_up = subscriptions.matching_topics

    def noted(expression, topics, may_describe=None):
        looked_up.append(expression)
        return look_up(expression, topics, may_describe)

    monkeypatch.setattr(subscriptions, "matching_topics", noted)
    for number in range(10):
        room.join(f"m{number}", topics=None, regex=f"a{number}")
    assert len(looked_up) < 2 * 10


def test_an_expression_is_kept_as_long_as_somebody_subscribes_with_it():
    room = Consumer(FakeTopics(a=1, b=1))
    room.join("m", topics=None, regex="a")
    room.join("n", topics=None, regex="a")
    room.beat("m", regex="b")
    assert set(room.group.regexes) == {"a", "b"}
    room.leave("n")
    assert set(room.group.regexes) == {"b"}
    room.beat("m", regex="", topics=("a",))
    assert room.group.regexes == {}
    assert room.group.subscribed_topics == {"a"}
