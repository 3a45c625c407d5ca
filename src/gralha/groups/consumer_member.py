"""A member of a consumer group (KIP-848). Members are immutable: a heartbeat replaces its member."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from gralha.protocol.messages.group_records import ClassicMemberMetadata

# Partitions by topic id, each with the member epoch at which its owner got it (KIP-1251).
Holdings = Mapping[bytes, Mapping[int, int]]

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
# A static member leaves for a while. It keeps its partitions until its session expires.
LEAVE_STATIC_EPOCH: Final = -2


class MemberState(IntEnum):
    """The progress of a member towards its target. The numbers are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # the member has to give partitions back
    UNRELEASED_PARTITIONS = 2  # the member waits for partitions that others own
    UNKNOWN = 127  # written by a later version

    @classmethod
    def _missing_(cls, value: object) -> "MemberState":
        return cls.UNKNOWN


class Regex(NamedTuple):
    """The topics that a regular expression matched when it was last looked up."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    assignor: str | None = None
    classic: ClassicMemberMetadata | None = None  # None if it speaks the consumer protocol
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1  # the answer with the newer epoch may be lost
    state: MemberState = MemberState.STABLE
    assigned: Holdings = field(default_factory=dict)
    pending_revocation: Holdings = field(default_factory=dict)

    @property
    def session_timeout_ms(self) -> int | None:
        """The session timeout of a classic member. In the consumer protocol the group has one."""
        return None if self.classic is None else self.classic.session_timeout_ms

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether the member owns its target and nothing else."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def partitions(self) -> Iterable[tuple[bytes, int]]:
        """The partitions that no other member may own now."""
        for holdings in (self.assigned, self.pending_revocation):
            for topic_id, partitions in holdings.items():
                for partition in partitions:
                    yield topic_id, partition

    def assignment_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """The epoch at which the member got a partition; None if it does not own it."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        return self.pending_revocation.get(topic_id, {}).get(partition) if epoch is None else epoch
