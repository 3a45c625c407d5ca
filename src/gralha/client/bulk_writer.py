"""Writes Arrow batches to topics as records, without a Python object per row. It is an idempotent producer.

```python
with BulkWriter(ClientSettings("localhost:9092"), topic="sales") as writer:
    writer.write(batch)          # a pyarrow.RecordBatch: value, and key, headers, topic, partition
    writer.flush()
    writer.report                # what was written, and at which offsets
```

Bytes flow like this: `arrow_rows` gives the buffers of the columns. `record_builder` (compiled) appends rows
to the batches of their partitions. `producing` sends the batches. A full batch is sent while others are
filled. `flush` sends the rest and returns when the cluster has everything.

With a transactional id all rows since the last `commit` or `abort` are one transaction. Another process can
end it, too: after `flush` it needs no more than `transaction`.

After an error the writer can only `abort`. Rows that are not in the report may or may not have been written.
"""

import random
import time
from collections.abc import Callable
from typing import NamedTuple, Self

import pyarrow as pa

from gralha.client.arrow_rows import (
    binary_column,
    check_columns,
    header_columns,
    partition_numbers,
    picked,
    topic_numbers,
)
from gralha.client.cluster import Cluster
from gralha.client.denials import how_to_allow
from gralha.client.errors import ClientError, RowsError, SettingsError
from gralha.client.producer_batches import halves_of, new_producer_id
from gralha.client.producing import ProducedBatch, Sender, undelivered
from gralha.client.record_builder import (
    NoSuchPartitionError,
    RecordBuilder,
    RowColumns,
    RowRouter,
    RowTooLargeError,
    TopicRoute,
)
from gralha.client.settings import ClientSettings
from gralha.client.transaction_state import TransactionHandle, TransactionState
from gralha.client.transactional_calls import LAST_V1_PRODUCE, TransactionalCalls
from gralha.client.values import TopicPartition
from gralha.protocol.batches import NO_PRODUCER_ID, NO_SEQUENCE, increment_sequence
from gralha.protocol.compression import NAMES as COMPRESSIONS
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.metadata import MetadataResponseTopic


class WrittenOffsets(NamedTuple):
    """The first and the last offset of the written records of one partition. -1 if they are not known."""

    first: int
    last: int


class WriteReport(NamedTuple):
    """The records that the cluster has acknowledged so far."""

    records: int
    size_bytes: int
    offsets: dict[TopicPartition, WrittenOffsets]
    producer_id: int
    producer_epoch: int


