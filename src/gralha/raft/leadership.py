"""What a leader knows: how far each replica is, who has asked lately, and who waits for records.

A voter's fetch offset says what is on its device, so it counts towards the majority. The leader itself counts
with what it has flushed, and only as long as it is a voter.
"""

from typing import Final, NamedTuple

from gralha.raft.events import FetchRequest
from gralha.raft.voters import ReplicaKey, VoterSet

UNKNOWN: Final = -1
_CAUGHT_UP_MS: Final = 3_600_000  # as in Kafka
_OBSERVER_MS: Final = 300_000


class Progress:
    """One replica, as its fetches tell."""

    def __init__(self) -> None:
        self.end_offset = UNKNOWN
        self.last_fetch_ms = UNKNOWN
        self.last_caught_up_ms = UNKNOWN
        # Where the leader's log ended at the last fetch.
        self.leader_end_offset = UNKNOWN
        # When to tell a voter again that there is a leader.
        self.begin_due_ms = 0
        # Until then the replica counts as one that fetches.
        self.fetch_deadline_ms = 0


class Parked(NamedTuple):
    """A fetch that waits for records, or for a high watermark that it does not know."""

    token: int
    request: FetchRequest
    deadline_ms: int


class Leadership:
    """One epoch of leading."""

    def __init__(self, key: ReplicaKey, start_offset: int, quorum_timeout_ms: int, now_ms: int) -> None:
        self.key = key
        self.start_offset = start_offset
        self.progress: dict[ReplicaKey, Progress] = {}
        self.parked: list[Parked] = []
        # Which disks the voters have, as their fetches tell: what a configuration of voters does not know.
        self.directories: dict[int, bytes] = {key.id: key.directory_id}
        self._quorum_timeout_ms = quorum_timeout_ms
        self.quorum_deadline_ms = now_ms + quorum_timeout_ms
        self._heard: set[int] = set()

    def replica(self, key: ReplicaKey) -> Progress:
        """What is known of a replica."""
        return self.progress.setdefault(key, Progress())

    def voters_recorded(self, voters: VoterSet) -> None:
        """Voters that were known by their ids alone have disks from now on, and stay who they were."""
        for voter in voters.voters:
            replica = self.progress.pop(ReplicaKey(voter.key.id), None)
            if replica is not None:
                self.progress[voter.key] = replica

    def fetched(self, key: ReplicaKey, offset: int, leader_end_offset: int, now_ms: int) -> None:
        """A replica has everything below the offset."""
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
        """A voter has asked: with a majority of them, the quorum is there (KAFKA-15489)."""
        self._heard.add(key.id)
        present = self._heard | {self.key.id} if voters.match(self.key) else self._heard
        if len(present & set(voters.ids)) >= voters.majority:
            self.quorum_is_there(now_ms)

    def quorum_is_there(self, now_ms: int) -> None:
        """From now on it may be missing for a while."""
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
        """Everything below is on the devices of a majority."""
        ends = sorted((self.replica(voter.key).end_offset for voter in voters.voters), reverse=True)
        return ends[voters.majority - 1] if ends else UNKNOWN

    def may_commit(self, offset: int) -> bool:
        """Only what ends in this epoch: older records could still be overwritten (KAFKA-12619)."""
        return offset > self.start_offset

    def is_caught_up(self, key: ReplicaKey, now_ms: int) -> bool:
        """Whether a replica could vote without holding the others up: it has the log, and still fetches.

        Kafka believes an hour in a replica that has once caught up. One that lives fetches all the time.
        """
        replica = self.progress.get(key)
        return (
            replica is not None
            and replica.last_caught_up_ms >= 0
            and now_ms - replica.last_caught_up_ms < _CAUGHT_UP_MS
            and now_ms < replica.fetch_deadline_ms
        )

    def observers(self, voters: VoterSet, now_ms: int) -> list[tuple[ReplicaKey, Progress]]:
        """Who fetches and has no vote; those who have gone are forgotten."""
        for key in [key for key, one in self.progress.items() if self._is_gone(key, one, voters, now_ms)]:
            del self.progress[key]
        return [(key, one) for key, one in self.progress.items() if voters.match(key) is None]

    def _is_gone(self, key: ReplicaKey, replica: Progress, voters: VoterSet, now_ms: int) -> bool:
        return voters.match(key) is None and now_ms - replica.last_fetch_ms > _OBSERVER_MS

    def successors(self, voters: VoterSet) -> tuple[ReplicaKey, ...]:
        """The other voters, who has most of the log first."""
        return tuple(sorted(voters.others(self.key), key=lambda key: -self.replica(key).end_offset))
