"""A group of any kind, as offsets, listings and deletions see it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import Enum

from gralha.groups.records import GroupRecord


class GroupType(Enum):
    """The value is Kafka's name."""

    CLASSIC = "Classic"
    CONSUMER = "Consumer"


class Group(ABC):
    """A classic or a consumer group. The checks raise the KafkaError that is the answer."""

    group_id: str
    type: GroupType
    members: Mapping[str, object]  # by member id

    @property
    @abstractmethod
    def state_name(self) -> str:
        """Kafka's name for the state: Empty, Stable, PreparingRebalance, Assigning, ..."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """The kind of its members: "consumer"; in a classic group also "connect" and others."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the group has no members."""

    @abstractmethod
    def check_offset_commit(
        self,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        is_transactional: bool,
        api_version: int,
    ) -> Callable[[str, bytes, int], None] | None:
        """Refuse a commit, or let it pass. `member_epoch` is the generation in a classic group.

        A consumer group may have to check each partition. Then it returns a function that takes the topic
        name, the topic id and the partition, and raises as well.
        """

    @abstractmethod
    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse a fetch of offsets, or let it pass. No member: anyone may ask."""

    @abstractmethod
    def check_offset_delete(self) -> None:
        """Refuse the deletion of offsets, or let it pass."""

    @abstractmethod
    def check_delete(self) -> None:
        """Refuse the deletion of the group, or let it pass."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member subscribes to the topic. If so, its offsets neither expire nor can be deleted."""

    @abstractmethod
    def tombstones(self) -> list[GroupRecord]:
        """The records that delete the group, but not its offsets."""

    @abstractmethod
    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        """The time from which the retention of an offset runs that was committed at that time.

        None if the offset does not expire in the present state of the group. The caller takes care of topics
        that members subscribe to.
        """
