"""The stage of a group scenario: its own group and topics, and a client to join with."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from tests.clients import groups
from tests.clients.driver import TIMEOUT_S, Driver
from tests.clients.drivers.program import Program
from tests.clients.groups import GroupClient, Member, Partition, triples
from tests.clients.probe import GroupView, group_view, is_served
from tests.clients.scenarios.records import numbered
from tests.clients.scenarios.stage import eventually

# The program in which a client's members live.
Programs = Callable[[GroupClient], Program]


class GroupStage:
    """Use it as a context manager. At its end all members leave."""

    def __init__(self, client: GroupClient, programs: Programs, reference: Driver, scenario: str) -> None:
        self.client = client
        self.group = f"{scenario}.{re.sub('[^a-z]', '-', client.name)}.{uuid.uuid4().hex[:8]}"
        self._programs = programs
        self._reference = reference
        self._partition_counts: dict[str, int] = {}
        self._members: list[Member] = []
        self._elsewhere: list[Program] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in self._elsewhere:
            program.kill()
        for member in self._members:
            member.leave(wait=False)

    def topic(
        self, partitions: int = 1, name: str | None = None, configs: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic that `pattern` matches, unless it has a name of its own."""
        topic = name or f"{self.group}.{len(self._partition_counts)}"
        self._reference.create_topic(topic, partitions, configs)
        # If the leader does not know the topic yet, a client may join its group once more than needed.
        reference = self._reference
        eventually(lambda: is_served(reference.bootstrap, topic, partitions, reference.tls, reference.login))
        self._partition_counts[topic] = partitions
        return topic

    def add_partitions(self, topic: str, total: int) -> None:
        self._reference.add_partitions(topic, total)
        self._partition_counts[topic] = total

    def pattern(self) -> str:
        """A regular expression that all clients' engines support."""
        return re.escape(self.group).replace("\\-", "-") + r"\.[0-9]+"

    def partitions(self, topics: Iterable[str]) -> frozenset[Partition]:
        return frozenset(
            (topic, number) for topic in topics for number in range(self._partition_counts[topic])
        )

    def produce(self, topic: str, partition: int, count: int) -> None:
        self._reference.produce(topic, numbered(count), partition=partition)

    def join(self, topics: Sequence[str] = (), client: GroupClient | None = None, **options: Any) -> Member:
        """Let a new member join the group of this scenario; see `tests.clients.groups.join`."""
        chosen = client or self.client
        member = groups.join(
            self._programs(chosen), self.group, protocol=chosen.protocol, topics=topics, **options
        )
        self._members.append(member)
        return member

    def join_elsewhere(self, topics: Sequence[str], **options: Any) -> Member:
        """Lets a member join from its own process, so that it can crash."""
        return self.join_in(self.program_elsewhere(), topics, **options)

    def join_in(self, program: Program, topics: Sequence[str], **options: Any) -> Member:
        return groups.join(program, self.group, protocol=self.client.protocol, topics=topics, **options)

    def crash(self, member: Member) -> None:
        self.crash_program(member.program)

    @property
    def bootstrap(self) -> str:
        return self._reference.bootstrap

    def program(self) -> Program:
        """The client's program, which all scenarios share."""
        return self._programs(self.client)

    def program_elsewhere(self) -> Program:
        """A program of this scenario."""
        program = self.client.start(self.bootstrap)
        self._elsewhere.append(program)
        return program

    def crash_program(self, program: Program) -> None:
        self._elsewhere.remove(program)
        program.kill()

    def divided(
        self, members: Sequence[Member], counts: Sequence[int], topics: Iterable[str] | None = None
    ) -> None:
        """Wait until these members have all partitions, each once, in shares of these sizes.

        All partitions are those of the given topics, or of all topics of this scenario.
        """
        everything = self.partitions(self._partition_counts if topics is None else topics)

        def divided() -> bool:
            assigned = [member.look().assignment for member in members]
            return frozenset().union(*assigned) == everything and sorted(map(len, assigned)) == list(counts)

        self.eventually(divided, *members)

    def fails(self, member: Member, error: str) -> None:
        """Waits until the member reports an error."""
        self.eventually(lambda: member.look().error == error, member)

    def eventually(self, holds: Callable[[], bool], *members: Member) -> None:
        """Asserts that a condition comes true soon. If not, shows what these members have seen."""
        try:
            eventually(holds, TIMEOUT_S)
        except AssertionError as error:
            for member in self._members:
                member.look()
            raise AssertionError(f"{error}: {self._members}, {self.view()}") from error

    def view(self) -> GroupView:
        return group_view(self._reference.bootstrap, self.group)

    def commit_outside(self, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets of the group without being a member, as tools do to reset them."""
        self._programs(self.client).call("commit_outside", group=self.group, offsets=triples(offsets))

    def committed(self, partition: Partition) -> int | None:
        offsets = self._programs(self.client).call("committed", group=self.group, partitions=[partition])
        offset: int | None = offsets[0]
        return offset


GroupScenario = Callable[[GroupStage], None]
