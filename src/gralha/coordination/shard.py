"""The state machines behind one partition of a coordinator's topic, as the runtime sees them.

A shard is synchronous and does no I/O. It has methods that decide; which ones is a matter between the shard
and the handlers of its requests. The runtime knows only what is declared here.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol

from gralha.coordination.decision import Record
from gralha.coordination.producer import Producer
from gralha.coordination.timers import Timers


class Codec(NamedTuple, Generic[Record]):
    """How the records of a coordinator's topic become keys and values, and the other way round.

    `decode` returns None for a kind of record that this version does not know. It runs in a thread.
    """

    encode: Callable[[Record], tuple[bytes, bytes | None]]
    decode: Callable[[bytes, bytes | None], Record | None]


class Shard(Protocol[Record]):
    """All that one partition of a coordinator's topic says, in memory."""

    @property
    def codec(self) -> Codec[Record]:
        """The format of the records."""

    @property
    def timers(self) -> Timers:
        """The deadlines of this shard. The runtime runs their actions, each as a step of its own."""

    def replay(self, record: Record, producer: Producer | None = None) -> None:
        """Take over what a record says. Nothing else changes durable state.

        With a producer the record is part of a transaction, and counts when that is committed.
        """

    def replay_end_of_transaction(self, producer: Producer, is_commit: bool) -> None:
        """A producer's transaction has ended in this partition."""

    def on_loaded(self, now_ms: int) -> None:
        """All records of the log are replayed: start the timers. A timer that is due at once may decide."""
