"""The loop of kafka-producer-perf-test. It is fast enough to measure the broker and not itself.

Values come in slices: Arrow-like columns, which the compiled `RowRouter` turns into record batches without a
Python object per record. All records of a batch are acknowledged at once, so the latency of a record begins
when its batch was begun. A slice has at most a thousand records, and a batch waits at most linger.ms.

With transactions, a slice is written to one transaction. The first slice that ends after the duration of a
transaction is its last one.
"""

import itertools
import random
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gralha.cli.connect import creation_warning
from gralha.cli.perf_statistics import Deliveries, Throttle
from gralha.cli.program import CommandError
from gralha.client.cluster import Cluster
from gralha.client.producer_batches import halves_of, new_producer_id
from gralha.client.producing import ProducedBatch, Sender
from gralha.client.record_builder import (
    BinaryColumn,
    RecordBuilder,
    RowColumns,
    RowRouter,
    RowTooLargeError,
    TopicRoute,
)
from gralha.client.settings import ClientSettings
from gralha.client.transaction_state import TransactionState
from gralha.client.transactional_calls import LAST_V1_PRODUCE, TransactionalCalls
from gralha.client.values import TopicPartition
from gralha.protocol.batches import NO_PRODUCER_ID, NO_SEQUENCE, increment_sequence
from gralha.protocol.compression import NAMES as COMPRESSIONS
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.messages.metadata import MetadataResponseTopic

SLICE_RECORDS: Final = 1000
POOL_RECORDS: Final = 8 * SLICE_RECORDS
SLICE_BYTES: Final = 4 << 20
# How long to wait for answers at most, so that Ctrl-C and a new slice are never late.
WAIT_SECONDS_MAX: Final = 0.05


class Values:
    """The values of a slice: the column for the router, and where each value begins."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self.starts = [0, *itertools.accumulate(map(len, values))]
        offsets = array("i", self.starts)
        if sys.byteorder == "big":
            offsets.byteswap()
        self.count = len(values)
        self.rows = RowColumns(
            len(values), None, BinaryColumn(b"".join(values), offsets.tobytes(), b""), None, b"", b""
        )


def numbers(first: int, count: int) -> tuple[Values, int]:
    """The values of --payload-monotonic."""
    return Values([b"%d" % number for number in range(first, first + count)]), 0


def random_values(choices: Sequence[bytes], generator: random.Random) -> Values:
    """A pool of values, chosen at random. It is used again and again."""
    longest = max(map(len, choices))
    return Values(generator.choices(choices, k=max(1, min(POOL_RECORDS, SLICE_BYTES // max(longest, 1)))))


class TimedBatch(ProducedBatch):
    """A batch that knows when it was begun, and the size of its values."""

    def __init__(self, batch: ProducedBatch, began: float, value_bytes: int) -> None:
        super().__init__(batch.data, batch.count, batch.deadline)
        self.began = began
        self.value_bytes = value_bytes


class Transactions(NamedTuple):
    """The transactions of a test."""

    transactional_id: str
    timeout_ms: int
    duration_ms: int


class _Open:
    """A batch that is being filled."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.value_bytes = 0


