"""What a request to a group, or one of its timers, comes to.

The state machines of this room do no I/O. A request *decides*: it looks at the state and returns an `Outcome`
with the answer and the records that make the decision last. The coordinator appends the records as one
batch, then they are replayed into the state, and the answer leaves when they are committed. Only a successful
append changes durable state, so a full disk loses nothing; and an answer never rests on records that a new
coordinator might not have, because it waits for everything that was written before it.

Some answers come later: a member that joins waits for the others. Its `Reply` is kept by the state machine,
which sends it in some later step. The same rule holds: a reply leaves when everything is committed that its
group's partition had written at the end of the step that sent it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gralha.groups.records import GroupRecord
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Struct


class Caller(NamedTuple):
    """Who sent a request."""

    client_id: str
    client_host: str
    api_version: int


class Reply:
    """The way back to one caller. The first answer counts; what comes after it is dropped."""

    def send(self, response: Struct) -> None:
        """Answer, once what is written so far is committed."""
        raise NotImplementedError

    def fail(self, error: KafkaError) -> None:
        """Answer with an error."""
        raise NotImplementedError


class Outcome(NamedTuple):
    """A decision: what to write, and what to answer once it is committed.

    `response` is None when nobody waits (a timer) or when the answer comes later through a Reply.
    After the append the records are replayed; a state machine that has more to do than replaying (telling
    waiting members their assignment) gives `on_appended`, which is called *instead*. `on_failed` is called if
    the append failed and nothing was written; whoever asked gets that error as the answer in any case. The
    records are one batch, all or none, except with `in_parts`: there may be more than a batch can hold.
    """

    response: Struct | None = None
    records: Sequence[GroupRecord] = ()
    on_appended: Callable[[], None] | None = None
    on_failed: Callable[[KafkaError], None] | None = None
    in_parts: bool = False


NOTHING = Outcome()
