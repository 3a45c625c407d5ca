"""Offsets that wait for the end of the transactions in which they were committed.

A transaction that commits makes its offsets those of the groups; one that aborts drops them. An offset counts
from the place of its record in the log, not from the place of the marker: a commit of the same partition that
came after that record, and counts already, is newer and stays. Otherwise the state would depend on
compaction, which keeps only the last record of a partition.

So the records of a partition are numbered in the order of their replay, but only while a transaction is open
there. Before the first offset that waits, everything that the group has committed is older.

A producer id has one transaction at a time. Its epoch does not matter: offsets of an older epoch that still
wait end with the same marker, as in Kafka and as in the log of the partition.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gralha.groups.committed_offset import CommittedOffset


class GroupPartition(NamedTuple):
    """A partition in which a group has an offset."""

    group_id: str
    topic: str
    partition: int


class _Waiting(NamedTuple):
    number: int
    offset: CommittedOffset


class _Open:
    """The open transactions of a group in one partition."""

    __slots__ = ("committed_number", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[int, _Waiting] = {}  # by producer id
        self.committed_number = 0  # the number of the record that counts; 0: it is older than all that wait


class TransactionalOffsets:
    def __init__(self) -> None:
        self._groups: dict[str, dict[tuple[str, int], _Open]] = {}
        self._producers: dict[int, dict[GroupPartition, None]] = {}  # the partitions of each transaction
        self._count = 0

    # Questions

    def has_group(self, group_id: str) -> bool:
        """Whether a transaction with offsets of the group is open."""
        return group_id in self._groups

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether a transaction with an offset of the group in the partition is open."""
        return (topic, partition) in self._groups.get(group_id, {})

    def of_group(self, group_id: str) -> list[tuple[str, int]]:
        """The topics and partitions in which offsets of the group wait."""
        return list(self._groups.get(group_id, {}))

    def of_topic(self, name: str) -> Iterator[tuple[GroupPartition, set[bytes]]]:
        """All partitions of a topic in which offsets wait, and the topic ids of these offsets."""
        for group_id, partitions in self._groups.items():
            for (topic, partition), opened in partitions.items():
                if topic == name:
                    ids = {waiting.offset.topic_id for waiting in opened.waiting.values()}
                    yield GroupPartition(group_id, topic, partition), ids

    # Records

    def add(self, producer_id: int, where: GroupPartition, offset: CommittedOffset) -> None:
        """A transaction has an offset. It replaces an earlier one of the same transaction."""
        partitions = self._groups.setdefault(where.group_id, {})
        opened = partitions.get((where.topic, where.partition))
        if opened is None:
            opened = partitions[where.topic, where.partition] = _Open()
        opened.waiting[producer_id] = _Waiting(self._next_number(), offset)
        self._producers.setdefault(producer_id, {})[where] = None

    def overtaken(self, where: GroupPartition) -> None:
        """An offset was committed without a transaction. It is newer than all that wait."""
        opened = self._find(where)
        if opened is not None:
            opened.committed_number = self._next_number()

    def drop(self, where: GroupPartition) -> None:
        """The group's offset in the partition was deleted. All that wait there are deleted with it."""
        opened = self._find(where)
        if opened is not None:
            for producer_id in opened.waiting:
                self._forget_partition_of(producer_id, where)
            self._close(where)

    def end(self, producer_id: int, is_commit: bool) -> list[tuple[GroupPartition, CommittedOffset]]:
        """A transaction has ended. Returns the offsets that count from now on."""
        counting = []
        for where in self._producers.pop(producer_id, {}):
            opened = self._groups[where.group_id][where.topic, where.partition]
            number, offset = opened.waiting.pop(producer_id)
            if is_commit and number > opened.committed_number:
                opened.committed_number = number
                counting.append((where, offset))
            if not opened.waiting:
                self._close(where)
        return counting

    # Helpers

    def _next_number(self) -> int:
        self._count += 1
        return self._count

    def _find(self, where: GroupPartition) -> _Open | None:
        partitions = self._groups.get(where.group_id)
        return None if partitions is None else partitions.get((where.topic, where.partition))

    def _close(self, where: GroupPartition) -> None:
        partitions = self._groups[where.group_id]
        del partitions[where.topic, where.partition]
        if not partitions:
            del self._groups[where.group_id]

    def _forget_partition_of(self, producer_id: int, where: GroupPartition) -> None:
        partitions = self._producers[producer_id]
        del partitions[where]
        if not partitions:
            del self._producers[producer_id]
