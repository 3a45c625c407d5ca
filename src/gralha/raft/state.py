"""The quorum's state machine: `step(event) -> effects`, pure and synchronous.

    UNATTACHED -- election --> CANDIDATE -- majority --> LEADER
    RESIGNED   -- election --> CANDIDATE

After a restart a voter that had led is RESIGNED, never LEADER (KAFKA-10527): it must win a new epoch. A voter
that is alone calls its election at once and has its majority with its own vote.

The caller carries out the effects in their order and reports back with events. What it owes: `SaveElection`
is durable before anything that follows it, and `Flushed` speaks only of what is on the device. What the
machine owes: one leader per epoch, epochs that only grow, and a high watermark that only grows, is on a
majority of disks, and is set only once a record of the leader's own epoch is among what it covers
(KAFKA-12619).
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from gralha.raft.quorum_state import NOBODY, ElectionState


class Role(Enum):
    """What this node is in the quorum."""

    UNATTACHED = "unattached"
    RESIGNED = "resigned"
    CANDIDATE = "candidate"
    LEADER = "leader"


class Started(NamedTuple):
    """Event: the node is up; this is what its disk says."""

    election: ElectionState | None
    log_end_offset: int
    last_epoch: int


class Flushed(NamedTuple):
    """Event: all records below the offset are on this voter's device."""

    end_offset: int


class SaveElection(NamedTuple):
    """Effect: write the quorum-state file before doing anything else."""

    election: ElectionState


class AppendLeaderChange(NamedTuple):
    """Effect: begin the epoch in the log, at the offset where the log ended."""

    epoch: int
    leader_id: int
    voters: tuple[int, ...]
    granting_voters: tuple[int, ...]


class AdvanceHighWatermark(NamedTuple):
    """Effect: everything below the offset is committed."""

    high_watermark: int


Event = Started | Flushed
Effect = SaveElection | AppendLeaderChange | AdvanceHighWatermark


class RaftState:
    """One node's view of its quorum. All changes go through `step`."""

    def __init__(self, node_id: int, directory_id: bytes, voters: Iterable[int]) -> None:
        self.node_id = node_id
        self.directory_id = directory_id
        self.voters = tuple(sorted(voters))
        self.role = Role.UNATTACHED
        self.election = ElectionState(0)
        self.high_watermark = -1
        self._log_end_offset = 0
        self._epoch_start_offset = 0
        self._votes: set[int] = set()
        # Up to where each voter has the log on its device, as far as this leader knows.
        self._voter_end_offsets: dict[int, int] = {}
        self._effects: list[Effect] = []

    @property
    def epoch(self) -> int:
        """The newest epoch that this node knows."""
        return self.election.epoch

    @property
    def is_leader(self) -> bool:
        """May this node append?"""
        return self.role is Role.LEADER

    def step(self, event: Event) -> list[Effect]:
        """Takes an event in; says what must be done now."""
        if isinstance(event, Started):
            self._start(event)
        else:
            self._flushed(event)
        effects, self._effects = self._effects, []
        return effects

    def _start(self, event: Started) -> None:
        self._log_end_offset = event.log_end_offset
        saved = event.election or ElectionState(0)
        # The log may have seen an epoch that the file has not, if the file was restored from a backup.
        self.election = saved if saved.epoch >= event.last_epoch else ElectionState(event.last_epoch)
        self.role = Role.RESIGNED if self.election.leader_id == self.node_id else Role.UNATTACHED
        if self.voters == (self.node_id,):
            self._call_election()

    def _call_election(self) -> None:
        self.role = Role.CANDIDATE
        self.election = ElectionState(self.epoch + 1, NOBODY, self.node_id, self.directory_id)
        self._votes = {self.node_id}
        self._count_votes()
        # Once for the whole step: between the vote for itself and its victory nobody else was told anything.
        self._effects.insert(0, SaveElection(self.election))

    def _count_votes(self) -> None:
        if len(self._votes) > len(self.voters) // 2:
            self._become_leader()

    def _become_leader(self) -> None:
        self.role = Role.LEADER
        self.election = ElectionState(self.epoch, self.node_id)
        self._epoch_start_offset = self._log_end_offset
        self._voter_end_offsets = dict.fromkeys(self.voters, -1)
        self._effects.append(
            AppendLeaderChange(self.epoch, self.node_id, self.voters, tuple(sorted(self._votes)))
        )

    def _flushed(self, event: Flushed) -> None:
        if self.role is Role.LEADER:
            known = self._voter_end_offsets[self.node_id]
            self._voter_end_offsets[self.node_id] = max(known, event.end_offset)
            self._advance_high_watermark()

    def _advance_high_watermark(self) -> None:
        offsets = sorted(self._voter_end_offsets.values(), reverse=True)
        on_majority = offsets[len(offsets) // 2]
        if on_majority > self._epoch_start_offset and on_majority > self.high_watermark:
            self.high_watermark = on_majority
            self._effects.append(AdvanceHighWatermark(on_majority))
