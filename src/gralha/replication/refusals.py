"""Rows of idempotent batches: who follows one that was refused for now is refused for now as well.

A producer has up to five batches of a partition under way. If the first ones are refused with an error that
makes it try again (this broker does not lead yet, too few replicas are in sync, the disk is full), and
the reason goes away just then, the next one would be out of sequence. Apache Kafka answers so, and librdkafka
then takes a new producer id and sends all of them again with that: those that are in the log already, since
the leader before wrote them and lost the lead before it could tell, are in the log twice. Where the partition
knows nothing of the producer it is worse: the later batch would be taken as its first one.

So a batch that begins where a refused one ended, and not where the log is, gets the error of that one, and
the producer sends the whole row again, from its start. That happens to each batch once: what stays out of
sequence then is answered as Kafka does.
"""

from typing import Final, NamedTuple

from gralha.protocol.batches import HEADER_SIZE, increment_sequence, read_header
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import BatchHeader
from gralha.storage.log import Log

# A row is forgotten when its producer goes on, or after a while; if there are too many, the oldest go first.
ROWS_MAX: Final = 10_000

# The reasons that go away by themselves.
FOR_NOW: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)

# By producer id, topic (as the request names it) and partition.
Key = tuple[int, str | bytes, int]


class Row(NamedTuple):
    """Batches that were refused: of which epoch, where the next one would begin, why, and when."""

    producer_epoch: int
    next_sequence: int
    error_code: int
    turn: int


class Refusals:
    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        self._turn = 0

    def note(self, topic: str | bytes, index: int, records: RecordBytes | None, error_code: int) -> None:
        """A batch is refused. What counts is that it will be sent again as it is."""
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
        """Called every few seconds: a producer that has not come back since the call before is gone."""
        self._turn += 1
        self.rows = {key: row for key, row in self.rows.items() if row.turn >= self._turn - 1}

    def check(self, topic: str | bytes, index: int, records: RecordBytes, log: Log) -> None:
        """Raise the error of the one before, if that was refused and is not in the log."""
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
    """The header of a batch that has a place in a row."""
    if records is None or records.size() < HEADER_SIZE:
        return None
    try:
        header = read_header(records.data, records.start)
    except KafkaError:
        return None
    return header if header.has_producer_id and not header.is_control else None
