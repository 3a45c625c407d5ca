"""Writes the ends of decided transactions to all their partitions.

A transaction is decided when its PrepareCommit or PrepareAbort is committed. From then on it is *owed*: each
of its partitions gets a marker, and the coordinator is told when the last one is written. One request to a
broker is under way at a time. Meanwhile the markers for that broker collect, so that many transactions share
a request.

A partition that cannot take its marker now is tried again, until it can or until its topic is deleted. A
partition that knows a newer epoch of the producer refuses the marker for good. The marker of an abort is not
needed there: the producer could only get a newer epoch after the end of the transaction. A commit is not
complete without it, because all partitions must show the transaction or none. So the transactional id cannot
go on, as in Kafka. But the other partitions get their markers; in Kafka they wait, too.

A transaction is dropped if this broker does not coordinate it any more: the next coordinator finds it in its
log. Its markers have the leader epoch of the coordinator's partition, and partitions refuse older ones.

A transactional id owes one transaction at a time. If the coordinator has loaded its log again, the
transaction is owed again, and what is under way for the earlier one does not count: otherwise one of the two
could complete the transaction while the other still sends a marker, which would end the next one.
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

# The pause before the next try. It doubles, because thousands of transactions may wait for one partition.
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 1.0
# The partitions of a request. More of them wait for the next one, because the receiver appends all at once.
PARTITIONS_AT_ONCE: Final = 500
# The log has a line after some refusals of a transaction's markers, and then once a minute. A few are common
# while leaders move.
COMMON_REFUSALS: Final = 6
REFUSALS_BETWEEN_LINES: Final = 60


class _Owed:
    """A decided transaction, and its partitions that have no marker yet."""

    __slots__ = (
        "coordinator_epoch",
        "coordinator_partition",
        "is_given_up",
        "partitions",
        "pause_s",
        "refusals",
        "transaction",
    )

    def __init__(self, transaction: Transaction, coordinator_partition: int, coordinator_epoch: int) -> None:
        self.transaction = transaction
        self.coordinator_partition = coordinator_partition
        self.coordinator_epoch = coordinator_epoch
        self.partitions = set(transaction.partitions)
        self.is_given_up = False
        self.refusals = 0
        self.pause_s = FIRST_PAUSE_S


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
        self._owed: dict[str, _Owed] = {}  # by transactional id
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
            earlier = self._owed.get(transaction.transactional_id)
            if earlier is not None:
                earlier.is_given_up = True
            owed = self._owed[transaction.transactional_id] = _Owed(
                transaction, index, coordinating.leader_epoch
            )
            asyncio.get_running_loop().call_soon(self._dispatch, owed, list(owed.partitions))

    def _is_current(self, owed: _Owed) -> bool:
        """Whether the transaction is still owed, by this broker and in this leader epoch."""
        if owed.is_given_up:
            return False
        partition = self._replicas.by_name.get(TRANSACTIONS_TOPIC, {}).get(owed.coordinator_partition)
        if partition is None or not partition.is_leader() or partition.leader_epoch != owed.coordinator_epoch:
            self._give_up(owed)
            return False
        return True

    def _give_up(self, owed: _Owed) -> None:
        """Nothing more is sent for this transaction, and no answer counts."""
        owed.is_given_up = True
        if self._owed.get(owed.transaction.transactional_id) is owed:
            del self._owed[owed.transaction.transactional_id]

    def _dispatch(self, owed: _Owed, partitions: list[Partition]) -> None:
        """Give the markers for these partitions to the senders of their leaders."""
        if self._is_closed or not self._is_current(owed):
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
        asyncio.get_running_loop().call_later(owed.pause_s, self._dispatch, owed, partitions)
        owed.pause_s = min(2 * owed.pause_s, LONGEST_PAUSE_S)

    def _complete_if_done(self, owed: _Owed) -> None:
        if not owed.partitions:
            self._give_up(owed)
            self._completed(owed.transaction)

    async def _send_all(self, broker_id: int) -> None:
        while waiting := self._waiting.pop(broker_id, []):
            batch, rest = _cut([entry for entry in waiting if self._is_current(entry[0])])
            if rest:
                self._waiting[broker_id] = rest
            if batch:
                await self._send_batch(broker_id, batch)

    async def _send_batch(self, broker_id: int, batch: _Batch) -> None:
        try:
            response = await self._write_markers(broker_id, self._request(batch))
        except PeerError as error:
            log.info("markers were not written by broker %d: %s", broker_id, error)
            # Another broker may lead the partitions by now, also those of the markers that wait.
            for owed, partitions in batch + self._waiting.pop(broker_id, []):
                self._try_later(owed, partitions)
            return
        codes = {
            (marker.producer_id, topic.name, one.partition_index): one.error_code
            for marker in response.markers
            for topic in marker.topics
            for one in topic.partitions
        }
        for owed, partitions in batch:
            if self._is_current(owed):
                self._take_answer(owed, partitions, codes)

    def _take_answer(
        self, owed: _Owed, partitions: list[Partition], codes: dict[tuple[int, str, int], int]
    ) -> None:
        again: list[Partition] = []
        for topic, index in partitions:
            code = codes.get((owed.transaction.producer_id, topic, index), ErrorCode.UNKNOWN_SERVER_ERROR)
            if code == ErrorCode.NONE:
                owed.partitions.discard((topic, index))
            elif code == ErrorCode.INVALID_PRODUCER_EPOCH and not owed.transaction.is_commit:
                _log_refusal(owed, (topic, index), code)
                owed.partitions.discard((topic, index))
            else:
                is_final = code == ErrorCode.INVALID_PRODUCER_EPOCH
                if owed.refusals % REFUSALS_BETWEEN_LINES == (0 if is_final else COMMON_REFUSALS):
                    _log_refusal(owed, (topic, index), code)
                owed.refusals += 1
                again.append((topic, index))
        if again:
            self._try_later(owed, again)
        self._complete_if_done(owed)

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

    def close(self) -> None:
        """The broker stops."""
        self._is_closed = True
        self._senders.close()


def _cut(waiting: _Batch) -> tuple[_Batch, _Batch]:
    """The markers of the next request to a broker, and the rest."""
    count = 0
    for number, (_, partitions) in enumerate(waiting):
        count += len(partitions)
        if number and count > PARTITIONS_AT_ONCE:
            return waiting[:number], waiting[number:]
    return waiting, []


def _log_refusal(owed: _Owed, partition: Partition, code: int) -> None:
    transactional_id = owed.transaction.transactional_id
    if code == ErrorCode.INVALID_PRODUCER_EPOCH and owed.transaction.is_commit:
        log.error(
            "The transaction of %s is committed, but %s-%d knows a newer epoch of its producer and refuses "
            "the commit. Readers may miss its records there. The id cannot begin another transaction before "
            "the partition takes the commit, or its topic is deleted.",
            transactional_id,
            *partition,
        )
        return
    log.warning(
        "The end of the transaction of %s is refused by %s-%d: %s",
        transactional_id,
        *partition,
        error_name(code),
    )
