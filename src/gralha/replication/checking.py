"""Checks batches of clients whose check takes long, without stopping the event loop.

Each partition has a queue (`Leading.queue`), and its batches are appended in its order. So records and
sequence numbers keep their order. A queue that has batches is in one of three states:

    ready     The event loop takes the next step for the first batch: it walks over a slice of the records,
              because compiled Python does not release the interpreter's lock, and appends the batch after the
              last one. A turn of the event loop takes steps of all ready queues, until its budget is used.
    waiting   The first batch needs a thread, to decompress or to compress it.
    in a run  A thread works for the first batches. Then the queue is ready.

To hand over work to a thread takes about as long as to decompress a small batch. So a run has several
batches, of one or more queues. A batch may take many times its size in memory. So a run ends when it has
decompressed RUN_BYTES, and a huge batch also waits until it is the only one.

If the leader epoch ends while batches wait, `Partition.change_leader` refuses the whole queue. If the topic's
settings change, the batch is checked again. If the client disconnects, its batches are still appended, as in
Kafka.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Final

from gralha.protocol.errors import KafkaError, KafkaStorageError, UnknownServerError
from gralha.replication.leading import Leading, QueuedBatch
from gralha.storage.validation import SLICE, BatchCheck

RUNS_MAX: Final = 4
RUN_BATCHES: Final = 8
RUN_BYTES: Final = 4 * 1024 * 1024
# The budget of a turn is SLICE records. To append a batch costs as much as to check this many.
STEP_COST: Final = SLICE // RUN_BATCHES

log = logging.getLogger("gralha.replication")

Run = list[tuple[QueuedBatch, BatchCheck]]


class Checks:
    """The running checks of a broker. Only the event loop's thread calls these methods."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._threads = ThreadPoolExecutor(RUNS_MAX, thread_name_prefix="gralha-check")
        # The queues by their state. Dicts keep their order.
        self._ready: dict[Leading, None] = {}
        self._waiting: dict[Leading, None] = {}
        self._in_run: dict[Leading, None] = {}
        self._runs = 0
        # The one huge batch that may be in memory.
        self._huge: QueuedBatch | None = None
        self._has_turn_soon = False
        self._is_closed = False

    def enqueue(self, queued: QueuedBatch) -> None:
        """Check and append a batch after the batches that wait already."""
        if self._is_closed:
            queued.refuse(_closing())
            return
        leading = queued.leading
        leading.queue.append(queued)
        if leading not in self._waiting and leading not in self._in_run:
            self._ready[leading] = None
            # Later, because the caller is not done with its request.
            self._take_turn_soon()

    def close(self) -> None:
        """Stop appending, and refuse the batches that wait."""
        self._is_closed = True
        for leading in (*self._ready, *self._waiting, *self._in_run):
            leading.refuse_queued(_closing())
        self._threads.shutdown(wait=False)

    def is_idle(self) -> bool:
        return not (self._ready or self._waiting or self._in_run)

    # Turns of the event loop

    def _take_turn_soon(self) -> None:
        if self._ready and not self._has_turn_soon:
            self._has_turn_soon = True
            asyncio.get_running_loop().call_soon(self._take_turn_now)

    def _take_turn_now(self) -> None:
        self._has_turn_soon = False
        self._take_turn()

    def _take_turn(self) -> None:
        """Take steps of ready queues, one of each queue in turn."""
        self._start_runs()
        budget = SLICE
        while self._ready and budget > 0:
            leading = next(iter(self._ready))
            del self._ready[leading]
            if leading.queue:
                budget -= self._step(leading)
        self._start_runs()
        self._take_turn_soon()

    def _step(self, leading: Leading) -> int:
        """Take the next step for the first batch of a queue. Returns the cost."""
        queued = leading.queue[0]
        try:
            check = self._current_check(leading, queued)
            if check.needs_thread:
                self._waiting[leading] = None
                return 0
            if not check.is_done:
                check.walk()
        except Exception as error:
            self._refuse(leading, queued, error)
            cost = STEP_COST
        else:
            if check.is_done:
                leading.queue.popleft()
                queued.append(check, self._clock())
            cost = max(STEP_COST, check.header.record_count)
        self._ready[leading] = None
        return cost

    def _current_check(self, leading: Leading, queued: QueuedBatch) -> BatchCheck:
        """The check of a batch, begun again if the topic's settings have changed since."""
        check = queued.check
        if check is None or not leading.is_current(check):
            queued.error = None
            queued.check = check = leading.partition.log.check(queued.records, self._clock())
        elif queued.error is not None:
            raise queued.error
        return check

    def _refuse(self, leading: Leading, queued: QueuedBatch, error: BaseException) -> None:
        """Refuse the first batch of a queue."""
        leading.queue.popleft()
        if not isinstance(error, KafkaError):
            log.error("the check of a batch failed", exc_info=error)
            error = UnknownServerError(str(error))
        queued.refuse(error)

    # Runs of threads

    def _start_runs(self) -> None:
        """Give work to idle threads, unless the event loop has decompressed batches to append."""
        self._leave_huge()
        while self._waiting and self._runs < RUNS_MAX and len(self._ready) < RUN_BATCHES:
            run = self._next_run()
            if not run:
                return
            self._runs += 1
            loop = asyncio.get_running_loop()
            future = loop.run_in_executor(self._threads, _work, run)
            future.add_done_callback(partial(self._run_ended, run))

    def _run_ended(self, run: Run, future: "asyncio.Future[None]") -> None:
        error = future.exception()
        self._runs -= 1
        for queued, _ in run:
            if error is not None:
                queued.error = error
            self._in_run.pop(queued.leading, None)
            self._ready[queued.leading] = None
        self._take_turn()

    def _next_run(self) -> Run:
        """The first batches of the waiting queues. Their queues are in the run from now on."""
        run: Run = []
        for leading in list(self._waiting):
            if len(run) == RUN_BATCHES:
                break
            if self._waits_for_huge(leading):
                continue
            del self._waiting[leading]
            batches = self._batches_for_thread(leading, RUN_BATCHES - len(run))
            if batches:
                self._in_run[leading] = None
                run += batches
            else:
                self._ready[leading] = None
        return run

    def _batches_for_thread(self, leading: Leading, count: int) -> Run:
        """Those of the first batches that need a thread. A huge one must be the first of its queue."""
        batches: Run = []
        for queued in islice(leading.queue, count):
            try:
                check = self._current_check(leading, queued)
            except Exception as error:
                queued.error = error  # the batch is refused after those before it
                continue
            if check.needs_thread:
                if check.is_huge:
                    if queued is not leading.queue[0]:
                        break
                    self._huge = queued
                batches.append((queued, check))
        return batches

    def _waits_for_huge(self, leading: Leading) -> bool:
        """Whether the first batch is huge, and another huge one is in memory."""
        if self._huge is None or not leading.queue or leading.queue[0] is self._huge:
            return False
        check = leading.queue[0].check
        return check is not None and check.is_huge

    def _leave_huge(self) -> None:
        """Let the next huge batch be decompressed if the last one is done."""
        huge = self._huge
        if huge is not None and huge.leading not in self._in_run:
            queue = huge.leading.queue
            if not queue or queue[0] is not huge:
                self._huge = None


def _work(run: Run) -> None:
    """Take the next step of the batches of a run. It leaves the last ones out if the others are large."""
    size_bytes = 0
    for queued, check in run:
        try:
            check.work()
        except Exception as error:
            queued.error = error
        records = check.records
        if records is not None:
            size_bytes += records.end - records.start
        if size_bytes > RUN_BYTES:
            return


def _closing() -> KafkaStorageError:
    return KafkaStorageError("The broker is shutting down")
