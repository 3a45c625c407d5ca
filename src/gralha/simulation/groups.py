"""The groups of a run: their members, their end, and the auditor that fetches their offsets at the end."""

import asyncio
from typing import Final

from gralha.simulation.classic_member import ClassicMember
from gralha.simulation.cluster import FINISHING_S, TOPIC, SimulatedCluster
from gralha.simulation.consumer_member import ConsumerMember
from gralha.simulation.group_history import Commit, GroupEvent, check_groups
from gralha.simulation.history import Anomaly, Event, Outcome, Send
from gralha.simulation.members import GroupMember

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"


class _Auditor(ClassicMember):
    """A client without a generation, which only fetches committed offsets."""

    async def audit(self) -> None:
        while not self.leaders:
            await self.back_off()
        while True:
            await self._find_coordinator()
            if await self.begin_at_committed(sorted(self.leaders)):
                return
            await self.back_off()


class SimulatedGroups:
    """A `GroupWorld`."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.events: list[GroupEvent] = []
        self.tasks: list[asyncio.Task[None]] = []
        settings = cluster.settings
        self.members: list[GroupMember] = [
            *(self._member(ClassicMember, CLASSIC, number) for number in range(settings.classic_members)),
            *(self._member(ConsumerMember, CONSUMER, number) for number in range(settings.consumer_members)),
        ]

    def _member(self, kind: type[GroupMember], group: str, number: int) -> GroupMember:
        name = f"m{number}"
        random = self.cluster.world.random(f"{group} {name}")
        return kind(name, self.cluster.bootstrap(), TOPIC, random, self, group)

    def record(self, event: Event) -> None:
        self.cluster.history.append(event)

    def record_group(self, event: GroupEvent) -> None:
        self.events.append(event)

    def complain(self, text: str) -> None:
        self.cluster.world.fail(text)

    # A run

    def start(self) -> None:
        self.tasks = [self.cluster.run_client(member.run) for member in self.members]

    def finish(self) -> None:
        """After the last write: let the groups read everything and end."""
        if not self.members:
            return
        for member in self.members:
            member.stays = True
        ends = self._ends()
        self.cluster.run_until(
            lambda: all(self._has_read(group, ends) for group in self._groups()),
            FINISHING_S,
            "the groups read everything",
        )
        for member in self.members:
            member.is_stopping = True
        self.cluster.run_until(
            lambda: all(task.done() for task in self.tasks), FINISHING_S, "the members leave"
        )
        for group in self._groups():
            auditor = _Auditor("auditor", self.cluster.bootstrap(), TOPIC, self.cluster.random, self, group)
            audit = self.cluster.run_client(auditor.audit)
            self.cluster.run_until(audit.done, FINISHING_S, f"the offsets of group {group} are known")

    def _groups(self) -> list[str]:
        return list(dict.fromkeys(member.group for member in self.members))

    def _ends(self) -> dict[str, int]:
        """By partition: the offset after the last acknowledged record."""
        ends: dict[str, int] = {}
        for event in self.cluster.history:
            if isinstance(event, Send) and event.outcome is Outcome.OK and event.offset is not None:
                ends[event.partition] = max(ends.get(event.partition, 0), event.offset + 1)
        return ends

    def _has_read(self, group: str, ends: dict[str, int]) -> bool:
        committed: dict[str, int] = {}
        for member in self.members:
            if member.group == group:
                for index, offset in member.committed.items():
                    name = member.name_of(index)
                    committed[name] = max(committed.get(name, 0), offset)
        return all(committed.get(name, 0) >= end for name, end in ends.items())

    @property
    def commits(self) -> int:
        """How many commits were acknowledged."""
        return sum(isinstance(event, Commit) and event.outcome is Outcome.OK for event in self.events)

    def check(self) -> list[Anomaly]:
        return check_groups(self.events, self.cluster.history)
