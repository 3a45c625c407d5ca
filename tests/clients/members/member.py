"""A member of a group that polls by itself, for any Python client.

`Consumer` is the interface of a client. `Member` runs one in its own thread, because most clients may be
called from one thread only. `Watch` collects events until somebody reads them.
"""

from __future__ import annotations

import abc
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from tests.clients.driver import TIMEOUT_S, ClientError

POLL_MS = 50
HEARTBEAT_INTERVAL_MS = 100
METADATA_MAX_AGE_MS = 500

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]


@dataclass(frozen=True)
class Options:
    """How to join: Kafka's settings, and topics or a pattern."""

    group: str
    protocol: str
    topics: list[str] | None
    pattern: str | None
    assignor: str
    instance_id: str | None
    session_timeout_ms: int
    reset: str
    auto_commit: bool


class Watch:
    """The events of a member since the last look."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._assignment: list[Partition] = []
        self._events: list[tuple[str, list[Partition]]] = []
        self._records: list[tuple[str, int, int, str]] = []
        self._error: str | None = None

    def happened(self, event: str, partitions: Iterable[Partition]) -> None:
        with self._lock:
            self._events.append((event, sorted(partitions)))

    def polled(self, assignment: Iterable[Partition], records: Iterable[tuple[str, int, int, bytes]]) -> None:
        with self._lock:
            self._assignment = sorted(assignment)
            self._records += [
                (topic, partition, offset, value.decode()) for topic, partition, offset, value in records
            ]

    def failed(self, error: ClientError) -> None:
        with self._lock:
            self._error = self._error or error.kind

    def look(self) -> dict[str, Any]:
        with self._lock:
            seen = {
                "assignment": self._assignment,
                "events": self._events,
                "records": self._records,
                "error": self._error,
            }
            self._events, self._records = [], []
            return seen


class Consumer(abc.ABC):
    """One consumer of a client library, used by one thread."""

    @abc.abstractmethod
    def poll(self) -> list[tuple[str, int, int, bytes]]:
        """The topic, partition, offset and value of new records. Waits a moment for them."""

    @abc.abstractmethod
    def assignment(self) -> Iterable[Partition]: ...

    @abc.abstractmethod
    def commit(self, offsets: Offsets) -> None: ...

    @abc.abstractmethod
    def seek(self, partition: Partition, offset: int) -> None: ...

    @abc.abstractmethod
    def pause(self, partition: Partition) -> None: ...

    @abc.abstractmethod
    def resume(self, partition: Partition) -> None: ...

    @abc.abstractmethod
    def close(self) -> None: ...


class Member:
    def __init__(self, open_consumer: Callable[[Watch], Consumer]) -> None:
        self.watch = Watch()
        self._open = open_consumer
        self._calls: queue.SimpleQueue[tuple[Callable[[Consumer], None], Future[None]]] = queue.SimpleQueue()
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, call: Callable[[Consumer], None]) -> None:
        """Lets the member's thread do something with its consumer, and waits for it."""
        done: Future[None] = Future()
        self._calls.put((call, done))
        done.result(TIMEOUT_S)

    def leave(self, wait: bool) -> None:
        self._leaving.set()
        if wait:
            self._thread.join(TIMEOUT_S)

    def _run(self) -> None:
        try:
            consumer = self._open(self.watch)
        except ClientError as error:
            self.watch.failed(error)
            return
        try:
            while not self._leaving.is_set():
                self._answer_calls(consumer)
                self._poll(consumer)
        finally:
            consumer.close()

    def _answer_calls(self, consumer: Consumer) -> None:
        while not self._calls.empty():
            call, done = self._calls.get()
            try:
                call(consumer)
                done.set_result(None)
            except Exception as error:
                done.set_exception(error)

    def _poll(self, consumer: Consumer) -> None:
        try:
            records = consumer.poll()
        except ClientError as error:
            self.watch.failed(error)
            time.sleep(POLL_MS / 1000)  # a client that cannot continue reports it again and again
            records = []
        self.watch.polled(consumer.assignment(), records)
