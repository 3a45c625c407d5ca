"""Writes the ends of decided transactions to all their partitions.

A transaction is decided when its PrepareCommit or PrepareAbort is committed. From then on it is *owed*: each
of its partitions gets a marker, and the coordinator is told when the last one is written. One request to a
broker is under way at a time. Meanwhile the markers for that broker collect, so that many transactions share
a request.

A partition that cannot take its marker now is tried again, until it can or until its topic is deleted. A
transaction is dropped if this broker does not coordinate it any more: the next coordinator finds it in its
log. Its markers have the leader epoch of the coordinator's partition, and partitions refuse older ones.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from gralha.broker.transactions.senders import Senders
from gralha.metadata.image import MetadataImage
from gralha.metadata.topic_names import TRANSACTIONS_TOPIC
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode, error_name
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from gralha.protocol.peers import PeerError
from gralha.replication.manager import ReplicaManager
from gralha.transactions.partitions import by_topic
from gralha.transactions.transaction import Partition, Transaction

log = logging.getLogger("gralha.transactions")

# Sends markers to a broker, also to this one.
WriteMarkers = Callable[[int, WriteTxnMarkersRequest], Awaitable[WriteTxnMarkersResponse]]

RETRY_S: Final = 0.1
# The markers of a request. More of them wait for the next one.
MARKERS_AT_ONCE: Final = 1000

# The coordinator was replaced, or the partition knows a newer producer. More tries would change nothing.
_REFUSED_FOR_GOOD: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)


class _Owed:
    """A decided transaction, and its partitions that have no marker yet."""

    __slots__ = ("coordinator_epoch", "coordinator_partition", "is_given_up", "partitions", "transaction")

    def __init__(self, transaction: Transaction, coordinator_partition: int, coordinator_epoch: int) -> None:
        self.transaction = transaction
        self.coordinator_partition = coordinator_partition
        self.coordinator_epoch = coordinator_epoch
        self.partitions = set(transaction.partitions)
        self.is_given_up = False


_Batch = list[tuple[_Owed, list[Partition]]]


class Markers:
    def __init__(
        self,
        image: Callable[[], MetadataImage],
        replicas: ReplicaManager,
        write_markers: WriteMarkers,
        completed: Callable[[Transaction], None],
    ) -> None:
        """`completed` is called when all partitions of a transaction have their marker."""
        self._image = image
        self._replicas = replicas
        self._write_markers = write_markers
        self._completed = completed
        self._waiting: dict[int, _Batch] = {}  # by broker
        self._senders = Senders(self._send_all, replicas.on_failure)
        self._is_closed = False

    def send(self, transaction: Transaction) -> None:
        """Write the markers of a decided transaction. Does nothing before the event loop's next turn."""
        topic = self._image().topics.get(TRANSACTIONS_TOPIC)
        if topic is None:
            return
        index = partition_for(transaction.transactional_id, len(topic.partitions))
        coordinating = self._replicas.by_name.get(TRANSACTIONS_TOPIC, {}).get(index)
        if coordinating is not None and coordinating.is_leader():
            owed = _Owed(transaction, index, coordinating.leader_epoch)
            asyncio.get_running_loop().call_soon(self._dispatch, owed, list(owed.partitions))

    def _is_current(self, owed: _Owed) -> bool:
        """Whether this broker coordinates the transaction, in the leader epoch that has decided it."""
        partition = self._replicas.by_name.get(TRANSACTIONS_TOPIC, {}).get(owed.coordinator_partition)
        return (
            partition is not None
            and partition.is_leader()
            and partition.leader_epoch == owed.coordinator_epoch
        )

    def _dispatch(self, owed: _Owed, partitions: list[Partition]) -> None:
        """Give the markers for these partitions to the senders of their leaders."""
        if self._is_closed or owed.is_given_up or not self._is_current(owed):
            return
        image = self._image()
        by_leader: dict[int, list[Partition]] = {}
        later: list[Partition] = []
        for topic, index in sorted(partitions):
            known = image.topics.get(topic)
            partition = None if known is None else known.partitions.get(index)
            if partition is None:
                owed.partitions.discard((topic, index))  # the topic was deleted
            elif partition.leader < 0:
                later.append((topic, index))
            else:
                by_leader.setdefault(partition.leader, []).append((topic, index))
        if later:
            self._try_later(owed, later)
        for leader, led in by_leader.items():
            self._waiting.setdefault(leader, []).append((owed, led))
            self._senders.wake(leader)
        self._complete_if_done(owed)

    def _try_later(self, owed: _Owed, partitions: list[Partition]) -> None:
        asyncio.get_running_loop().call_later(RETRY_S, self._dispatch, owed, partitions)

    def _complete_if_done(self, owed: _Owed) -> None:
        if not owed.partitions and not owed.is_given_up:
            owed.is_given_up = True
            self._completed(owed.transaction)

    async def _send_all(self, broker_id: int) -> None:
        while waiting := self._waiting.pop(broker_id, []):
            batch = [entry for entry in waiting if not entry[0].is_given_up and self._is_current(entry[0])]
            for start in range(0, len(batch), MARKERS_AT_ONCE):
                await self._send_batch(broker_id, batch[start : start + MARKERS_AT_ONCE])

    async def _send_batch(self, broker_id: int, batch: _Batch) -> None:
        try:
            response = await self._write_markers(broker_id, self._request(batch))
        except PeerError as error:
            log.info("markers were not written by broker %d: %s", broker_id, error)
            for owed, partitions in batch:
                self._try_later(owed, partitions)
            return
        # The markers of a response have the order of the request.
        for (owed, partitions), result in zip(batch, response.markers, strict=True):
            codes = {
                (topic.name, one.partition_index): one.error_code
                for topic in result.topics
                for one in topic.partitions
            }
            self._written(owed, {one: codes.get(one, ErrorCode.UNKNOWN_SERVER_ERROR) for one in partitions})

    def _request(self, batch: _Batch) -> WriteTxnMarkersRequest:
        return WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=owed.transaction.producer_id,
                    producer_epoch=owed.transaction.epoch,
                    transaction_result=owed.transaction.is_commit,
                    topics=[
                        WritableTxnMarkerTopic(name, indexes)
                        for name, indexes in by_topic(partitions).items()
                    ],
                    coordinator_epoch=owed.coordinator_epoch,
                    transaction_version=owed.transaction.version,
                )
                for owed, partitions in batch
            ]
        )

    def _written(self, owed: _Owed, codes: dict[Partition, int]) -> None:
        again: list[Partition] = []
        for partition, code in codes.items():
            if code == ErrorCode.NONE:
                owed.partitions.discard(partition)
            elif code in _REFUSED_FOR_GOOD:
                owed.is_given_up = True
                log.warning(
                    "The end of the transaction of %s is refused by %s-%d: %s",
                    owed.transaction.transactional_id,
                    *partition,
                    error_name(code),
                )
            else:
                again.append(partition)
        if again:
            self._try_later(owed, again)
        self._complete_if_done(owed)

    def close(self) -> None:
        """The broker stops."""
        self._is_closed = True
        self._senders.close()
