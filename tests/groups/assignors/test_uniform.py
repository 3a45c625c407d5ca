from hypothesis import given
from hypothesis import strategies as st
from tests.groups.assignors.notation import check_complete, member, run, sizes, topic_id
from tests.groups.assignors.strategies import groups

from gralha.groups.assignors import Assignment, AssignorMember
from gralha.groups.assignors.uniform import assign


def having(members, assignments):
    return {each: spec._replace(assignment=assignments[each]) for each, spec in members.items()}


def partitions(assignment: Assignment) -> set[tuple[bytes, int]]:
    return {(topic, number) for topic, numbers in assignment.items() for number in numbers}


@given(groups())
def test_every_partition_has_one_owner_that_subscribes(group):
    members, counts = group
    check_complete(members, counts, assign(members, counts))


@given(groups(homogeneous=True))
def test_with_one_subscription_sizes_differ_by_at_most_one(group):
    members, counts = group
    result = sizes(assign(members, counts)).values()
    assert max(result) - min(result) <= 1


@given(groups())
def test_no_single_move_makes_sizes_more_equal(group):
    members, counts = group
    assignments = assign(members, counts)
    size = sizes(assignments)
    for owner, assignment in assignments.items():
        for topic in assignment:
            assert all(size[other] + 2 > size[owner] for other in members if topic in members[other].topics)


@given(groups())
def test_a_balanced_assignment_stays(group):
    members, counts = group
    assignments = assign(members, counts)
    assert assign(having(members, assignments), counts) == assignments


@given(groups(homogeneous=True))
def test_with_one_subscription_no_more_partitions_move_than_must(group):
    members, counts = group
    topics = next(iter(members.values())).topics
    total = sum(counts[topic] for topic in topics)
    quota, extra = divmod(total, len(members))
    had = {
        each: {one for one in partitions(spec.assignment) if one[0] in topics}
        for each, spec in members.items()
    }
    # Everybody can keep `quota` partitions, and as many members as there are extra partitions one more.
    may_keep = sum(min(len(each), quota) for each in had.values())
    may_keep += min(extra, sum(len(each) > quota for each in had.values()))
    kept = sum(
        len(had[each] & partitions(assignment)) for each, assignment in assign(members, counts).items()
    )
    assert kept == may_keep


@given(groups(homogeneous=True), st.data())
def test_with_one_subscription_the_others_only_give_to_one_that_joins(group, data):
    members, counts = group
    before = assign(members, counts)
    topics = next(iter(members.values())).topics
    newcomer = data.draw(st.sampled_from(["a-first", "member-3a", "z-last"]))
    after = assign(having(members, before) | {newcomer: AssignorMember(topics, {})}, counts)
    assert all(partitions(after[each]) <= partitions(before[each]) for each in members)


@given(groups(homogeneous=True), st.data())
def test_with_one_subscription_the_others_only_receive_from_one_that_leaves(group, data):
    members, counts = group
    before = assign(members, counts)
    leaving = data.draw(st.sampled_from(sorted(members)))
    rest = having(members, before)
    del rest[leaving]
    after = assign(rest, counts)
    assert all(partitions(after[each]) >= partitions(before[each]) for each in rest)


@given(groups(), st.randoms())
def test_the_order_of_the_input_plays_no_part(group, random):
    members, counts = group
    shuffled = list(members.items())
    random.shuffle(shuffled)
    assert assign(dict(shuffled), counts) == assign(members, counts)


def test_two_members_of_two_topics():
    members = {"A": member("ac"), "B": member("ac")}
    assert run(assign, members, a=3, c=2) == {"A": "a:0,2 c:1", "B": "a:1 c:0"}


def test_more_members_than_partitions():
    members = {"A": member("c"), "B": member("c"), "C": member("c")}
    assert run(assign, members, c=2) == {"A": "c:0", "B": "c:1", "C": ""}


def test_one_partition_moves_from_an_unbalanced_assignment():
    members = {"A": member("ab", "a:0,1 b:0,1"), "B": member("ab", "a:2 b:2")}
    assert run(assign, members, a=3, b=3) == {"A": "a:0,1 b:0", "B": "a:2 b:1,2"}


def test_new_partitions_go_to_those_that_have_the_fewest():
    members = {"A": member("ab", "a:0,2 b:0"), "B": member("ab", "a:1 b:1,2")}
    assert run(assign, members, a=6, b=5) == {"A": "a:0,2,3,5 b:0,4", "B": "a:1,4 b:1,2,3"}


def test_a_new_member_gets_one_partition_of_each():
    members = {"A": member("ab", "a:0,2 b:0"), "B": member("ab", "a:1 b:1,2"), "C": member("ab")}
    assert run(assign, members, a=3, b=3) == {"A": "a:0,2", "B": "a:1 b:1", "C": "b:0,2"}


def test_the_partitions_of_a_member_that_left_are_shared():
    members = {"A": member("ab", "a:0 b:0"), "B": member("ab", "a:1 b:1")}
    assert run(assign, members, a=3, b=3) == {"A": "a:0,2 b:0", "B": "a:1 b:1,2"}


def test_partitions_of_a_topic_that_nobody_subscribes_to_any_more_are_taken_away():
    members = {"A": member("b", "a:0 b:0"), "B": member("b", "a:1 b:1")}
    assert run(assign, members, a=2, b=2) == {"A": "b:0", "B": "b:1"}


def test_a_partition_that_two_members_had_stays_with_one():
    members = {"A": member("a", "a:0,1"), "B": member("a", "a:0,1")}
    assert run(assign, members, a=2) == {"A": "a:0", "B": "a:1"}


def test_partitions_that_only_one_may_have_count():
    members = {"A": member("ac"), "B": member("c")}
    assert run(assign, members, a=3, c=6) == {"A": "a:0,1,2 c:3,5", "B": "c:0,1,2,4"}


def test_unbalanced_assignment_with_different_subscriptions():
    members = {
        "A": member("a", "a:0,1,2"),
        "B": member("ab", "a:3 b:0"),
        "C": member("abc", "a:4,5 b:1,2,3 c:0,1,2,3"),
    }
    result = assign(members, {topic_id("a"): 6, topic_id("b"): 4, topic_id("c"): 4})
    assert sorted(sizes(result).values()) == [4, 5, 5]
    assert result["C"][topic_id("c")] == {0, 1, 2, 3}


def test_a_member_that_dropped_a_topic_gives_its_partitions_to_the_other():
    members = {"A": member("a", "a:0,2 b:1,3"), "B": member("ab", "a:1 b:0,2,4")}
    assert run(assign, members, a=3, b=5) == {"A": "a:0,1,2", "B": "b:0,1,2,3,4"}


def test_the_one_with_the_most_has_nothing_to_give_of_the_topic_that_others_lack():
    members = {"A": member("ab", "a:0,1,2,3 b:0"), "B": member("b", "b:1"), "C": member("b")}
    assert run(assign, members, a=4, b=2) == {"A": "a:0,1,2,3", "B": "b:1", "C": "b:0"}


def test_a_member_without_topics_has_an_empty_assignment():
    assert run(assign, {"A": member(""), "B": member("a")}, a=2) == {"A": "", "B": "a:0,1"}
