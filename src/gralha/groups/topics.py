"""The cluster's topics as groups see them. The broker provides them."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Topic(NamedTuple):
    """A topic for assignors. `racks` has the racks of the replicas of each partition."""

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
        """A number that grows whenever a topic may have changed."""
