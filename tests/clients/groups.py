"""Consumers as members of groups, the same for every client.

A member runs in a program (Python, Java or JavaScript) and polls there by itself. A test controls it and
reads what it has seen. To crash a member, a test kills the program. If a client cannot play a scenario,
`cannot` has the scenario's name, with the reason.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tests.clients import access
from tests.clients.drivers.program import Program

Partition = tuple[str, int]

# The broker's settings for the scenarios: short times, but not too short for two busy cores.
CONSUMER_SESSION_TIMEOUT_MS = 6_000
MAX_GROUP_SIZE = 3
BROKER_CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.max.size": str(MAX_GROUP_SIZE),
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(CONSUMER_SESSION_TIMEOUT_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.max.size": str(MAX_GROUP_SIZE),
    "offsets.topic.num.partitions": "4",
}
# No session ends during a scenario, unless the scenario is about that.
LONG_SESSION_MS = 30_000


@dataclass(frozen=True)
class Received:
    partition: Partition
    offset: int
    value: str


class Member:
    """One consumer in a group, as of the last look."""

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.name = name
        self.assignment: frozenset[Partition] = frozenset()
        # The events of its partitions: "assigned", "revoked" or "lost", with the partitions.
        self.events: list[tuple[str, frozenset[Partition]]] = []
        self.received: list[Received] = []
        self.error: str | None = None

    def look(self) -> Self:
        seen = self.program.call("look", member=self.name)
        self.assignment = partitions_of(seen["assignment"])
        self.events += [(event, partitions_of(partitions)) for event, partitions in seen["events"]]
        self.received += [
            Received((topic, partition), offset, value) for topic, partition, offset, value in seen["records"]
        ]
        self.error = seen["error"]
        return self

    def offsets(self, partition: Partition) -> list[int]:
        """The offsets of all records that came from a partition, in their order."""
        return [record.offset for record in self.received if record.partition == partition]

    def interruptions(self) -> int:
        """How often partitions were revoked or lost."""
        return len([event for event, _ in self.events if event != "assigned"])

    def taken_away(self) -> frozenset[Partition]:
        """All partitions that were ever revoked or lost."""
        taken = [partitions for event, partitions in self.events if event != "assigned"]
        return frozenset().union(*taken)

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        self.program.call("commit", member=self.name, offsets=triples(offsets))

    def seek(self, partition: Partition, offset: int) -> None:
        self._ask("seek", partition, offset=offset)

    def pause(self, partition: Partition) -> None:
        self._ask("pause", partition)

    def resume(self, partition: Partition) -> None:
        self._ask("resume", partition)

    def leave(self, wait: bool = True) -> None:
        self.program.call("leave", member=self.name, wait=wait)

    def _ask(self, call: str, partition: Partition, **arguments: Any) -> None:
        topic, number = partition
        self.program.call(call, member=self.name, topic=topic, partition=number, **arguments)

    def __repr__(self) -> str:
        return f"Member({sorted(self.assignment)}, {self.events}, error={self.error})"


def partitions_of(pairs: Iterable[tuple[str, int]]) -> frozenset[Partition]:
    return frozenset((topic, partition) for topic, partition in pairs)


def triples(offsets: Mapping[Partition, int]) -> list[tuple[str, int, int]]:
    return [(topic, partition, offset) for (topic, partition), offset in offsets.items()]


@dataclass(frozen=True, eq=False)
class GroupClient:
    """A client and the protocol of its members."""

    name: str
    command: Callable[[], list[str]]
    protocol: str = "classic"
    cannot: Mapping[str, str] = field(default_factory=dict)

    def start(self, bootstrap: str) -> Program:
        return Program(self.name, [*self.command(), bootstrap, *access.arguments(*access.of(bootstrap))])


def join(
    program: Program,
    group: str,
    *,
    protocol: str,
    topics: Iterable[str] = (),
    pattern: str | None = None,
    assignor: str = "range",
    instance_id: str | None = None,
    session_timeout_ms: int = LONG_SESSION_MS,
    reset: str = "earliest",
    auto_commit: bool = False,
) -> Member:
    """Lets a new member join a group. It may not be a member yet when this returns."""
    name = uuid.uuid4().hex
    program.call(
        "join",
        member=name,
        group=group,
        protocol=protocol,
        topics=None if pattern is not None else list(topics),
        pattern=pattern,
        assignor=assignor,
        instance_id=instance_id,
        session_timeout_ms=session_timeout_ms,
        reset=reset,
        auto_commit=auto_commit,
    )
    return Member(program, name)


def python_members(module: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", "tests.clients.members", module]
