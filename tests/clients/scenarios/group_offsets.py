"""Scenarios of a group's offsets: where a member begins to read, and where the next one continues."""

from __future__ import annotations

from tests.clients.groups import Member, Partition
from tests.clients.scenarios.group_stage import GroupScenario, GroupStage
from tests.clients.scenarios.stage import eventually, refused


def reads(stage: GroupStage, member: Member, partition: Partition, offsets: range) -> None:
    """Waits until the member has read exactly these offsets of the partition, in order."""
    stage.eventually(lambda: len(member.look().offsets(partition)) >= len(offsets), member)
    assert member.offsets(partition) == list(offsets)


def commit_and_resume(stage: GroupStage) -> None:
    topic = stage.topic()
    stage.produce(topic, 0, 10)
    first = stage.join([topic])
    reads(stage, first, (topic, 0), range(10))
    assert stage.committed((topic, 0)) is None
    first.commit({(topic, 0): 6})
    assert stage.committed((topic, 0)) == 6
    first.leave()
    second = stage.join([topic])
    reads(stage, second, (topic, 0), range(6, 10))


def commits_by_itself(stage: GroupStage) -> None:
    topic = stage.topic()
    stage.produce(topic, 0, 10)
    first = stage.join([topic], auto_commit=True)
    reads(stage, first, (topic, 0), range(10))
    first.leave()
    assert stage.committed((topic, 0)) == 10
    stage.produce(topic, 0, 5)
    second = stage.join([topic], auto_commit=True)
    reads(stage, second, (topic, 0), range(10, 15))


def next_owner_goes_on(stage: GroupStage) -> None:
    """A partition that moves to another member continues at its last owner's commit."""
    topic = stage.topic(partitions=2)
    stage.produce(topic, 0, 10)
    stage.produce(topic, 1, 10)
    first = stage.join([topic])
    stage.divided([first], [2])
    stage.eventually(lambda: len(first.look().received) == 20, first)
    first.commit({(topic, 0): 3, (topic, 1): 7})
    second = stage.join([topic])
    stage.divided([first, second], [1, 1])
    (moved,) = second.assignment
    reads(stage, second, moved, range({0: 3, 1: 7}[moved[1]], 10))


def reset_to_earliest(stage: GroupStage) -> None:
    topic = stage.topic()
    stage.produce(topic, 0, 5)
    reads(stage, stage.join([topic], reset="earliest"), (topic, 0), range(5))


def reset_to_latest(stage: GroupStage) -> None:
    topic = stage.topic(partitions=2)
    stage.produce(topic, 0, 5)
    # The member has reached its position in partition 0 when a record of another partition has come, because
    # it begins to read both at the same time.
    member = stage.join([topic], reset="latest")
    stage.divided([member], [2])
    produced = 0

    def reads_news() -> bool:
        nonlocal produced
        stage.produce(topic, 1, 1)
        produced += 1
        return member.look().offsets((topic, 1)) != []

    stage.eventually(reads_news, member)
    stage.produce(topic, 0, 2)
    reads(stage, member, (topic, 0), range(5, 7))


def no_reset_is_an_error(stage: GroupStage) -> None:
    topic = stage.topic()
    stage.produce(topic, 0, 5)
    member = stage.join([topic], reset="none")
    stage.fails(member, "NO_OFFSET")
    assert member.received == []


def offsets_are_reset(stage: GroupStage) -> None:
    topic = stage.topic()
    stage.produce(topic, 0, 10)
    first = stage.join([topic])
    reads(stage, first, (topic, 0), range(10))
    first.commit({(topic, 0): 10})
    first.leave()
    eventually(lambda: stage.view().state == "Empty")
    stage.commit_outside({(topic, 0): 4})
    reads(stage, stage.join([topic]), (topic, 0), range(4, 10))


def offsets_of_a_living_group_stay(stage: GroupStage) -> None:
    topic = stage.topic()
    member = stage.join([topic])
    stage.divided([member], [1])
    member.commit({(topic, 0): 0})
    # Some clients have one error for all reasons why a commit is too late.
    refused(("UNKNOWN_MEMBER_ID", "CommitFailedError"), lambda: stage.commit_outside({(topic, 0): 4}))
    assert stage.committed((topic, 0)) == 0


def seek(stage: GroupStage) -> None:
    topic = stage.topic()
    stage.produce(topic, 0, 10)
    member = stage.join([topic])
    reads(stage, member, (topic, 0), range(10))
    member.seek((topic, 0), 7)
    stage.eventually(lambda: member.look().offsets((topic, 0)) == [*range(10), 7, 8, 9], member)


def pause_and_resume(stage: GroupStage) -> None:
    topic = stage.topic(partitions=2)
    member = stage.join([topic])
    stage.divided([member], [2])
    member.pause((topic, 0))
    stage.produce(topic, 0, 3)
    stage.produce(topic, 1, 3)
    reads(stage, member, (topic, 1), range(3))
    assert member.offsets((topic, 0)) == []
    member.resume((topic, 0))
    reads(stage, member, (topic, 0), range(3))


SCENARIOS: list[GroupScenario] = [
    commit_and_resume,
    commits_by_itself,
    next_owner_goes_on,
    reset_to_earliest,
    reset_to_latest,
    no_reset_is_an_error,
    offsets_are_reset,
    offsets_of_a_living_group_stay,
    seek,
    pause_and_resume,
]
