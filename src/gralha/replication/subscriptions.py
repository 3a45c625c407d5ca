"""The subscribers of a partition. They are called when one of its offsets moves.

A request that has to wait subscribes to an event and is told each time; it answers True when it has nothing
left to wait for. A change of the leader or its epoch (STATE_CHANGED) is told to everybody, whatever they have
subscribed to.
"""

from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from gralha.replication.partition import Partition

# The log has grown, consumers may read further, a replica has forgotten the start of its log.
END_MOVED: Final = 0
HIGH_WATERMARK_MOVED: Final = 1
START_MOVED: Final = 2
# The leader, its epoch or the start of the leader's log is another.
STATE_CHANGED: Final = 3


@mypyc_attr(allow_interpreted_subclasses=True)
class Subscriber:
    """Somebody who waits for something of a partition."""

    def partition_changed(self, partition: "Partition", event: int, new_bytes: int) -> bool:
        """Called while the partition changes. True ends the subscription.

        `new_bytes` is how much has been appended, or has come below the high watermark, with this event.
        """
        raise NotImplementedError


class Subscribers:
    """The subscribers to one event of one partition."""

    def __init__(self) -> None:
        self._subscribers: dict[Subscriber, None] = {}  # in the order in which they are told

    def __len__(self) -> int:
        return len(self._subscribers)

    def add(self, subscriber: Subscriber) -> None:
        self._subscribers[subscriber] = None

    def remove(self, subscriber: Subscriber) -> None:
        """End a subscription, if there is one."""
        self._subscribers.pop(subscriber, None)

    def tell(self, partition: "Partition", event: int, new_bytes: int) -> None:
        """Tell all subscribers.

        A subscriber that is told may append to the partition, which is another event. All others hear of that
        one as well; the subscriber itself does not. Others may subscribe or unsubscribe meanwhile.
        """
        subscribers = self._subscribers
        if not subscribers:
            return
        for subscriber in list(subscribers):
            if subscriber not in subscribers:
                continue
            del subscribers[subscriber]
            if not subscriber.partition_changed(partition, event, new_bytes):
                subscribers[subscriber] = None
