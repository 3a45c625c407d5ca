"""The voters of the quorum, and how they changed along the log (KIP-853).

A static quorum has its voters from the configuration. In a dynamic quorum the voters are records in the log,
and each node uses the newest ones in its log, even if they are not committed. If those records are truncated,
the voters before them count again.
"""

from collections.abc import Iterable
from typing import NamedTuple

from gralha.protocol.primitives import ZERO_UUID


class ReplicaKey(NamedTuple):
    """A node and its disk. The zero id stands for a disk that is not known."""

    id: int
    directory_id: bytes = ZERO_UUID


class VoterEndpoint(NamedTuple):
    """A listener of a voter."""

    listener: str
    host: str
    port: int


class Voter(NamedTuple):
    """A voter, its listeners, and the levels of `kraft.version` that it supports."""

    key: ReplicaKey
    endpoints: tuple[VoterEndpoint, ...] = ()
    min_version: int = 0
    max_version: int = 1


class VoterSet(NamedTuple):
    """The voters of a quorum at one time, by id, lowest first."""

    voters: tuple[Voter, ...] = ()

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> "VoterSet":
        """The set of these voters, sorted."""
        return cls(tuple(sorted(voters, key=lambda voter: voter.key)))

    @property
    def ids(self) -> tuple[int, ...]:
        """The node ids of the voters."""
        return tuple(voter.key.id for voter in self.voters)

    @property
    def majority(self) -> int:
        """The smallest number of voters that is more than half."""
        return len(self.voters) // 2 + 1

    def find(self, node_id: int) -> Voter | None:
        """The voter with this node id, or None."""
        return next((voter for voter in self.voters if voter.key.id == node_id), None)

    def match(self, key: ReplicaKey) -> Voter | None:
        """The voter that a node is, or None. A node with another disk is another node, if disks are known."""
        voter = self.find(key.id)
        if voter is None or voter.key.directory_id in (ZERO_UUID, key.directory_id):
            return voter
        return None

    def others(self, key: ReplicaKey) -> list[ReplicaKey]:
        """All voters except this node."""
        return [voter.key for voter in self.voters if voter.key.id != key.id]

    def adding(self, voter: Voter) -> "VoterSet":
        """The set with one voter more."""
        return VoterSet.of([*self.voters, voter])

    def removing(self, key: ReplicaKey) -> "VoterSet":
        """The set without one voter."""
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))

    def updating(self, new: Voter) -> "VoterSet":
        """The set with new listeners and versions of one voter."""
        return VoterSet(tuple(new if voter.key == new.key else voter for voter in self.voters))


NO_VOTERS = VoterSet()


class VoterHistory:
    """The configured voters, and the voter sets in the log with their offsets, oldest first."""

    def __init__(self, static: VoterSet = NO_VOTERS, entries: Iterable[tuple[int, VoterSet]] = ()) -> None:
        self._static = static
        self._entries = list(entries)

    @property
    def latest(self) -> VoterSet:
        """The voters that count now."""
        return self._entries[-1][1] if self._entries else self._static

    @property
    def latest_offset(self) -> int | None:
        """The offset of the newest voters: -1 in the first snapshot, None in a static quorum."""
        return self._entries[-1][0] if self._entries else None

    @property
    def previous(self) -> VoterSet:
        """The voters before the newest ones."""
        return self._entries[-2][1] if len(self._entries) > 1 else self._static

    @property
    def is_dynamic(self) -> bool:
        """True if the voters are records."""
        return bool(self._entries)

    def is_dynamic_at(self, end_offset: int) -> bool:
        """Returns True if the voters were records when the log ended at this offset."""
        return any(offset < end_offset for offset, _ in self._entries)

    def at(self, end_offset: int) -> VoterSet:
        """The voters when the log ended at this offset."""
        before = [voters for offset, voters in self._entries if offset < end_offset]
        return before[-1] if before else self._static

    def append(self, offset: int, voters: VoterSet) -> None:
        """Adds a voter set that is in the log now."""
        self._entries.append((offset, voters))

    def truncate_to(self, end_offset: int) -> None:
        """Forgets the voter sets from the offset on."""
        self._entries = [entry for entry in self._entries if entry[0] < end_offset]

    def reset(self, end_offset: int, voters: VoterSet | None) -> None:
        """A snapshot replaces the whole log; None if it records no voters."""
        self._entries = [] if voters is None else [(end_offset - 1, voters)]
