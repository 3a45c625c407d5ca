"""Members of a group that commit offsets in a transaction, as members and afterwards (KIP-447)."""

from typing import Any

from tests.broker.transactions.scenarios import scenario
from tests.broker.transactions.story import Producer, Side
from tests.broker.transactions.story_of_members import heartbeat, join, leave, sync

VERSIONS = (3, 4, 5)


def commit_as(side: Side, producer: Producer, member_id: str, generation_id: int, instance: str = "") -> None:
    """The same commit with the generation before, the right one, and the next one."""
    names: dict[str, Any] = {"group_instance_id": instance} if instance else {}
    for version in VERSIONS:
        for generation in (-1, generation_id - 1, generation_id, generation_id + 1):
            side.commit_offsets(
                producer, version=version, member_id=member_id, generation_id=generation, **names
            )


@scenario
def commits_offsets_of_a_classic_group(side: Side) -> None:
    producer = side.init()
    side.add_offsets(producer, group=side.topic)
    member = join(side)
    commit_as(side, producer, member, 1)  # before the assignment
    sync(side, member, 1)
    for one in (member, "another", ""):
        commit_as(side, producer, one, 1)
    join(side, member, metadata=b"other")
    commit_as(side, producer, member, 2)
    sync(side, member, 2)
    commit_as(side, producer, member, 2)
    leave(side, member)
    for one in (member, ""):
        commit_as(side, producer, one, 3)
    side.offsets(require_stable=False)
    side.offsets()
    side.end(producer)
    side.settle()
    side.offsets()


@scenario
def commits_offsets_of_a_static_member(side: Side) -> None:
    producer = side.init()
    side.add_offsets(producer, group=side.topic)
    member = join(side, instance="i")
    sync(side, member, 1, instance="i")
    newer = join(side, instance="i")
    sync(side, newer, 1, instance="i")
    for one in (member, newer, ""):
        for instance in ("i", "another", ""):
            commit_as(side, producer, one, 1, instance)
    side.end(producer)
    side.settle()
    side.offsets()


@scenario
def commits_offsets_of_a_consumer_group(side: Side) -> None:
    producer = side.init()
    side.add_offsets(producer, group=side.topic)
    heartbeat(side, "m", 0)
    commit_as(side, producer, "m", 1)
    heartbeat(side, "n", 0)
    heartbeat(side, "m", 1, owned=(0, 1, 2))
    for one in ("m", "n", "another", ""):
        commit_as(side, producer, one, 2)
    heartbeat(side, "n", -1)
    for one in ("m", "n"):
        commit_as(side, producer, one, 2)
    side.offsets(require_stable=False)
    side.offsets()
    side.end(producer)
    side.settle()
    side.offsets()
