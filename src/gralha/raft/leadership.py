"""What a leader knows about the replicas: how far each one is, when it fetched, and which fetches wait.

The fetch offset of a voter says what is on its device, so it counts towards the majority. The leader itself
counts with what it has flushed, and only while it is a voter.
"""

from typing import Final, NamedTuple

from gralha.raft.events import FetchRequest
from gralha.raft.voters import ReplicaKey, VoterSet

UNKNOWN: Final = -1
_CAUGHT_UP_MS: Final = 3_600_000  # as in Kafka
_OBSERVER_MS: Final = 300_000


class Progress:
    """One replica, as its fetches show it."""

    def __init__(self) -> None:
        self.end_offset = UNKNOWN
        self.last_fetch_ms = UNKNOWN
        self.last_caught_up_ms = UNKNOWN
        # The end of the leader's log at the last fetch.
        self.leader_end_offset = UNKNOWN
        # When the leader tells this voter again that it leads.
        self.begin_due_ms = 0
        # Until then the replica counts as one that fetches.
        self.fetch_deadline_ms = 0


class Parked(NamedTuple):
    """A fetch that waits for new records or a new high watermark."""

    token: int
    request: FetchRequest
    deadline_ms: int


class Leadership:
    """The replicas during one epoch of a leader."""

    def __init__(self, key: ReplicaKey, start_offset: int, quorum_timeout_ms: int, now_ms: int) -> None:
        self.key = key
        self.start_offset = start_offset
        self.progress: dict[ReplicaKey, Progress] = {}
        self.parked: list[Parked] = []
        # The disks of the voters, from their fetches. Configured voters have no disks in the configuration.
        self.directories: dict[int, bytes] = {key.id: key.directory_id}
        self._quorum_timeout_ms = quorum_timeout_ms
        self.quorum_deadline_ms = now_ms + quorum_timeout_ms
        self._heard: set[int] = set()

    def replica(self, key: ReplicaKey) -> Progress:
        """The progress of a replica."""
        return self.progress.setdefault(key, Progress())

    def voters_recorded(self, voters: VoterSet) -> None:
        """Voters that were known by their ids alone have disks from now on, and keep their progress."""
        for voter in voters.voters:
            replica = self.progress.pop(ReplicaKey(voter.key.id), None)
            if replica is not None:
                self.progress[voter.key] = replica

    def fetched(self, key: ReplicaKey, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """A replica has everything below the offset.

        It is caught up if it has the whole log. It was caught up at its previous fetch if it has now what was
        the whole log then.
        """
        replica = self.replica(key)
        if offset >= leader_end_offset:
            replica.last_caught_up_ms = now_ms
        elif 0 <= replica.leader_end_offset <= offset:
            replica.last_caught_up_ms = replica.last_fetch_ms
        replica.end_offset = offset
        replica.last_fetch_ms = now_ms
        replica.fetch_deadline_ms = now_ms + self._quorum_timeout_ms
        replica.leader_end_offset = leader_end_offset

    def heard(self, key: ReplicaKey, voters: VoterSet, now_ms: int) -> None:
        """A voter has fetched. When a majority has, the leader may go on (KAFKA-15489)."""
        self._heard.add(key.id)
        present = self._heard | {self.key.id} if voters.match(self.key) else self._heard
        if len(present & set(voters.ids)) >= voters.majority:
            self.quorum_is_there(now_ms)

    def quorum_is_there(self, now_ms: int) -> None:
        """A majority was heard. The next one must be heard until the new deadline."""
        self._heard.clear()
        self.quorum_deadline_ms = now_ms + self._quorum_timeout_ms

    def postpone(self, late_ms: int) -> None:
        """Moves everything that waits by the time in which the process did not run."""
        self.quorum_deadline_ms += late_ms
        self.parked = [one._replace(deadline_ms=one.deadline_ms + late_ms) for one in self.parked]
        for replica in self.progress.values():
            replica.begin_due_ms += late_ms
            replica.fetch_deadline_ms += late_ms

    def majority_offset(self, voters: VoterSet) -> int:
        """The offset below which a majority has everything on its devices."""
        ends = sorted((self.replica(voter.key).end_offset for voter in voters.voters), reverse=True)
        return ends[voters.majority - 1] if ends else UNKNOWN

    def may_commit(self, offset: int) -> bool:
        """Returns True if a record of this epoch is below: older ones could be overwritten (KAFKA-12619)."""
        return offset > self.start_offset

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Returns True if a replica has the log and still fetches, so that its vote would delay nobody.

        Kafka trusts a replica for an hour after it was caught up, even if it does not fetch any more.
        """
        replica = self.progress.get(key)
        return (
            replica is not None
            and replica.last_caught_up_ms >= 0
            and now_ms - replica.last_caught_up_ms < _CAUGHT_UP_MS
            and now_ms < replica.fetch_deadline_ms
        )

    def observers(self, voters: VoterSet, now_ms: int) -> list[tuple[ReplicaKey, Progress]]:
        """The replicas that fetch and do not vote. Those that have stopped fetching are forgotten."""
        for key in [key for key, one in self.progress.items() if self._is_gone(key, one, voters, now_ms)]:
            del self.progress[key]
        return [(key, one) for key, one in self.progress.items() if voters.match(key) is None]

    def _is_gone(self, key: ReplicaKey, replica: Progress, voters: VoterSet, now_ms: int) -> bool:
        return voters.match(key) is None and now_ms - replica.last_fetch_ms > _OBSERVER_MS

    def successors(self, voters: VoterSet) -> tuple[ReplicaKey, ...]:
        """The other voters, the one with the longest log first."""
        return tuple(sorted(voters.others(self.key), key=lambda key: -self.replica(key).end_offset))