class BulkWriter:
    """Writes rows. Use it from one thread. It connects when it is used for the first time.

    With `waits_for_first_answer` it waits up to delivery.timeout.ms for a cluster that does not answer, even
    if the cluster was never reached. Transactions get `transaction_timeout_ms`, or the longest timeout that
    the brokers allow. With `two_phase_commit` they have none (KIP-939).
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        topic: str | None = None,
        waits_for_first_answer: bool = False,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        two_phase_commit: bool = False,
        chooser: random.Random | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if transactional_id is not None and not settings.enable_idempotence:
            raise SettingsError(
                "Transactions need acks=all and enable.idempotence=true: change one of these."
            )
        self._settings = settings
        self._topic = topic
        self._transactional_id = transactional_id
        self._transaction_timeout_ms = transaction_timeout_ms
        self._two_phase_commit = two_phase_commit
        self._transaction: TransactionState | None = None
        self._chooser = chooser or random.Random()
        self._clock = clock
        self._cluster = Cluster.of(
            settings,
            api_timeout_ms=settings.delivery_timeout_ms,
            waits_for_first_answer=waits_for_first_answer,
            sleep=sleep,
        )
        self._sender = Sender(self._cluster, settings, self._delivered, self._split, sleep)
        self._router = RowRouter(settings.batch_size, settings.max_request_size)
        self._routes: dict[str, int] = {}
        self._sequences: dict[TopicPartition, int] = {}
        self._codec = COMPRESSIONS.index(settings.compression_type)
        self._producer_id = NO_PRODUCER_ID
        self._producer_epoch = -1
        self._records = 0
        self._size_bytes = 0
        self._offsets: dict[TopicPartition, WrittenOffsets] = {}
        self._failure: ClientError | None = None
        self._schema: pa.Schema | None = None

    @property
    def report(self) -> WriteReport:
        """The acknowledged records. After `flush` these are all."""
        return WriteReport(
            self._records, self._size_bytes, dict(self._offsets), self._producer_id, self._producer_epoch
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Writes the rows of a batch. Most are sent at once, the rest by `flush`."""
        self._guarded(lambda: self._write(batch))

    def flush(self) -> None:
        """Sends the remaining rows and waits until the cluster has acknowledged everything."""
        self._guarded(self._flush)

    def begin(self) -> None:
        """Becomes the owner of the transactional id and fences an earlier owner. `write` does it, too."""
        self._guarded(self._begin)

    @property
    def transaction(self) -> TransactionHandle | None:
        """The open transaction. None if nothing was written since the last one ended."""
        state = self._transaction
        return state.handle if state is not None and state.has_begun else None

    @property
    def identity(self) -> TransactionHandle:
        """The producer id and the epoch of the transactional id, also without an open transaction."""
        assert self._transaction is not None
        return self._transaction.handle

    def prepare(self) -> TransactionHandle | None:
        """Flushes. Returns the handle with which the transaction can be ended later, also by another process.

        A transaction of a two-phase commit waits for that without a timeout. Returns None if nothing was
        written. Write nothing more before the transaction has ended.
        """
        self._guarded(self._flush)
        return self.transaction

    def commit(self) -> None:
        """Flushes and commits. All rows since the last commit become visible together."""
        self._guarded(self._flush)
        self._guarded(lambda: self._end(committed=True))

    def abort(self) -> None:
        """Aborts the transaction, also after an error. No reader of committed records sees its rows.

        The rows that were not sent are dropped. The next write begins with a new epoch, because some sequence
        numbers may not have arrived.
        """
        self._sender.abandon()
        for route in self._router.routes:
            for builder in route.builders:
                builder.clear()
        self._end(committed=False)
        self._producer_id = NO_PRODUCER_ID
        self._transaction = None
        self._failure = None

    def close(self) -> None:
        """Closes the connections. Rows that were not flushed are lost, and an open transaction stays open."""
        self._sender.close()
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _guarded(self, action: Callable[[], None]) -> None:
        """Refuses to write after an error, because a gap in the rows would look like success."""
        if self._failure is not None:
            raise ClientError(f"The writer has failed earlier: {self._failure}") from self._failure
        try:
            action()
        except ClientError as error:
            self._failure = error
            raise
        except KafkaError as error:
            self._failure = undelivered(None, None, error.code, f"{error}{self._advice(error.code)}")
            raise self._failure from error
        except pa.ArrowException as error:
            self._failure = RowsError(f"The rows cannot be written as records: {error}")
            raise self._failure from error

    def _advice(self, code: int) -> str:
        """A producer gets its id if it may write to any topic."""
        if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return how_to_allow(code, self._topic or "TOPIC", "WRITE", self._settings.security)

    # Rows

    def _write(self, batch: pa.RecordBatch) -> None:
        if batch.schema is not self._schema:
            check_columns(batch.schema, self._topic is not None)
            self._schema = batch.schema
        if batch.num_rows == 0:
            return
        self._begin()
        rows = self._rows(batch)
        now_ms = int(self._clock() * 1000)
        row = 0
        try:
            while row < batch.num_rows:
                row = self._router.append(rows, row, now_ms)
                full = self._router.full
                if full is not None:
                    self._seal(full)
                    self._move_on(self._router.full_route)
        except (NoSuchPartitionError, RowTooLargeError) as error:
            raise RowsError(str(error)) from error
        self._relieve()

    def _rows(self, batch: pa.RecordBatch) -> RowColumns:
        names = batch.schema.names

        def column(name: str) -> pa.Array:
            return batch.column(names.index(name)) if name in names else None

        key, headers, partitions = column("key"), column("headers"), column("partition")
        return RowColumns(
            batch.num_rows,
            None if key is None or key.null_count == len(key) else binary_column(key),
            binary_column(column("value")),
            None if headers is None else header_columns(headers),
            b"" if partitions is None else partition_numbers(partitions),
            self._topic_column(column("topic")),
        )

    def _topic_column(self, topics: pa.Array) -> bytes:
        """The index of each row's topic in the router. The option `topic` overrides the column."""
        if self._topic is not None:
            self._route(self._topic)
            return b""
        names, numbers = topic_numbers(topics)
        places = b"".join(self._route(name).to_bytes(4, "little") for name in names)
        return picked(places, numbers)

    def _route(self, topic: str) -> int:
        """The index of a topic in the router. Asks for its partitions if the topic is new."""
        place = self._routes.get(topic)
        if place is not None:
            return place
        try:
            found = self._cluster.once(lambda: self._describe(topic))
        except KafkaError as error:
            advice = how_to_allow(error.code, topic, "WRITE", self._settings.security)
            raise undelivered(topic, None, error.code, f"{error}{advice}") from error
        builders = [RecordBuilder(topic, partition) for partition in range(len(found.partitions))]
        self._sender.learn_topic(topic, found.topic_id)
        route = TopicRoute(topic, builders)
        self._router.routes.append(route)
        place = self._routes[topic] = len(self._routes)
        self._move_on(route)
        return place

    def _describe(self, topic: str) -> MetadataResponseTopic:
        for found in self._cluster.metadata([topic], create=True).topics:
            if found.error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION):
                self._unknown_topic(topic, found.error_code)
            if found.error_code != ErrorCode.NONE:
                raise error_for(found.error_code)
            if found.partitions:
                return found
        raise error_for(ErrorCode.LEADER_NOT_AVAILABLE)

    def _move_on(self, route: TopicRoute | None) -> None:
        """Rows without a key fill a batch of one partition, then go to another partition."""
        if route is not None and len(route.builders) > 1:
            others = [number for number in range(len(route.builders)) if number != route.sticky]
            route.sticky = self._chooser.choice(others)

    # Batches

    def _seal(self, builder: RecordBuilder) -> None:
        """Finishes the batch of a builder, and sends if there is enough for a request."""
        partition = TopicPartition(builder.topic, builder.partition)
        count = builder.count
        sequence = NO_SEQUENCE
        if self._transaction is not None:
            self._add_partitions(self._transaction, partition)
            sequence = self._transaction.next_sequence(partition, count)
        elif self._settings.enable_idempotence:
            sequence = self._sequences.get(partition, 0)
            self._sequences[partition] = increment_sequence(sequence, count)
        data = builder.finish(
            self._codec,
            self._settings.compression_level,
            self._producer_id,
            self._producer_epoch,
            sequence,
            self._transaction is not None,
        )
        deadline = time.monotonic() + self._settings.delivery_timeout_ms / 1000
        self._sender.add(partition, ProducedBatch(data, count, deadline))
        if self._sender.waiting_bytes >= self._settings.max_request_size:
            self._sender.pump()
        # While a leader is away, this waits, so that batches do not fill the memory.
        self._sender.make_room(self._settings.buffer_memory)

    def _relieve(self) -> None:
        """Sends finished batches. If unfinished ones need more than buffer.memory, these are sent, too."""
        builders = [builder for route in self._router.routes for builder in route.builders]
        if sum(builder.size_bytes() for builder in builders) > self._settings.buffer_memory:
            self._seal_all(builders)
        self._sender.pump()

    def _flush(self) -> None:
        self._seal_all([builder for route in self._router.routes for builder in route.builders])
        self._sender.drain()

    def _seal_all(self, builders: list[RecordBuilder]) -> None:
        for builder in builders:
            if builder.count > 0:
                self._seal(builder)

    def _delivered(self, partition: TopicPartition, batch: ProducedBatch) -> None:
        self._records += batch.count
        self._size_bytes += len(batch.data)
        if batch.base_offset < 0:
            self._offsets.setdefault(partition, WrittenOffsets(-1, -1))
            return
        first = self._offsets.get(partition, WrittenOffsets(-1, -1)).first
        self._offsets[partition] = WrittenOffsets(
            batch.base_offset if first < 0 else first, batch.base_offset + batch.count - 1
        )

    def _split(self, batch: ProducedBatch) -> list[ProducedBatch]:
        return halves_of(batch, self._codec, self._settings.compression_level)

    # Producer ids and transactions

    def _begin(self) -> None:
        if self._producer_id != NO_PRODUCER_ID:
            return
        if self._transactional_id is not None:
            self._init_transactions(self._transactional_id)
        elif self._settings.enable_idempotence:
            response = new_producer_id(self._cluster)
            self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch

    def _init_transactions(self, transactional_id: str) -> None:
        calls = TransactionalCalls(self._cluster)
        is_v2 = calls.uses_v2()
        timeout_ms = self._transaction_timeout_ms or calls.max_timeout_ms()
        identity = calls.init_producer_id(
            transactional_id, timeout_ms, enables_two_phase_commit=self._two_phase_commit
        )
        self._transaction = TransactionState(transactional_id, identity, is_v2=is_v2)
        self._sender.use_transactions(transactional_id, None if is_v2 else LAST_V1_PRODUCE)
        self._producer_id, self._producer_epoch = identity

    def _add_partitions(self, transaction: TransactionState, partition: TopicPartition) -> None:
        """Adds a partition to the transaction, and with it all others that have rows."""
        if transaction.to_add([partition]):
            with_rows = [
                TopicPartition(one.topic, one.partition)
                for route in self._router.routes
                for one in route.builders
                if one.count > 0
            ]
            missing = transaction.to_add(with_rows)
            TransactionalCalls(self._cluster).add_partitions(transaction.handle, missing)
            transaction.added(missing)

    def _end(self, *, committed: bool) -> None:
        handle = self.transaction
        if self._transaction is None or handle is None:
            return
        identity = TransactionalCalls(self._cluster).end_transaction(handle, committed=committed)
        if identity != self._transaction.identity:
            self._sender.begin_new_epoch()
        self._transaction.ended(identity)
        self._producer_id, self._producer_epoch = identity

    def _unknown_topic(self, topic: str, code: int) -> None:
        raise error_for(
            code,
            f"The topic {topic} does not exist and was not created automatically. Create it with: "
            f"kafka-topics --bootstrap-server {self._settings.bootstrap_servers} --create --topic {topic}",
        )
