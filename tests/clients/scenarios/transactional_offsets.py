"""Scenarios of consume-transform-produce: the offsets of a group ride in the transaction of the results."""

from __future__ import annotations

from tests.clients.groups import Member, Partition
from tests.clients.scenarios.transaction_stage import TransactionScenario, TransactionStage
from tests.clients.transactions import Producer, note_metadata

COUNT = 6


def reading_member(stage: TransactionStage, where: Partition, count: int) -> Member:
    """The only member of the group, when it has read that many records."""
    member = stage.group.join([where[0]])
    stage.group.eventually(lambda: len(member.look().offsets(where)) == count, member)
    return member


def transform(
    stage: TransactionStage, producer: Producer, member: Member, source: Partition, target: Partition
) -> None:
    """Begins a transaction with the results and the offsets of all records that the member has read."""
    producer.begin()
    producer.send(target, *(record.value.upper() for record in member.received))
    metadata = note_metadata(member, stage.group.group)
    producer.send_offsets({source: max(member.offsets(source)) + 1}, metadata)


def offsets_are_committed_with_the_results(stage: TransactionStage) -> None:
    source, target = stage.partition(), stage.partition()
    stage.group.produce(source[0], 0, COUNT)
    member, producer = reading_member(stage, source, COUNT), stage.producer()
    transform(stage, producer, member, source, target)
    assert stage.group.committed(source) is None
    producer.commit()
    stage.group.eventually(lambda: stage.group.committed(source) == COUNT)
    assert stage.read(target).values == [record.value.upper() for record in member.received]
    member.leave()
    # The next member reads what is new, and nothing twice.
    stage.group.produce(source[0], 0, 2)
    assert reading_member(stage, source, 2).offsets(source) == [COUNT, COUNT + 1]


def offsets_are_aborted_with_the_results(stage: TransactionStage) -> None:
    source, target = stage.partition(), stage.partition()
    stage.group.produce(source[0], 0, COUNT)
    member, producer = reading_member(stage, source, COUNT), stage.producer()
    transform(stage, producer, member, source, target)
    producer.abort()
    member.leave()
    # The next member reads everything again.
    again = reading_member(stage, source, COUNT)
    assert stage.group.committed(source) is None
    transform(stage, producer, again, source, target)
    producer.commit()
    stage.group.eventually(lambda: stage.group.committed(source) == COUNT)
    assert stage.read(target).values == [record.value.upper() for record in again.received]
    assert len(stage.read_uncommitted(target).values) == 2 * COUNT


def crash_aborts_offsets_and_results(stage: TransactionStage) -> None:
    """The successor of a crashed producer reads the same records again, and its results are the only ones."""
    source, target = stage.partition(), stage.partition()
    stage.group.produce(source[0], 0, COUNT)
    victim = stage.producer_elsewhere()
    member = stage.group.join_in(victim.program, [source[0]])
    stage.group.eventually(lambda: len(member.look().offsets(source)) == COUNT, member)
    transform(stage, victim, member, source, target)
    member.leave()
    stage.crash(victim)
    successor = stage.producer()
    again = reading_member(stage, source, COUNT)
    assert again.offsets(source) == list(range(COUNT))
    transform(stage, successor, again, source, target)
    successor.commit()
    assert stage.read(target).values == [record.value.upper() for record in again.received]
    assert len(stage.read_uncommitted(target).values) == 2 * COUNT


def offsets_of_a_zombie_are_refused(stage: TransactionStage) -> None:
    """A member that has left its group, and does not know it, cannot commit (KIP-447)."""
    source, target = stage.partition(), stage.partition()
    stage.group.produce(source[0], 0, COUNT)
    zombie, producer = reading_member(stage, source, COUNT), stage.producer()
    metadata = note_metadata(zombie, stage.group.group)
    zombie.leave()
    member = reading_member(stage, source, COUNT)
    producer.begin()
    producer.send(target, "of the zombie")
    stage.fails(
        stage.client.stale_member, lambda: producer.send_offsets({source: COUNT}, metadata), producer.commit
    )
    producer.abort()
    assert stage.read(target).values == []
    # The producer has lost nothing but this transaction.
    transform(stage, producer, member, source, target)
    producer.commit()
    stage.group.eventually(lambda: stage.group.committed(source) == COUNT)
    assert len(stage.read(target).values) == COUNT


def offsets_of_an_older_generation_are_refused(stage: TransactionStage) -> None:
    """A member commits for the generation in which it had the partition, and for no later one."""
    topic, target = stage.topic(partitions=2), stage.partition()
    stage.group.produce(topic, 0, COUNT)
    member, producer = reading_member(stage, (topic, 0), COUNT), stage.producer()
    metadata = note_metadata(member, stage.group.group)
    second = stage.group.join([topic])
    stage.group.divided([member, second], [1, 1], [topic])
    (moved,) = second.assignment
    producer.begin()
    producer.send(target, "of an older generation")
    stage.fails(
        stage.client.stale_member, lambda: producer.send_offsets({moved: COUNT}, metadata), producer.commit
    )
    producer.abort()
    assert stage.read(target).values == []
    assert stage.group.committed(moved) is None


SCENARIOS: list[TransactionScenario] = [
    offsets_are_committed_with_the_results,
    offsets_are_aborted_with_the_results,
    crash_aborts_offsets_and_results,
    offsets_of_a_zombie_are_refused,
    offsets_of_an_older_generation_are_refused,
]
