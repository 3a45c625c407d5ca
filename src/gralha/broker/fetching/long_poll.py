"""A Fetch request that cannot be answered at once: it waits for the disk, or for more records.

    reading     A thread reads what the page cache lacks.
    waiting     The request has subscribed to its partitions. It wakes up once: there are min_bytes to read, a
                leader has changed, or max_wait_ms are over.
    last read   The request reads again, in a thread if it must, and answers with what there is.

A request begins in `reading` if its first read was cold, otherwise in `waiting`.
"""

import asyncio
from concurrent.futures import Executor

from gralha.broker.fetching.reading import Fetch
from gralha.broker.pipeline import Deferred
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import Subscriber


class LongPoll(Subscriber):
    def __init__(self, fetch: Fetch, readers: Executor) -> None:
        self.fetch = fetch
        self.readers = readers
        self.is_awake: bool = True
        self.deferred = Deferred(self._finish, self._abandon)

    def begin(self) -> Deferred:
        """The first read is over, and was not enough."""
        if self.fetch.is_cold:
            self._read_in_thread()
        else:
            self._wait()
        return self.deferred

    # Reading

    def _read_in_thread(self) -> None:
        task = asyncio.get_running_loop().run_in_executor(self.readers, self.fetch.read, True)
        task.add_done_callback(self._was_read)

    def _was_read(self, task: "asyncio.Future[None]") -> None:
        deferred = self.deferred
        if deferred.done:
            return
        fetch = self.fetch
        try:
            task.result()
            if fetch.is_last_read or fetch.is_enough() or fetch.is_overtaken():
                deferred.resolve(fetch.response(), True)
            else:
                self._wait()
        except BaseException as error:
            deferred.fail(error)

    # Waiting

    def _wait(self) -> None:
        self.is_awake = False
        self.fetch.subscribe(self)
        self.deferred.expire_after(self.fetch.max_wait_ms)

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        """Called while a partition is being written: only note it, and answer when the writer is done.

        Without new bytes the state has changed, or nobody knows how much more there is to read.
        """
        fetch = self.fetch
        if new_bytes > 0:
            fetch.bytes_read += fetch.read_more(partition, new_bytes)
        if not self.is_awake and (new_bytes == 0 or fetch.bytes_read >= fetch.min_bytes):
            self.is_awake = True
            asyncio.get_running_loop().call_soon(self._finish)
        return self.is_awake

    def _finish(self) -> None:
        """Read again and answer. Called by the timer or by a partition, and does its work once."""
        deferred = self.deferred
        fetch = self.fetch
        if deferred.done or fetch.is_last_read:
            return
        self._leave()
        try:
            fetch.begin_last_read()
            fetch.read(False)
            if fetch.is_cold:
                self._read_in_thread()
            else:
                deferred.resolve(fetch.response(), True)
        except Exception as error:
            deferred.fail(error)

    def _leave(self) -> None:
        """Wait no more."""
        self.is_awake = True
        self.fetch.unsubscribe(self)

    def _abandon(self) -> None:
        """The client is gone."""
        self._leave()
        self.fetch.abandoned()
