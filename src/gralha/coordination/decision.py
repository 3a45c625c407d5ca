"""The result of a request to a coordinator, or of one of its timers.

The state machines of a coordinator do no I/O. A request *decides*: it reads the state and returns a
`Decision`, which has the answer and the records that make the decision last. The runtime appends the records
as one batch and then replays them into the state. The answer leaves when the records are committed. Only a
successful append changes durable state, so a full disk loses nothing. An answer waits for everything that was
written before it, so a client never learns anything that the next coordinator might not know.

Some answers come later: a member that joins a group waits for the others. The state machine keeps the `Reply`
of such a request and sends the answer in a later step. That answer waits for everything that the partition
had written at the end of that step.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from gralha.coordination.producer import EndMarker, Producer
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Struct

Record = TypeVar("Record")


class Reply:
    """The way back to one client. The first answer counts; later ones are dropped."""

    __slots__ = ()

    def send(self, response: Struct) -> None:
        """Answer as soon as everything that is written so far is committed."""
        raise NotImplementedError

    def fail(self, error: KafkaError) -> None:
        """Answer with an error."""
        raise NotImplementedError


class Decision(NamedTuple, Generic[Record]):
    """The records to write, and the answer that leaves when they are committed.

    `response` is None if nobody waits (a timer), or if the answer comes later through a Reply.

    `then` is called when the records are appended and replayed, or at once if there are none. It answers
    other clients that wait, sets timers, and changes state that is in no record.

    `on_committed` is called when the high watermark has passed the records, in the leader epoch of the
    decision. It is never called if the epoch ends before that: the next coordinator finds the records when it
    loads the log.

    `on_failed` is called if the log refuses the records. The client gets that error as its answer.

    With a `producer` the records are a part of its transaction: they are one transactional batch.

    A `marker` ends a producer's transaction in this partition. A decision with a marker has no records.

    A `proof` is a record that changes nothing. It is for an answer that only reads, but must be the newest. A
    broker that was replaced as the leader may not know that yet. It cannot commit a record any more, so such
    an answer never leaves it. The proof is written only if other replicas are in sync: without them there is
    no other leader.

    The records are one batch, all or none, unless `is_atomic` is False. In that case each record stands for
    itself, and there may be more records than a batch can hold. With a producer they are always one batch.
    """

    response: Struct | None = None
    records: Sequence[Record] = ()
    then: Callable[[], None] | None = None
    on_failed: Callable[[KafkaError], None] | None = None
    is_atomic: bool = True
    producer: Producer | None = None
    on_committed: Callable[[], None] | None = None
    marker: EndMarker | None = None
    proof: Record | None = None


NOTHING: Final[Decision[Any]] = Decision()
