"""Which brokers live, as far as the active controller can tell: soft state, beside the image.

A broker lives while it is heard of within the session timeout. A killed process closes its connections at
once, so a lost connection is taken as a hint: the broker has a short grace to be heard of again, and is
fenced when that is over. Fencing too early is always safe: the broker's next heartbeat ends it.

A controller that becomes active has heard of nobody and gives everybody a new session, except brokers that
it already knows to have lost their connection. The broker in the controller's own process lives as long as
the controller does. Times are those of a clock that only goes forward, such as the event loop's.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gralha.metadata.image import BrokerRegistration

GRACE_MS: Final = 250
SESSION_TIMEOUT_MS: Final = 9000


class _Contact:
    """What is known of one registration of a broker."""

    __slots__ = ("epoch", "lost_ms", "metadata_offset", "seen_ms", "was_heard")

    def __init__(self, epoch: int, seen_ms: int) -> None:
        self.epoch = epoch
        self.seen_ms = seen_ms
        # By this controller; before it became active another may have heard of the broker.
        self.was_heard = False
        # When its connection was lost, unless it was heard of since.
        self.lost_ms: int | None = None
        # How far it has followed the metadata log.
        self.metadata_offset = -1


class Liveness:
    """When brokers were last heard of."""

    def __init__(
        self, own_id: int, session_timeout_ms: int = SESSION_TIMEOUT_MS, grace_ms: int = GRACE_MS
    ) -> None:
        self.own_id = own_id
        self.session_timeout_ms = session_timeout_ms
        self.grace_ms = grace_ms
        self._contacts: dict[int, _Contact] = {}
        # When connections were lost that were not made again, also while another controller was active.
        self._suspects: dict[int, int] = {}
        self._shutdown_offsets: dict[tuple[int, int], int] = {}

    def begin(self, brokers: Mapping[int, BrokerRegistration], now_ms: int) -> None:
        """This controller becomes active: everybody's session begins anew."""
        self._shutdown_offsets.clear()
        self._contacts = {
            broker.id: _Contact(broker.epoch, now_ms)
            for broker in brokers.values()
            # A registration of this very node is that of a process before this one.
            if not broker.fenced and broker.id != self.own_id
        }
        for broker_id, lost_ms in list(self._suspects.items()):
            # Whoever was lost longer ago is fenced by now, or came back and nobody said so.
            if now_ms - lost_ms <= self.session_timeout_ms:
                self.connection_lost(broker_id, now_ms)

    def touch(self, broker_id: int, epoch: int, now_ms: int, metadata_offset: int = -1) -> None:
        """The broker was heard of."""
        contact = self._contacts.get(broker_id)
        if contact is None or contact.epoch != epoch:
            contact = self._contacts[broker_id] = _Contact(epoch, now_ms)
        contact.seen_ms = now_ms
        contact.was_heard = True
        contact.lost_ms = None
        contact.metadata_offset = max(contact.metadata_offset, metadata_offset)
        self._suspects.pop(broker_id, None)

    def connection_made(self, broker_id: int) -> None:
        """A connection to a node is there again; the grace of a broker ends only with a heartbeat."""
        self._suspects.pop(broker_id, None)

    def connection_lost(self, broker_id: int, now_ms: int) -> None:
        """A connection of the broker broke: it has the grace to be heard of again."""
        self._suspects[broker_id] = now_ms
        contact = self._contacts.get(broker_id)
        if contact is not None and contact.lost_ms is None:
            contact.lost_ms = now_ms

    def has_session(self, broker_id: int, epoch: int, now_ms: int) -> bool:
        """Does the registration's process live, for all that this controller has heard itself?

        One that lost its connection need not be waited for. Nor one that only the controller before has heard
        of: if all nodes were started anew, each would wait for the session of the process that it replaces.
        """
        contact = self._contacts.get(broker_id)
        return (
            contact is not None
            and contact.was_heard
            and contact.epoch == epoch
            and contact.lost_ms is None
            and now_ms - contact.seen_ms <= self.session_timeout_ms
        )

    def expired(self, now_ms: int) -> list[int]:
        """The brokers whose session or grace is over."""
        return [
            broker_id
            for broker_id, contact in self._contacts.items()
            if broker_id != self.own_id and self._is_over(contact, now_ms)
        ]

    def _is_over(self, contact: _Contact, now_ms: int) -> bool:
        if contact.lost_ms is not None and now_ms - contact.lost_ms >= self.grace_ms:
            return True
        return now_ms - contact.seen_ms > self.session_timeout_ms

    def epoch(self, broker_id: int) -> int | None:
        """The registration that is watched."""
        contact = self._contacts.get(broker_id)
        return None if contact is None else contact.epoch

    def forget(self, broker_id: int) -> None:
        """The broker is fenced or gone: it is watched again when it is heard of."""
        self._contacts.pop(broker_id, None)

    # Controlled shutdown

    def shutdown_offset(self, broker_id: int, epoch: int, offset: int) -> int:
        """What all others must have followed before the broker may stop: `offset` on the first call."""
        return self._shutdown_offsets.setdefault((broker_id, epoch), offset)

    def all_followed(self, broker_ids: Iterable[int], offset: int) -> bool:
        """Have these brokers followed the metadata log up to the offset?"""
        for broker_id in broker_ids:
            contact = self._contacts.get(broker_id)
            # The own broker follows whatever this process commits.
            if broker_id != self.own_id and (contact is None or contact.metadata_offset < offset):
                return False
        return True
