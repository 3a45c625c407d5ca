from hypothesis import given
from hypothesis import strategies as st
from tests.groups.assignors.notation import check_complete, member, run
from tests.groups.assignors.strategies import groups, subscriptions

from gralha.groups.assignors import AssignorMember
from gralha.groups.assignors.range import assign


@given(groups())
def test_every_partition_has_one_owner_that_subscribes(group):
    members, counts = group
    check_complete(members, counts, assign(members, counts))


@given(groups())
def test_ranges_are_contiguous_and_as_equal_as_can_be(group):
    members, counts = group
    assignments = assign(members, counts)
    for topic, count in counts.items():
        subscribers = [each for each in members if topic in members[each].topics]
        ranges = [sorted(assignments[each].get(topic, ())) for each in subscribers]
        assert all(numbers == list(range(numbers[0], numbers[-1] + 1)) for numbers in ranges if numbers)
        if ranges:
            assert {len(numbers) for numbers in ranges} <= {count // len(ranges), -(-count // len(ranges))}


@given(groups(), st.integers(1, 20))
def test_topics_with_the_same_subscribers_and_counts_are_divided_alike(group, count):
    members, counts = group
    assignments = assign(members, dict.fromkeys(counts, count))
    subscribers = {topic: [each for each in members if topic in members[each].topics] for topic in counts}
    for assignment in assignments.values():
        for topic, numbers in assignment.items():
            alike = [other for other in counts if subscribers[other] == subscribers[topic]]
            assert all(assignment[other] == numbers for other in alike)


@given(groups(), st.permutations(range(8)))
def test_static_members_keep_their_partitions_under_other_member_ids(group, order):
    members, counts = group
    renamed = {
        each: f"restarted-{order[number]}" if spec.instance_id else each
        for number, (each, spec) in enumerate(members.items())
    }
    before = assign(members, counts)
    after = assign({renamed[each]: spec for each, spec in members.items()}, counts)
    assert after == {renamed[each]: assignment for each, assignment in before.items()}


@given(groups(), st.randoms())
def test_the_order_of_the_input_plays_no_part(group, random):
    members, counts = group
    shuffled = list(members.items())
    random.shuffle(shuffled)
    assert assign(dict(shuffled), counts) == assign(members, counts)


@given(subscriptions)
def test_a_group_without_members_has_no_assignment(topics):
    assert assign({}, dict.fromkeys(topics, 3)) == {}


def test_two_members_of_two_topics():
    members = {"A": member("ab"), "B": member("ab")}
    assert run(assign, members, a=3, b=2) == {"A": "a:0,1 b:0", "B": "a:2 b:1"}


def test_three_members_with_different_subscriptions():
    members = {"A": member("ab"), "B": member("c"), "C": member("bc")}
    assert run(assign, members, a=3, b=3, c=2) == {"A": "a:0,1,2 b:0,1", "B": "c:0", "C": "b:2 c:1"}


def test_more_members_than_partitions():
    members = {"A": member("ac"), "B": member("ac"), "C": member("ac")}
    assert run(assign, members, a=3, c=2) == {"A": "a:0 c:0", "B": "a:1 c:1", "C": "a:2"}


def test_what_members_had_plays_no_part():
    members = {"A": member("ab", "a:0,1 b:0,1"), "B": member("ab", "a:2 b:2"), "C": member("ab")}
    assert run(assign, members, a=4, b=3) == {"A": "a:0,1 b:0", "B": "a:2 b:1", "C": "a:3 b:2"}


def test_static_members_come_before_dynamic_ones():
    members = {"A": member("a"), "B": member("a", "", "instance-2"), "C": member("a", "", "instance-1")}
    assert run(assign, members, a=5) == {"C": "a:0,1", "B": "a:2,3", "A": "a:4"}


def test_a_member_without_topics_has_an_empty_assignment():
    assert assign({"A": AssignorMember(frozenset(), {})}, {}) == {"A": {}}
