"""Producers with transactions and readers with an isolation level, the same for every client.

They run in the programs of `groups`, beside the members of groups. To crash a producer, a test kills its
program. If a client cannot play a scenario, `cannot` has the scenario's name, with the reason.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.clients.drivers.program import Program
from tests.clients.groups import GroupClient, Member, Partition, triples

TRANSACTION_TIMEOUT_MS = 60_000
COMMITTED = "read_committed"
UNCOMMITTED = "read_uncommitted"

# The broker's settings for the scenarios.
BROKER_CONFIG = {
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


@dataclass(frozen=True, eq=False)
class TransactionClient:
    """A client, and its own names of the errors that the scenarios cause."""

    members: GroupClient
    # A newer producer has the same transactional id.
    fenced: frozenset[str]
    # The broker has aborted the transaction, because it was open for too long.
    timed_out: frozenset[str]
    # The offsets come from a member whose group has changed since.
    stale_member: frozenset[str]
    # The transaction timeout is longer than the broker allows.
    timeout_too_long: frozenset[str]
    cannot: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.members.name


@dataclass(frozen=True)
class Reading:
    """What a reader saw, and where it stood then."""

    records: list[tuple[int, str]]
    position: int
    lag: int | None

    @property
    def values(self) -> list[str]:
        return [value for _, value in self.records]

    @property
    def offsets(self) -> list[int]:
        return [offset for offset, _ in self.records]


@dataclass(frozen=True)
class Metadata:
    """A member as it was when a producer asked for its generation."""

    name: str
    group: str


class Producer:
    """One producer in a program. Without a transactional id, it is idempotent only."""

    def __init__(self, program: Program, transactional_id: str | None, timeout_ms: int) -> None:
        self.program = program
        self._name = uuid.uuid4().hex
        program.call(
            "open_producer", producer=self._name, transactional_id=transactional_id, timeout_ms=timeout_ms
        )

    def begin(self) -> None:
        self.program.call("begin", producer=self._name)

    def send(self, partition: Partition, *values: str) -> list[int]:
        """Returns the offsets of the records when all of them are acknowledged."""
        return self.send_all([(partition, value) for value in values])

    def send_all(self, records: Iterable[tuple[Partition, str]]) -> list[int]:
        listed = [(topic, number, value) for (topic, number), value in records]
        offsets: list[int] = self.program.call("send", producer=self._name, records=listed)
        return offsets

    def send_offsets(self, offsets: Mapping[Partition, int], metadata: Metadata) -> None:
        self.program.call(
            "send_offsets",
            producer=self._name,
            offsets=triples(offsets),
            group=metadata.group,
            metadata=metadata.name,
        )

    def commit(self) -> None:
        self.program.call("commit_transaction", producer=self._name)

    def abort(self) -> None:
        self.program.call("abort_transaction", producer=self._name)

    def committed(self, partition: Partition, *values: str) -> None:
        """A whole transaction."""
        self.begin()
        self.send(partition, *values)
        self.commit()

    def aborted(self, partition: Partition, *values: str) -> None:
        self.begin()
        self.send(partition, *values)
        self.abort()

    def close(self) -> None:
        self.program.call("close_producer", producer=self._name)


def note_metadata(member: Member, group: str) -> Metadata:
    name = uuid.uuid4().hex
    member.program.call("note_metadata", member=member.name, metadata=name)
    return Metadata(name, group)


def read(
    program: Program, partition: Partition, level: str, start: int = 0, limit: int | None = None
) -> Reading:
    """Reads from an offset to the end, or to that many records."""
    topic, number = partition
    seen = program.call("read", topic=topic, partition=number, level=level, start=start, limit=limit)
    records: Sequence[tuple[int, str]] = seen["records"]
    return Reading([(offset, value) for offset, value in records], seen["position"], seen["lag"])


def end_offset(program: Program, partition: Partition, level: str) -> int:
    topic, number = partition
    end: int = program.call("end_offset", topic=topic, partition=number, level=level)
    return end
