"""What all groups have in common, whichever protocol their members speak."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum

from gralha.groups.records import GroupRecord


class GroupType(Enum):
    """The value is Kafka's word for it."""

    CLASSIC = "Classic"
    CONSUMER = "Consumer"


class Group(ABC):
    """A group as offsets, listings and deletions see it. The checks raise the KafkaError to answer with."""

    group_id: str
    type: GroupType

    @property
    @abstractmethod
    def state_name(self) -> str:
        """Kafka's word for the state: Empty, Stable, PreparingRebalance, Assigning, ..."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """Its members' kind: "consumer", or for classic groups also "connect" and the like."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Has it no members?"""

    @abstractmethod
    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None] | None:
        """May this member commit? `member_epoch` is the generation in classic groups.

        A consumer group may have a say in each partition: then it answers a check to be called with topic
        name, topic id and partition, which raises as well.
        """

    @abstractmethod
    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """May this member, or without one anybody, read the group's offsets?"""

    @abstractmethod
    def check_offset_delete(self) -> None:
        """May offsets be deleted now?"""

    @abstractmethod
    def check_delete(self) -> None:
        """May the group be deleted now?"""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool:
        """Does a member subscribe to the topic? Offsets of such topics neither expire nor can be deleted."""

    @abstractmethod
    def tombstones(self) -> list[GroupRecord]:
        """The records that make the group as such (without its offsets) disappear."""

    @abstractmethod
    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        """When the retention of an offset committed at that time begins to run; None: it does not expire now.

        A classic group that has been empty for long counts from then on, one without members that ever joined
        from the commit, and so on; a topic that is subscribed to is the caller's business.
        """
