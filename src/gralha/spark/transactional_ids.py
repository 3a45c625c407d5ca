"""The transactional ids of the sink: who writes under which name.

    gralha.<query>.<sink>.driver                                    the driver's decisions
    gralha.<query>.<sink>.<run>.<worker process>.<0 or 1>.<slot>    the rows of one task of a stream
    gralha.<query>.<sink>.versions.<worker process>.<slot>          the rows of one task of a batch write

A worker process numbers its tasks within a batch: these are the slots. In the next batch but one it uses the
same ids again, so that coordinators do not have to remember an id for each task. Even and odd batches have
ids of their own, because a new owner of an id aborts its transaction. When batch 6 uses the ids of batch 4
again, the decision about batch 5 is in the log. So a driver that finds the decision about batch 4 as the
newest one knows that nobody has used its ids since.

Batch writes have no such order. There a worker uses an id again if the coordinator says that the id's last
transaction has ended. Only this worker process begins transactions of its ids, so that stays true.
"""

import os
import uuid
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gralha.client.errors import ClientError
from gralha.client.transaction_state import TransactionHandle

PREFIX = "gralha"
DRIVER = "driver"
# The run of all batch writes.
VERSIONS = "versions"


class SinkKey(NamedTuple):
    """The key of decisions: a query or the txnAppId of batch writes, and the topic ("*" for a column)."""

    query: str
    sink: str

    @property
    def prefix(self) -> str:
        """The beginning of all transactional ids of the sink."""
        return f"{PREFIX}.{_escaped(self.query)}.{_escaped(self.sink)}."

    @property
    def driver_id(self) -> str:
        """The transactional id of the driver."""
        return self.prefix + DRIVER


class BatchIdentity(NamedTuple):
    """A batch of a query, as one run of the query writes it."""

    key: SinkKey
    batch: int
    run: str

    @property
    def run_prefix(self) -> str:
        """The beginning of the transactional ids of the run's tasks."""
        return f"{self.key.prefix}{_escaped(self.run)}."

    @property
    def is_batch_write(self) -> bool:
        """Returns True if the batch is a version of a program, and not a batch of a stream."""
        return self.run == VERSIONS


class LateTaskError(ClientError):
    """A task of a batch that is over."""


class Slots:
    """The ids that one worker process has used. `take` gives an id for each task."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._first: dict[tuple[SinkKey, str], int] = {}
        self._newest: dict[tuple[SinkKey, str], tuple[int, int]] = {}

    def take(self, identity: BatchIdentity) -> str:
        """A transactional id that no transaction uses whose end is still to be decided."""
        run = (identity.key, identity.run)
        newest, used = self._newest.get(run, (-1, 0))
        if identity.batch < newest:
            # Its ids may be in use again by the batch after next.
            raise LateTaskError(
                f"This task belongs to batch {identity.batch}, but batch {newest} of the same run has begun."
            )
        slot = used if identity.batch == newest else 0
        self._newest[run] = (identity.batch, slot + 1)
        self._first.setdefault(run, identity.batch)
        return f"{identity.run_prefix}{self._process}.{identity.batch % 2}.{slot}"

    def may_repeat(self, identity: BatchIdentity) -> bool:
        """Returns True if the batch may have been written by an earlier run. Only a run's first batch may."""
        return self._first.get((identity.key, identity.run), identity.batch) >= identity.batch


class EndedIds:
    """The ids that one worker process has used for batch writes. `take` gives one for each task."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._slots: dict[SinkKey, int] = {}
        self._last: dict[SinkKey, dict[str, TransactionHandle]] = {}

    def take(
        self, identity: BatchIdentity, ended: Callable[[Iterable[TransactionHandle]], Iterable[str]]
    ) -> str:
        """An id without an open transaction. `ended` asks the coordinators."""
        key = identity.key
        last = self._last.setdefault(key, {})
        free = next(iter(sorted(ended(last.values()))), None) if last else None
        if free is not None:
            del last[free]
            return free
        slot = self._slots[key] = self._slots.get(key, -1) + 1
        return f"{identity.run_prefix}{self._process}.{slot}"

    def used(self, key: SinkKey, handle: TransactionHandle) -> None:
        """A task writes with this transaction."""
        self._last.setdefault(key, {})[handle.transactional_id] = handle


class WorkerIds(NamedTuple):
    """All ids of one worker process."""

    slots: Slots
    ended: EndedIds


_ids: dict[int, WorkerIds] = {}


def ids_of_this_process() -> WorkerIds:
    """The ids of this worker. Spark forks its workers, so a child must not use its parent's."""
    process_id = os.getpid()
    if process_id not in _ids:
        _ids.clear()
        name = uuid.uuid4().hex[:12]
        _ids[process_id] = WorkerIds(Slots(name), EndedIds(name))
    return _ids[process_id]


def _escaped(part: str) -> str:
    """A part of an id without dots, so that no id of one query begins like those of another one."""
    return part.replace("%", "%25").replace(".", "%2E")
