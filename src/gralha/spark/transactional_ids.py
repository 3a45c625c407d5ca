"""The transactional ids of the sink: who writes under which name.

    gralha.<query>.<sink>.driver                                    the driver's decisions
    gralha.<query>.<sink>.<run>.<worker process>.<0 or 1>.<slot>    the rows of one task

A worker process numbers its tasks within a batch: these are the slots. In the next batch but one it uses the
same ids again, so that coordinators do not have to remember an id for each task. Even and odd batches have
ids of their own, because a new owner of an id aborts its transaction. When batch 6 uses the ids of batch 4
again, the decision about batch 5 is in the log. So a driver that finds the decision about batch 4 as the
newest one knows that nobody has used its ids since.
"""

import os
import uuid
from typing import NamedTuple

from gralha.client.errors import ClientError

PREFIX = "gralha"
DRIVER = "driver"
VERSION = "version"


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

    def may_sweep(self, transactional_id: str) -> bool:
        """Returns True if a transaction of another run belongs to a batch up to this one.

        Runs of a stream repeat the batch after the newest decision. Programs may write several versions at
        the same time, so the runs of batch writes name their version.
        """
        run = transactional_id.removeprefix(self.key.prefix).partition(".")[0]
        version, is_version, _ = run.removeprefix(VERSION).partition("-")
        return not (run.startswith(VERSION) and is_version) or int(version) <= self.batch


def run_of_version(version: int, unique: str) -> str:
    """The run of a batch write."""
    return f"{VERSION}{version}-{unique}"


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


_slots: dict[int, Slots] = {}


def slots_of_this_process() -> Slots:
    """The slots of this worker. Spark forks its workers, so a child must not use its parent's."""
    process_id = os.getpid()
    if process_id not in _slots:
        _slots.clear()
        _slots[process_id] = Slots(uuid.uuid4().hex[:12])
    return _slots[process_id]


def _escaped(part: str) -> str:
    """A part of an id without dots, so that no id of one query begins like those of another one."""
    return part.replace("%", "%25").replace(".", "%2E")
