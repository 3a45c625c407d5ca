"""Reads the topic of the registry from its beginning, and then follows it, in a thread of its own.

Only committed records are read. `position` is the offset after the last one, or the end of the log: the
records of aborted transactions count as read when the reader has come past them.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from gralha.registry.errors import store_failed
from gralha.registry.records import Record

_BATCH: Final = 1000
_POLL_S: Final = 0.5
_log: Final = logging.getLogger(__name__)


class Reader:
    """Gives every record to `replay`, on the event loop, in order."""

    def __init__(
        self, settings: Mapping[str, Any], topic: str, group_id: str, replay: Callable[[Record], None]
    ) -> None:
        self.position = 0
        # Done when the topic is not read any more although nobody has stopped the reader.
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._topic = topic
        self._replay = replay
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._stopping = threading.Event()
        self._consumer = Consumer(
            {
                **settings,
                # The group is never used, but librdkafka demands one.
                "group.id": group_id,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 500,
                "fetch.error.backoff.ms": 50,
                "queued.max.messages.kbytes": 4096,
            }
        )
        self._thread = threading.Thread(target=self._run, name="reader", daemon=True)

    def start(self) -> None:
        self._consumer.assign([TopicPartition(self._topic, 0, OFFSET_BEGINNING)])
        self._thread.start()

    async def wait_for(self, offset: int) -> None:
        """Returns when everything before the offset is replayed."""
        if self.position >= offset:
            return
        future: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((offset, future))
        await future

    async def stop(self) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, 5.0)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                # `consume` alone would wait until the batch is full.
                first = self._consumer.poll(_POLL_S)
                if first is not None and not self._stopping.is_set():
                    rest = self._consumer.consume(_BATCH, 0.0)
                    self._loop.call_soon_threadsafe(self._deliver, [first, *rest])
        except (KafkaException, RuntimeError) as error:
            # A RuntimeError is that of an event loop that is closed.
            if not self._stopping.is_set():
                self._loop.call_soon_threadsafe(self._fail, f"The topic {self._topic}: {error}")
        finally:
            self._consumer.close()

    def _fail(self, reason: str) -> None:
        if not self.failed.done():
            self.failed.set_exception(store_failed(reason))

    def _deliver(self, messages: Sequence[Any]) -> None:
        for message in messages:
            error = message.error()
            if error is None:
                _, timestamp_ms = message.timestamp()
                if message.key() is not None:
                    self._replay(Record(message.key(), message.value(), timestamp_ms))
                self.position = message.offset() + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self.position = max(self.position, message.offset())
            else:
                _log.warning("Reading the topic %s: %s", self._topic, error.str())
        due = [future for offset, future in self._waiting if offset <= self.position]
        self._waiting = [one for one in self._waiting if one[0] > self.position]
        for future in due:
            if not future.done():
                future.set_result(None)
