"""Scenarios of groups: how members divide partitions when they come, go, crash and come back."""

from __future__ import annotations

from tests.clients.groups import CONSUMER_SESSION_TIMEOUT_MS, MAX_GROUP_SIZE, Member
from tests.clients.scenarios.group_stage import GroupScenario, GroupStage
from tests.clients.scenarios.stage import eventually

SHORT_SESSION_MS = 1500


def second_member_shares(stage: GroupStage) -> None:
    topic = stage.topic(partitions=4)
    first = stage.join([topic])
    stage.divided([first], [4])
    second = stage.join([topic])
    stage.divided([first, second], [2, 2])


def three_members_read_every_record_once(stage: GroupStage) -> None:
    topic = stage.topic(partitions=3)
    members = [stage.join([topic]) for _ in range(3)]
    stage.divided(members, [1, 1, 1])
    stage.produce(topic, 0, 20)
    stage.produce(topic, 1, 20)
    stage.produce(topic, 2, 20)
    stage.eventually(lambda: sum(len(member.look().received) for member in members) >= 60, *members)
    for member in members:
        (partition,) = member.assignment
        assert member.offsets(partition) == list(range(20))
        assert len(member.received) == 20


def member_leaves(stage: GroupStage) -> None:
    """A member that leaves says so: the group need not wait for the end of its session."""
    topic = stage.topic(partitions=4)
    first, second = stage.join([topic]), stage.join([topic])
    stage.divided([first, second], [2, 2])
    second.leave()
    eventually(lambda: len(stage.view().member_ids) == 1, CONSUMER_SESSION_TIMEOUT_MS / 2000)
    stage.divided([first], [4])


def member_crashes(stage: GroupStage) -> None:
    """A silent member stays in the group until its session ends. Then the others take over."""
    topic = stage.topic(partitions=4)
    first = stage.join([topic])
    second = stage.join_elsewhere([topic], session_timeout_ms=SHORT_SESSION_MS)
    stage.divided([first, second], [2, 2])
    stage.crash(second)
    assert len(stage.view().member_ids) == 2
    stage.divided([first], [4])
    stage.produce(topic, 3, 1)
    stage.eventually(lambda: first.look().offsets((topic, 3)) == [0], first)


def static_member_comes_back(stage: GroupStage) -> None:
    """A static member gets its partitions back, and the others notice nothing."""
    topic = stage.topic(partitions=4)
    members = [stage.join([topic], instance_id=name) for name in ("one", "two")]
    stage.divided(members, [2, 2])
    members[1] = restart(stage, topic, members[1], "two", members[0])
    members[0] = restart(stage, topic, members[0], "one", members[1])


def restart(stage: GroupStage, topic: str, member: Member, instance_id: str, other: Member) -> Member:
    had, before = member.assignment, stage.view()
    interruptions = other.look().interruptions()
    member.leave()
    returned = stage.join([topic], instance_id=instance_id)
    stage.eventually(lambda: returned.look().assignment == had, returned)
    stage.produce(topic, min(had)[1], 1)
    stage.eventually(lambda: returned.look().received != [], returned)
    assert other.look().interruptions() == interruptions
    after = stage.view()
    assert (after.state, len(after.member_ids), after.epoch) == ("Stable", 2, before.epoch)
    return returned


def static_member_comes_back_after_a_crash(stage: GroupStage) -> None:
    topic = stage.topic(partitions=4)
    first = stage.join([topic], instance_id="one")
    second = stage.join_elsewhere([topic], instance_id="two")
    stage.divided([first, second], [2, 2])
    interruptions = first.interruptions()
    stage.crash(second)
    returned = stage.join([topic], instance_id="two")
    stage.divided([first, returned], [2, 2])
    assert returned.assignment == second.assignment
    assert first.look().interruptions() == interruptions


