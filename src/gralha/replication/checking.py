"""Checks batches of clients whose check takes long, without stopping the event loop.

The batches of a partition's queue (`Leading.queue`) are checked in order. A thread decompresses and
compresses. The event loop walks over the records, a slice at a time, because compiled Python does not release
the interpreter's lock. The batches behind the first one wait, so that records and sequence numbers keep their
order. Other partitions do not wait, unless BATCHES_MAX of them are being checked already. A batch may take
many times its size in memory, so a huge one also waits until it is the only one.

If the leader epoch ends while batches wait, `Partition.change_leader` refuses the whole queue. If the topic's
settings change, the batch is checked again. If the client disconnects, its batches are still appended, as in
Kafka.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from gralha.protocol.errors import KafkaError, KafkaStorageError, UnknownServerError
from gralha.replication.leading import Leading, QueuedBatch
from gralha.storage.validation import BatchCheck

# How many batches are checked at a time.
BATCHES_MAX: Final = 4

log = logging.getLogger("gralha.replication")


class Checks:
    """The running checks of a broker. Only the event loop's thread calls these methods."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._threads = ThreadPoolExecutor(BATCHES_MAX, thread_name_prefix="gralha-check")
        # The queues whose first batch is being checked, and the queues whose first batch waits for its check.
        self._under_way: dict[Leading, None] = {}
        self._waiting: dict[Leading, None] = {}
        # The one huge batch that may be in memory, and the queues with another one at their front.
        self._huge: QueuedBatch | None = None
        self._huge_next: deque[Leading] = deque()
        self._is_closed = False

    def enqueue(self, queued: QueuedBatch) -> None:
        """Check and append a batch after the batches that wait already."""
        leading = queued.leading
        leading.queue.append(queued)
        if leading not in self._under_way:
            self._waiting[leading] = None
            self._begin_more()

    def close(self) -> None:
        """Stop appending, and refuse the batches that wait."""
        self._is_closed = True
        for leading in (*self._under_way, *self._waiting):
            leading.refuse_queued(KafkaStorageError("The broker is shutting down"))
        self._waiting.clear()
        self._threads.shutdown(wait=False)

    def _begin_more(self) -> None:
        while self._waiting and len(self._under_way) < BATCHES_MAX:
            leading = next(iter(self._waiting))
            del self._waiting[leading]
            self._under_way[leading] = None
            # Later, because the caller of `enqueue` is not done with its request.
            asyncio.get_running_loop().call_soon(self._go_on, leading)

    def _go_on(self, leading: Leading) -> None:
        """Take the next step for the batch at the front."""
        self._leave_huge(leading)
        if self._is_closed or not leading.queue:
            self._end(leading)
            return
        queued = leading.queue[0]
        try:
            check = self._current_check(leading, queued)
            if check.needs_thread:
                if not check.is_huge or self._enter_huge(queued):
                    self._work(leading, queued, check)
                return
            if not check.is_done:
                check.walk()
        except Exception as error:
            self._refuse(leading, queued, error)
        else:
            if check.is_done and leading.is_current(check):
                leading.queue.popleft()
                queued.append(check, self._clock())
        asyncio.get_running_loop().call_soon(self._go_on, leading)

    def _current_check(self, leading: Leading, queued: QueuedBatch) -> BatchCheck:
        """The check of a batch, begun again if the topic's settings have changed since."""
        check = queued.check
        if check is None or not leading.is_current(check):
            queued.check = check = leading.partition.log.check(queued.records, self._clock())
            check.begin()
        return check

    def _work(self, leading: Leading, queued: QueuedBatch, check: BatchCheck) -> None:
        def worked(future: "asyncio.Future[None]") -> None:
            error = future.exception()
            if error is not None:
                self._refuse(leading, queued, error)
            self._go_on(leading)

        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._threads, check.work).add_done_callback(worked)

    def _enter_huge(self, queued: QueuedBatch) -> bool:
        """Whether a huge batch may be decompressed now. If not, its queue goes on when there is no other."""
        if self._huge is None:
            self._huge = queued
        elif self._huge is not queued:
            self._huge_next.append(queued.leading)
            return False
        return True

    def _leave_huge(self, leading: Leading) -> None:
        """Start the next huge batch if the one of this queue is done."""
        huge = self._huge
        if huge is None or huge.leading is not leading or (leading.queue and leading.queue[0] is huge):
            return
        self._huge = None
        if self._huge_next:
            asyncio.get_running_loop().call_soon(self._go_on, self._huge_next.popleft())

    def _refuse(self, leading: Leading, queued: QueuedBatch, error: BaseException) -> None:
        """Refuse the batch at the front, unless the whole queue was refused meanwhile."""
        if not leading.queue or leading.queue[0] is not queued:
            return
        leading.queue.popleft()
        if not isinstance(error, KafkaError):
            log.error("the check of a batch failed", exc_info=error)
            error = UnknownServerError(str(error))
        queued.refuse(error)

    def _end(self, leading: Leading) -> None:
        """Forget a queue that is empty."""
        del self._under_way[leading]
        if not self._is_closed:
            self._begin_more()
