"""The next state of a partition: its in-sync replicas, its eligible leader replicas, its leader.

The caller sets the wish in a `PartitionChange` (another ISR, other replicas, an election). `record` works out
the rest and returns one record or none:

- A reassignment is complete when all its replicas are in sync.
- Replicas that leave an ISR below min.insync.replicas become eligible leader replicas (KIP-966).
- The leader stays if it may lead. Otherwise a new one is elected: from the ISR first, then from the eligible
  replicas.
- A record that names a leader, even the same one, begins a new leader epoch.

Eligible replicas are safe for this reason: below min.insync.replicas the high watermark does not move, so a
replica that was in sync when the ISR became too small has all acknowledged records. When the ISR is large
enough again, the high watermark moves and no replica outside of the ISR is eligible. A replica whose broker
did not stop cleanly may have lost records, so it is not eligible either.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from gralha.metadata.image import NO_LEADER, NO_LEADER_CHANGE, PartitionImage
from gralha.protocol.messages.topic_records import PartitionChangeRecord

RECOVERED: Final = 0
RECOVERING: Final = 1


class Election(Enum):
    """The kind of an election. Only an unclean one may choose a leader that lacks acknowledged records."""

    PREFERRED = "preferred"
    ONLINE = "online"
    UNCLEAN = "unclean"


class PartitionRules(NamedTuple):
    """The settings of the topic and of the cluster that matter for a partition."""

    min_insync_replicas: int
    unclean_elections: bool
    eligible_leader_replicas: bool


class _Elected(NamedTuple):
    leader: int
    unclean: bool = False


class PartitionChange:
    """A change of a partition. Set the wanted values, then take the `record`."""

    def __init__(
        self,
        topic_id: bytes,
        index: int,
        partition: PartitionImage,
        rules: PartitionRules,
        may_lead: Callable[[int], bool],
        default_directory: Callable[[int], bytes],
        election: Election = Election.ONLINE,
    ) -> None:
        self.topic_id = topic_id
        self.index = index
        self.partition = partition
        self.rules = rules
        self.may_lead = may_lead
        self.default_directory = default_directory
        self.election = election
        self.replicas = list(partition.replicas)
        self.removing = list(partition.removing_replicas)
        self.adding = list(partition.adding_replicas)
        self.isr = list(partition.isr)
        self.recovery_state = partition.leader_recovery_state
        # Brokers that may have lost records that were not on disk.
        self.crashed: frozenset[int] = frozenset()
        self.directories = dict(zip(partition.replicas, partition.directories, strict=False))
        self._eligible = list(partition.eligible_leader_replicas)

    def record(self) -> PartitionChangeRecord | None:
        """The record of the change, or None if nothing changes."""
        record = PartitionChangeRecord(topic_id=self.topic_id, partition_id=self.index)
        self._complete_reassignment()
        self._collect_eligible()
        unclean = self._elect(record)
        if unclean or not self.rules.eligible_leader_replicas or self._isr_suffices():
            self._eligible = []
        if record.leader == NO_LEADER_CHANGE and not set(self.partition.replicas) <= set(self.replicas):
            # Replicas leave. In a new epoch the leader does not count their fetches any more.
            record.leader = self.partition.leader
        self._set_isr(record)
        self._set_last_known_leader(record)
        self._set_assignment(record)
        if record.leader_recovery_state == -1 and self.recovery_state != self.partition.leader_recovery_state:
            record.leader_recovery_state = self.recovery_state
        return None if _changes_nothing(record) else record

    # The steps

    def _complete_reassignment(self) -> None:
        """When all remaining replicas are in sync, the others leave."""
        if not self.adding and not self.removing:
            return
        isr = [replica for replica in self.isr if replica not in self.removing]
        replicas = [replica for replica in self.replicas if replica not in self.removing]
        if not replicas or not isr or not set(self.adding) <= set(isr):
            return
        if len(self.adding) < len(self.removing) and not set(replicas) <= set(isr):
            return
        self.isr, self.replicas = isr, replicas
        self.removing, self.adding = [], []

    def _isr_suffices(self) -> bool:
        return len(self.isr) >= max(1, min(self.rules.min_insync_replicas, len(self.replicas)))

    def _collect_eligible(self) -> None:
        if self._isr_suffices():
            self._eligible = []
            return
        candidates = dict.fromkeys((*self._eligible, *self.partition.isr))
        self._eligible = [
            replica
            for replica in candidates
            if replica not in self.isr and replica not in self.crashed and replica in self.replicas
        ]

    def _elect(self, record: PartitionChangeRecord) -> bool:
        """Returns True if the election was unclean."""
        leader, unclean = self._choose()
        if leader == self.partition.leader:
            return False
        record.leader = leader
        if leader in self._eligible and not unclean:
            self.isr = [leader]
            self._eligible.remove(leader)
        if unclean:
            self.isr = [leader]
            if self.partition.leader_recovery_state != RECOVERING:
                record.leader_recovery_state = RECOVERING
        return unclean

    def _choose(self) -> _Elected:
        preferred = self.replicas[0]
        if self.election is Election.PREFERRED and self._is_valid_leader(preferred):
            return _Elected(preferred)
        if self._is_valid_leader(self.partition.leader):
            return _Elected(self.partition.leader)
        for replica in self.replicas:
            if self._is_valid_leader(replica):
                return _Elected(replica)
        last = self._last_known_leader()
        if last is not None:
            return _Elected(last, unclean=True)
        if self.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.may_lead(replica):
                    return _Elected(replica, unclean=True)
        return _Elected(NO_LEADER)

    def _is_valid_leader(self, replica: int) -> bool:
        candidates = self.isr
        if not candidates and self.rules.eligible_leader_replicas:
            candidates = self._eligible
        return replica in candidates and self.may_lead(replica)

    def _last_known_leader(self) -> int | None:
        """The last known leader, which may lead again if no replica is in sync or eligible."""
        known = self.partition.last_known_elr
        if not self.rules.eligible_leader_replicas or self.isr or self._eligible or len(known) != 1:
            return None
        return known[0] if known[0] in self.replicas and self.may_lead(known[0]) else None

    # The rest of the record

    def _set_isr(self, record: PartitionChangeRecord) -> None:
        if self._eligible != list(self.partition.eligible_leader_replicas):
            record.eligible_leader_replicas = self._eligible
        # Without eligible leader replicas an ISR is never empty: the partition waits for its last member.
        if self.isr != list(self.partition.isr) and (self.isr or self.rules.eligible_leader_replicas):
            record.isr = self.isr

    def _set_last_known_leader(self, record: PartitionChangeRecord) -> None:
        if not self.rules.eligible_leader_replicas:
            return
        before = self.partition
        known = before.last_known_elr
        if record.leader >= 0:
            if known:
                record.last_known_elr = []
        elif known or (record.leader == NO_LEADER_CHANGE and before.leader != NO_LEADER):
            return
        elif before.leader != NO_LEADER:
            record.last_known_elr = [before.leader]
        elif not self.isr and not self._eligible:
            # The last replica that could have led may lack records now, but it has more than the others.
            waited_for = [
                one for one in (*before.isr, *before.eligible_leader_replicas) if one in self.replicas
            ]
            if waited_for:
                record.last_known_elr = waited_for[:1]

    def _set_assignment(self, record: PartitionChangeRecord) -> None:
        before = self.partition
        directories = [
            self.directories[replica] if replica in self.directories else self.default_directory(replica)
            for replica in self.replicas
        ]
        if directories != list(before.directories):
            record.directories = directories
        if self.replicas != list(before.replicas):
            record.replicas = self.replicas
        if self.removing != list(before.removing_replicas):
            record.removing_replicas = self.removing
        if self.adding != list(before.adding_replicas):
            record.adding_replicas = self.adding


def _changes_nothing(record: PartitionChangeRecord) -> bool:
    return record == PartitionChangeRecord(topic_id=record.topic_id, partition_id=record.partition_id)