def name_of_a_static_member_is_taken(stage: GroupStage) -> None:
    """If two members have one name, the classic protocol keeps the newer, the consumer protocol the older."""
    topic = stage.topic(partitions=2)
    older = stage.join([topic], instance_id="one")
    stage.divided([older], [2])
    newer = stage.join([topic], instance_id="one")
    if stage.client.protocol == "classic":
        stage.divided([newer], [2])
        stage.fails(older, "FENCED_INSTANCE_ID")
    else:
        stage.fails(newer, "UNRELEASED_INSTANCE_ID")
        stage.divided([older], [2])


def cooperative_handover(stage: GroupStage) -> None:
    """Members that keep a partition never stop reading it (KIP-429, KIP-848)."""
    topic = stage.topic(partitions=6)
    first = stage.join([topic], assignor="cooperative-sticky")
    stage.divided([first], [6])
    second = stage.join([topic], assignor="cooperative-sticky")
    stage.divided([first, second], [3, 3])
    third = stage.join([topic], assignor="cooperative-sticky")
    stage.divided([first, second, third], [2, 2, 2])
    # Each new member's share came from members that had more, and nothing else was moved.
    assert [len(member.taken_away()) for member in (first, second, third)] == [4, 1, 0]
    second.leave()
    stage.divided([first, third], [3, 3])
    assert [len(member.taken_away()) for member in (first, third)] == [4, 0]


def surplus_member_takes_over(stage: GroupStage) -> None:
    topic = stage.topic(partitions=2)
    members = [stage.join([topic]) for _ in range(3)]
    stage.divided(members, [0, 1, 1])
    idle = next(member for member in members if not member.assignment)
    owners = [member for member in members if member.assignment]
    owners[0].leave()
    stage.divided([idle, owners[1]], [1, 1])


def several_topics(stage: GroupStage) -> None:
    topics = [stage.topic(partitions=2), stage.topic(partitions=2)]
    members = [stage.join(topics), stage.join(topics)]
    stage.divided(members, [2, 2])
    for topic in topics:
        stage.produce(topic, 0, 5)
        stage.produce(topic, 1, 5)
    stage.eventually(lambda: sum(len(member.look().received) for member in members) >= 20, *members)
    assert {record.partition[0] for member in members for record in member.received} == set(topics)


def topics_by_pattern(stage: GroupStage) -> None:
    wanted = [stage.topic(partitions=2), stage.topic(partitions=1)]
    stage.topic(name=f"not-{stage.group}.0")
    members = [stage.join(pattern=stage.pattern()) for _ in range(2)]
    stage.divided(members, [1, 2], wanted)


def new_topic_matches_the_pattern(stage: GroupStage) -> None:
    stage.topic()
    member = stage.join(pattern=stage.pattern())
    stage.divided([member], [1])
    stage.topic(partitions=2)
    stage.divided([member], [3])


def partitions_are_added(stage: GroupStage) -> None:
    topic = stage.topic(partitions=1)
    members = [stage.join([topic]), stage.join([topic])]
    stage.divided(members, [0, 1])
    stage.add_partitions(topic, 4)
    stage.divided(members, [2, 2])


def too_large_group(stage: GroupStage) -> None:
    topic = stage.topic(partitions=4)
    members = [stage.join([topic]) for _ in range(MAX_GROUP_SIZE)]
    stage.divided(members, [1, 1, 2])
    surplus = stage.join([topic])
    stage.fails(surplus, "GROUP_MAX_SIZE_REACHED")
    assert surplus.assignment == frozenset()
    stage.divided(members, [1, 1, 2])


SCENARIOS: list[GroupScenario] = [
    second_member_shares,
    three_members_read_every_record_once,
    member_leaves,
    member_crashes,
    static_member_comes_back,
    static_member_comes_back_after_a_crash,
    name_of_a_static_member_is_taken,
    cooperative_handover,
    surplus_member_takes_over,
    several_topics,
    topics_by_pattern,
    new_topic_matches_the_pattern,
    partitions_are_added,
    too_large_group,
]
