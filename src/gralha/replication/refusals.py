"""Idempotent batches that follow a refused one: they are refused in the same way.

A producer has up to five batches of a partition under way. Suppose that the first ones are refused with an
error after which the producer tries again: this broker does not lead yet, too few replicas are in sync, the
disk is full. If the reason goes away just then, the next batch would be out of sequence. Apache Kafka answers
so. librdkafka then takes a new producer id and sends all of its batches again with that. Batches that the
leader before this one had written, without acknowledging them, are in the log twice after that. If the
partition knows nothing of the producer it is worse: it would take the later batch for the producer's first.

So a batch that begins where a refused one ended, and not where the log is, gets the error of the refused one.
The producer then sends the whole row again, from its start. That happens to each batch once. A batch that is
still out of sequence is answered as Kafka does.
"""

from typing import Final, NamedTuple

from gralha.protocol.batches import HEADER_SIZE, increment_sequence, read_header
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import BatchHeader
from gralha.storage.log import Log

# A row is forgotten when its producer goes on, or after a while. If there are too many, the oldest go first.
ROWS_MAX: Final = 10_000

# Errors whose reason goes away by itself.
FOR_NOW: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)

# Producer id, topic (as the request names it) and partition.
Key = tuple[int, str | bytes, int]


class Row(NamedTuple):
    """Batches that were refused, in their order.

    `turn` is the time of the last one, in turns of `forget_old`.
    """

    producer_epoch: int
    next_sequence: int
    error_code: int
    turn: int


class Refusals:
    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        self._turn = 0

    def note(self, topic: str | bytes, index: int, records: RecordBytes | None, error_code: int) -> None:
        """A batch is refused with an error after which the producer sends it again as it is."""
        header = _idempotent(records) if error_code in FOR_NOW else None
        if header is None:
            return
        key = (int(header.producer_id), topic, index)
        self.rows.pop(key, None)
        next_sequence = int(increment_sequence(header.last_sequence, 1))
        self.rows[key] = Row(int(header.producer_epoch), next_sequence, error_code, self._turn)
        if len(self.rows) > ROWS_MAX:
            del self.rows[next(iter(self.rows))]

    def forget_old(self) -> None:
        """Forget producers that have not come back since the call before. Called every few seconds."""
        self._turn += 1
        self.rows = {key: row for key, row in self.rows.items() if row.turn >= self._turn - 1}

    def check(self, topic: str | bytes, index: int, records: RecordBytes, log: Log) -> None:
        """Raise the error of the batch before, if that was refused and is not in the log."""
        header = _idempotent(records)
        if header is None:
            return
        key = (int(header.producer_id), topic, index)
        row = self.rows.get(key)
        if row is None or row.next_sequence != header.base_sequence:
            return
        if row.producer_epoch != header.producer_epoch or log.producers.is_next(header):
            del self.rows[key]
        else:
            raise error_for(row.error_code)


def _idempotent(records: RecordBytes | None) -> BatchHeader | None:
    """The header of an idempotent batch; None for other batches."""
    if records is None or records.size() < HEADER_SIZE:
        return None
    try:
        header = read_header(records.data, records.start)
    except KafkaError:
        return None
    return header if header.has_producer_id and not header.is_control else None
