"""Appends a coordinator's records to its partition. Errors of the log become answers here and nowhere else.

An append that fails is one of two things:

    refused   The log says why, with a KafkaError: a full disk, too few in-sync replicas, a record that is too
              large, lost leadership. Nothing was written, and the state stays as it was.
    broken    Any other exception. Nobody knows whether the records are in the log, so the state has to be
              loaded again from there. A failed sync is such a case; it ends the broker as well.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, Generic

from gralha.coordination.decision import Record
from gralha.coordination.producer import EndMarker, Producer
from gralha.coordination.shard import Codec
from gralha.protocol.errors import (
    ErrorCode,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownServerError,
    error_for,
)
from gralha.protocol.primitives import ProtocolError, RecordBytes
from gralha.protocol.records import Record as StoredRecord
from gralha.protocol.records import encode_batch
from gralha.replication.leading import Leading
from gralha.replication.partition import Partition

log = logging.getLogger("gralha.coordination")

# Errors of the log, and the answers that Kafka's coordinators give.
_ANSWERS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
# While one of these errors lasts, the log takes no records at all.
_OUTAGES: Final = frozenset({ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS})
# Somebody else has taken over, and only the loser needs to know.
_TAKEN_OVER: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    }
)
# A transaction coordinator sends markers to partitions, so it knows the errors of partitions.
_ERRORS_OF_COORDINATORS: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
# Kafka's coordinators write this, too. A partition does not count the batches of a coordinator.
_BASE_SEQUENCE: Final = 0


class LogBrokenError(Exception):
    """An append failed, and nobody knows whether its records are in the log."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def answer_to(error: KafkaError) -> KafkaError:
    """The error for the client when the log raises this one."""
    code = _ANSWERS.get(ErrorCode(error.code))
    return error if code is None else error_for(code, error.message)


def answer_to_marker(error: KafkaError) -> KafkaError:
    """The error for the transaction coordinator when a marker is refused. It tries again after these."""
    return NotLeaderOrFollowerError(error.message) if error.code in _ERRORS_OF_COORDINATORS else error


class Appender(Generic[Record]):
    def __init__(self, partition: Partition, codec: Codec[Record]) -> None:
        self._partition = partition
        self._codec = codec
        self._outage: int | None = None  # the error code while appends fail
        self._name = f"{partition.topic}-{partition.index}"

    def append(self, records: Sequence[Record], producer: Producer | None, now_ms: int) -> KafkaError | None:
        """Write records as one batch. Returns the answer if the log refuses them; raises LogBrokenError."""
        try:
            stored = [self._stored(record, now_ms) for record in records]
        except ProtocolError as error:
            # A client has sent an id that is too long for a record.
            return UnknownServerError(f"A record cannot be written: {error}")
        if producer is None:
            return self._write(encode_batch(stored), now_ms)
        batch = encode_batch(
            stored,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=_BASE_SEQUENCE,
            transactional=True,
        )
        return self._write(batch, now_ms)

    def append_proof(self, proof: Record, now_ms: int) -> KafkaError | None:
        """Write a record if another broker may lead by now. Returns and raises what `append` does."""
        leading = self._partition.leading
        if leading is not None and not leading.may_be_replaced():
            return None
        return self.append([proof], None, now_ms)

    def append_marker(self, marker: EndMarker, now_ms: int) -> KafkaError | None:
        """Write the end of a producer's transaction. Returns and raises what `append` does."""
        return self._attempt(
            lambda leading: leading.append_marker(
                marker.producer.id,
                marker.producer.epoch,
                marker.coordinator_epoch,
                marker.is_commit,
                marker.has_new_epoch,
                now_ms,
            )
        )

    def _write(self, batch: bytes, now_ms: int) -> KafkaError | None:
        return self._attempt(lambda leading: leading.append_own(RecordBytes(batch, 0, len(batch)), now_ms))

    def _attempt(self, append: Callable[[Leading], object]) -> KafkaError | None:
        try:
            append(self._partition.led())
        except KafkaError as refusal:
            self._note_refusal(refusal)
            return answer_to(refusal)
        except Exception as broken:
            raise LogBrokenError(broken) from broken
        if self._outage is not None:
            self._outage = None
            log.info("%s can be written again", self._name)
        return None

    def _stored(self, record: Record, now_ms: int) -> StoredRecord:
        key, value = self._codec.encode(record)
        return StoredRecord(key, value, now_ms)

    def _note_refusal(self, refusal: KafkaError) -> None:
        """Log an outage once, not with each of the requests that fail because of it."""
        if refusal.code in _OUTAGES:
            if self._outage != refusal.code:
                self._outage = refusal.code
                log.error("%s cannot be written: %s", self._name, refusal.message)
        elif refusal.code not in _TAKEN_OVER:
            log.warning("%s refuses a record: %s", self._name, refusal.message)
