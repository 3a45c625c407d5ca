"""What groups need to know of the cluster's topics. The broker hands it in."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Topic(NamedTuple):
    """A topic as an assignor sees it. `racks` has, for each partition, the racks of its replicas."""

    name: str
    id: bytes
    partition_count: int
    racks: tuple[frozenset[str], ...] = ()


class Topics(Protocol):
    """The topics of the newest metadata image."""

    def by_name(self, name: str) -> Topic | None:
        """The topic of that name, if there is one."""

    def by_id(self, topic_id: bytes) -> Topic | None:
        """The topic with that id, if there is one."""

    def names(self) -> Iterable[str]:
        """The names of all topics."""

    def version(self) -> int:
        """Grows whenever anything about topics may have changed."""
