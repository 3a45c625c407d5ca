"""The requests of one transactional producer as bytes. Only the fields that change are written anew.

A transaction is one batch in one partition. Transactions v1: AddPartitionsToTxn, Produce 11, EndTxn 4. The
epoch stays and the sequence goes on. Transactions v2 (KIP-890): Produce 12 adds the partition, and EndTxn 5
gives the next epoch, with which the sequence begins at 0.
"""

from __future__ import annotations

import struct

from fastcrc import crc32

from bench.frames import ERROR_BYTES, ERROR_MARK, frame_of, position
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from gralha.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch

ADD_PARTITIONS_VERSION = 3  # the newest one for clients
PRODUCE_VERSIONS = {1: 11, 2: 12}
END_VERSIONS = {1: 4, 2: 5}

ID_MARK, EPOCH_MARK = 0x1122334455667788, 0x2468
PRODUCER_MARK = struct.pack(">qh", ID_MARK, EPOCH_MARK)
# Positions in a batch. The sequence follows the producer id and the epoch.
CRC_AT = 17
CHECKED_FROM = 21
PRODUCER_AT = 43


def transactional_batch(values: list[bytes], timestamp_ms: int) -> bytes:
    """A batch of these values, with marks in place of the producer."""
    return encode_batch(
        [Record(None, value, timestamp=timestamp_ms) for value in values],
        producer_id=ID_MARK,
        producer_epoch=EPOCH_MARK,
        base_sequence=0,
        transactional=True,
    )


class ProducerFrames:
    """The requests of one producer. Tell it how each transaction has ended."""

    def __init__(self, version: int, transactional_id: str, topic: str, partition: int, batch: bytes) -> None:
        """`version` is that of the transactions: 1 or 2. `batch` comes from `transactional_batch`."""
        self.version = version
        self._records = struct.unpack_from(">i", batch, 57)[0]
        self._producer = (-1, -1)
        self._sequence = 0
        produce_version, end_version = PRODUCE_VERSIONS[version], END_VERSIONS[version]
        self._add = bytearray(_add_partition(transactional_id, topic, partition))
        self._produce = bytearray(_produce(transactional_id, topic, partition, batch, produce_version))
        self._batch_at = self._produce.index(batch)
        self._batch_end = self._batch_at + len(batch)
        self._ends = {
            commits: bytearray(
                frame_of(EndTxnRequest(transactional_id, ID_MARK, EPOCH_MARK, commits), end_version)
            )
            for commits in (True, False)
        }
        self._producer_at = [
            (frame, frame.index(PRODUCER_MARK)) for frame in (self._add, *self._ends.values())
        ]
        # Positions of the error codes in the responses.
        self.add_error_at = _add_error_at(topic, partition)
        self.produce_error_at = _produce_error_at(topic, partition, produce_version)
        end = EndTxnResponse(error_code=ERROR_MARK, producer_id=ID_MARK, producer_epoch=EPOCH_MARK)
        self.end_error_at = position(end, EndTxnRequest.API_KEY, end_version, ERROR_BYTES)
        self._next_producer_at = (
            position(end, EndTxnRequest.API_KEY, end_version, PRODUCER_MARK) if version == 2 else -1
        )

    def become(self, producer_id: int, producer_epoch: int) -> None:
        """Use this id and epoch from now on, with sequences from 0 on."""
        self._producer = (producer_id, producer_epoch)
        self._sequence = 0
        for frame, at in self._producer_at:
            struct.pack_into(">qh", frame, at, *self._producer)

    def add(self) -> bytes:
        """AddPartitionsToTxn, which only transactions v1 send."""
        return bytes(self._add)

    def produce(self) -> bytes:
        """The batch of the next transaction."""
        frame, batch_at = self._produce, self._batch_at
        struct.pack_into(">qhi", frame, batch_at + PRODUCER_AT, *self._producer, self._sequence)
        crc = crc32.iscsi(bytes(frame[batch_at + CHECKED_FROM : self._batch_end]))
        struct.pack_into(">I", frame, batch_at + CRC_AT, crc)
        return bytes(frame)

    def end(self, commits: bool) -> bytes:
        return bytes(self._ends[commits])

    def ended(self, response: bytes) -> None:
        """Take the successful response of EndTxn. The next transaction can begin."""
        if self.version == 2:
            self.become(*struct.unpack_from(">qh", response, self._next_producer_at))
        else:
            self._sequence = (self._sequence + self._records) & 0x7FFFFFFF


def _add_partition(transactional_id: str, topic: str, partition: int) -> bytes:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=ID_MARK,
        v3_and_below_producer_epoch=EPOCH_MARK,
        v3_and_below_topics=[AddPartitionsToTxnTopic(topic, [partition])],
    )
    return frame_of(request, ADD_PARTITIONS_VERSION)


def _add_error_at(topic: str, partition: int) -> int:
    result = AddPartitionsToTxnPartitionResult(partition, ERROR_MARK)
    topic_result = AddPartitionsToTxnTopicResult(topic, [result])
    response = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic_result])
    return position(response, AddPartitionsToTxnRequest.API_KEY, ADD_PARTITIONS_VERSION, ERROR_BYTES)


def _produce(transactional_id: str, topic: str, partition: int, batch: bytes, version: int) -> bytes:
    data = PartitionProduceData(partition, RecordBytes(batch, 0, len(batch)))
    request = ProduceRequest(transactional_id, -1, 30_000, [TopicProduceData(topic, partition_data=[data])])
    return frame_of(request, version)


def _produce_error_at(topic: str, partition: int, version: int) -> int:
    answer = PartitionProduceResponse(partition, ERROR_MARK)
    response = ProduceResponse([TopicProduceResponse(topic, partition_responses=[answer])])
    return position(response, ProduceRequest.API_KEY, version, ERROR_BYTES)