class Load:
    """Writes slices of records to a topic, and reports each batch that was acknowledged."""

    def __init__(
        self,
        settings: ClientSettings,
        topic: str,
        linger_ms: float,
        report: Callable[[TimedBatch], None],
        transactions: Transactions | None = None,
    ) -> None:
        self._settings = settings
        self._transactions = transactions
        self._transaction: TransactionState | None = None
        self._transaction_began = 0.0
        self._topic = topic
        self._linger_seconds = linger_ms / 1000
        self._report = report
        self._codec = COMPRESSIONS.index(settings.compression_type)
        self._cluster = Cluster.of(settings, api_timeout_ms=settings.delivery_timeout_ms)
        self._sender = Sender(self._cluster, settings, self._delivered, self._halves)
        self._router = RowRouter(settings.batch_size, settings.max_request_size)
        self._sequences: dict[int, int] = {}
        self._open: dict[int, _Open] = {}
        self._producer = (NO_PRODUCER_ID, -1)
        self._route = TopicRoute(topic, [])

    def connect(self) -> None:
        """Finds the topic, which the broker may create, and gets a producer id."""
        existing = {topic.name or "" for topic in self._cluster.once(self._all_topics)}
        found = self._cluster.once(self._describe)
        if self._topic not in existing:
            print(creation_warning(self._topic, existing), file=sys.stderr, flush=True)
        self._sender.learn_topic(self._topic, found.topic_id)
        builders = [RecordBuilder(self._topic, number) for number in range(len(found.partitions))]
        self._route = TopicRoute(self._topic, builders)
        self._router.routes.append(self._route)
        if self._transactions is not None:
            self._init_transactions(self._transactions)
        elif self._settings.enable_idempotence:
            response = new_producer_id(self._cluster)
            self._producer = (response.producer_id, response.producer_epoch)

    def _init_transactions(self, transactions: Transactions) -> None:
        calls = TransactionalCalls(self._cluster)
        is_v2 = calls.uses_v2()
        name = transactions.transactional_id
        self._producer = identity = calls.init_producer_id(name, transactions.timeout_ms)
        self._transaction = TransactionState(name, identity, is_v2=is_v2)
        self._sender.use_transactions(name, None if is_v2 else LAST_V1_PRODUCE)

    def _all_topics(self) -> list[MetadataResponseTopic]:
        return self._cluster.metadata(None).topics

    def _describe(self) -> MetadataResponseTopic:
        for found in self._cluster.metadata([self._topic], create=True).topics:
            if found.error_code != ErrorCode.NONE:
                raise error_for(found.error_code)
            if found.partitions:
                return found
        raise error_for(ErrorCode.LEADER_NOT_AVAILABLE)

    def write(self, values: Values, row: int, end: int) -> None:
        """Appends the values from one row to another. Full batches are sent."""
        self._transaction_began = self._transaction_began or time.monotonic()
        rows = values.rows
        rows.count = end
        while row < end:
            number = self._route.sticky
            before = row
            try:
                row = self._router.append(rows, row, int(time.time() * 1000))
            except RowTooLargeError:
                raise CommandError(
                    f"A record is larger than max.request.size={self._settings.max_request_size}. Write "
                    "smaller records, or raise the limit with --command-property max.request.size=N"
                ) from None
            if row > before:
                batch = self._open.setdefault(number, _Open(time.monotonic()))
                batch.value_bytes += values.starts[row] - values.starts[before]
            if self._router.full is not None:
                self._seal(number)
                self._route.sticky = (number + 1) % len(self._route.builders)
        self._sender.make_room(self._settings.buffer_memory)

    def work(self, wait_seconds: float) -> None:
        """Sends what is due, and reads answers. Waits for answers at most this long."""
        now = time.monotonic()
        for number, batch in list(self._open.items()):
            if now - batch.began >= self._linger_seconds:
                self._seal(number)
        self._sender.pump()
        self._sender.receive_answers(min(wait_seconds, self._linger_seconds or wait_seconds))

    def finish(self) -> None:
        """Sends the rest and waits until everything is acknowledged."""
        for number in list(self._open):
            self._seal(number)
        self._sender.drain()

    def commit_if_due(self) -> None:
        """Commits the transaction if it has lasted for its duration."""
        if self._transactions is not None and self._transaction_began:
            lasted_ms = (time.monotonic() - self._transaction_began) * 1000
            if lasted_ms >= self._transactions.duration_ms:
                self.commit()

    def commit(self) -> None:
        """Commits the transaction, if there is one with records."""
        if self._transaction is not None and self._transaction_began:
            self.finish()
            self._end(self._transaction, committed=True)

    def abort(self) -> None:
        """Aborts the transaction, so that it does not stay open until its timeout."""
        if self._transaction is not None and self._transaction.has_begun:
            self._sender.abandon()
            self._end(self._transaction, committed=False)

    def _end(self, transaction: TransactionState, *, committed: bool) -> None:
        calls = TransactionalCalls(self._cluster)
        identity = calls.end_transaction(transaction.handle, committed=committed)
        if identity != transaction.identity:
            self._sender.begin_new_epoch()
        transaction.ended(identity)
        self._producer = identity
        self._transaction_began = 0.0

    def close(self) -> None:
        self._sender.close()
        self._cluster.close()

    def _seal(self, number: int) -> None:
        batch = self._open.pop(number)
        builder = self._route.builders[number]
        count = builder.count
        sequence = self._next_sequence(number, count)
        data = builder.finish(
            self._codec,
            self._settings.compression_level,
            *self._producer,
            sequence,
            self._transaction is not None,
        )
        deadline = time.monotonic() + self._settings.delivery_timeout_ms / 1000
        produced = TimedBatch(ProducedBatch(data, count, deadline), batch.began, batch.value_bytes)
        self._sender.add(TopicPartition(self._topic, number), produced)

    def _next_sequence(self, number: int, count: int) -> int:
        """The first sequence number of a batch of a partition. Adds the partition to the transaction (v1)."""
        transaction = self._transaction
        if transaction is not None:
            partition = TopicPartition(self._topic, number)
            missing = transaction.to_add([partition])
            if missing:
                TransactionalCalls(self._cluster).add_partitions(transaction.handle, missing)
                transaction.added(missing)
            return transaction.next_sequence(partition, count)
        if not self._settings.enable_idempotence:
            return NO_SEQUENCE
        sequence = self._sequences.get(number, 0)
        self._sequences[number] = increment_sequence(sequence, count)
        return sequence

    def _delivered(self, _partition: TopicPartition, batch: ProducedBatch) -> None:
        assert isinstance(batch, TimedBatch)
        self._report(batch)

    def _halves(self, batch: ProducedBatch) -> list[ProducedBatch]:
        assert isinstance(batch, TimedBatch)
        share = batch.value_bytes // 2
        first, second = halves_of(batch, self._codec, self._settings.compression_level)
        return [
            TimedBatch(first, batch.began, share),
            TimedBatch(second, batch.began, batch.value_bytes - share),
        ]


def run_load(
    load: Load,
    slices: Callable[[int, int], tuple[Values, int]],
    records: int,
    throughput: float,
    warmup: int,
    end_of_warmup: Callable[[], None],
) -> None:
    """Writes this many records, at most `throughput` a second.

    `slices` gets the number of the next record and how many are due. It gives values and the first row.
    """
    throttle = Throttle(throughput)
    sent = 0
    while sent < records:
        limit = warmup if sent < warmup else records
        due = min(throttle.due(sent), SLICE_RECORDS, limit - sent)
        if due > 0:
            values, row = slices(sent, due)
            count = min(due, values.count - row)
            load.write(values, row, row + count)
            sent += count
            if sent == warmup:
                # Earlier records count only for the whole test.
                load.finish()
                end_of_warmup()
        load.commit_if_due()
        load.work(0 if due > 0 else min(WAIT_SECONDS_MAX, throttle.seconds_until(sent)))
    load.finish()
    load.commit()


def delivery_of(batch: TimedBatch) -> Deliveries:
    """The statistics of an acknowledged batch."""
    latency_ms = int((time.monotonic() - batch.began) * 1000)
    return Deliveries(batch.count, batch.value_bytes, latency_ms)
