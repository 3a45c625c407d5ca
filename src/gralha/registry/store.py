"""Writes to the topic of the registry, as the leader, and waits until the records are read back.

All instances write with the same transactional id. The one that initialises it last fences the others, so a
leader that was paused cannot write any more, even if it believes that it still leads. A write is one
transaction: its records are read all or none.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaError, KafkaException, Producer

from gralha.client.errors import ClientError
from gralha.client.errors import KafkaError as BrokerError
from gralha.client.settings import ClientSettings
from gralha.registry import errors
from gralha.registry.reader import Reader
from gralha.registry.records import Record
from gralha.registry.state import RegistryState
from gralha.registry.topic import SchemasTopic

Result = TypeVar("Result")
_FENCED: Final = (
    *(KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED),
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
)
_log: Final = logging.getLogger(__name__)


class FencedError(Exception):
    """Another instance writes now. This write may have taken effect, if it was about to be committed."""


class Store:
    """The topic, as one instance reads and writes it."""

    def __init__(
        self,
        state: RegistryState,
        settings: ClientSettings,
        librdkafka: Mapping[str, Any],
        *,
        topic: str,
        group_id: str,
        replication_factor: int = 3,
        timeout_ms: int = 5_000,
    ) -> None:
        self.state = state
        self.topic = SchemasTopic(settings, topic, replication_factor)
        self.cluster_id = ""
        self._librdkafka = {"log_level": 3, **librdkafka}
        self.group_id = group_id
        self._timeout_s = timeout_ms / 1000
        self._producer: Producer | None = None
        self._reader: Reader | None = None
        # One thread, because the calls belong to one producer, in order.
        self._thread = ThreadPoolExecutor(1, "store")

    @property
    def transactional_id(self) -> str:
        return f"{self.group_id}-{self.topic.name}"

    @property
    def position(self) -> int:
        return 0 if self._reader is None else self._reader.position

    async def start(self) -> None:
        """Reads the topic up to its end. Creates it if needed."""
        await self._in_thread(self.topic.prepare)
        self.cluster_id = await self._in_thread(self.topic.cluster_id)
        self._reader = Reader(self._librdkafka, self.topic.name, f"{self.group_id}-reader", self.state.replay)
        self._reader.start()
        await self.catch_up()

    async def reading(self) -> None:
        """Never returns. Raises RegistryError if the topic cannot be read any more."""
        assert self._reader is not None
        await self._reader.failed

    async def lead(self) -> None:
        """Fences other writers, and reads what they have written."""
        self._producer = None
        self._producer = await self._in_thread(partial(_as_kafka_exception, self._new_producer))
        await self.catch_up()

    async def catch_up(self) -> None:
        """Waits until everything is read that is committed now."""
        end = await self._in_thread(self.topic.end_offset)
        await self._read_to(end)

    async def write(self, records: Sequence[Record]) -> None:
        """Writes the records and waits until they are read back.

        Raises FencedError if another instance writes now, and RegistryError if the write failed or if it is
        not known whether it took effect. After either of them `lead` must be called before the next write.
        """
        producer = self._producer
        if producer is None:
            raise FencedError
        try:
            last = await self._in_thread(partial(_as_kafka_exception, self._commit, producer, records))
        except KafkaException as error:
            self._producer = None
            reason = error.args[0]
            if reason.code() in _FENCED:
                raise FencedError from None
            if reason.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                raise errors.schema_too_large(
                    "Register operation failed because schema is too large"
                ) from None
            _log.error("Writing to the topic %s failed: %s", self.topic.name, reason.str())
            raise errors.store_failed(f"Writing to the Kafka store failed: {reason.str()}") from None
        await self._read_to(last + 1)

    async def close(self) -> None:
        if self._reader is not None:
            await self._reader.stop()
        self._producer = None
        self.topic.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _read_to(self, offset: int) -> None:
        assert self._reader is not None
        try:
            await asyncio.wait_for(self._reader.wait_for(offset), self._timeout_s * 6)
        except TimeoutError:
            raise errors.timed_out("The Kafka store did not return the records in time") from None

    def _new_producer(self) -> Producer:
        producer = Producer(
            {
                **self._librdkafka,
                # Being fenced is no news for a terminal, and other errors are raised.
                "log_level": 0,
                "transactional.id": self.transactional_id,
                "transaction.timeout.ms": 10_000,
                "linger.ms": 0,
                "message.max.bytes": 100_000_000,
                "retry.backoff.ms": 20,
            }
        )
        producer.init_transactions(self._timeout_s * 6)
        return producer

    def _commit(self, producer: Producer, records: Sequence[Record]) -> int:
        """Writes the records in a transaction. Returns the last offset."""
        offsets: list[int] = []
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is None:
                offsets.append(message.offset())
            else:
                failures.append(error)

        producer.begin_transaction()
        for key, value, _ in records:
            producer.produce(self.topic.name, key=key, value=value, partition=0, on_delivery=delivered)
        producer.flush(self._timeout_s)
        if failures:
            producer.abort_transaction(self._timeout_s)
            raise KafkaException(failures[0])
        producer.commit_transaction(self._timeout_s * 2)
        return max(offsets)

    async def _in_thread(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def _as_kafka_exception(call: Callable[..., Result], *arguments: Any) -> Result:
    """Calls librdkafka. Raises only KafkaException.

    After a fatal error confluent-kafka may raise a SystemError that hides the KafkaException, or a
    KafkaError, which is no exception of Python, so that only a bare except catches it.
    """
    try:
        return call(*arguments)
    except KafkaException:
        raise
    except SystemError as error:
        hidden = error.__cause__ or error.__context__
        if isinstance(hidden, KafkaException):
            raise hidden from None
        raise
    except Exception:
        raise
    except:  # noqa: E722
        fatal = sys.exc_info()[1]
        if isinstance(fatal, KeyboardInterrupt | SystemExit):
            raise
        raise KafkaException(fatal) from None


StoreFailure: Final = (KafkaException, ClientError, BrokerError)
