"""Asks transaction coordinators whether transactions may write to partitions of this broker (KIP-890).

By the rules of version 1 the producer has told the coordinator of the partition before, and the coordinator
only confirms that (*verify*). By the rules of version 2 the coordinator adds the partition to the transaction
now (*add*).

All questions of one turn of the event loop that are for the same broker go into one request. One request to a
broker is under way at a time; meanwhile questions collect. A coordinator on this broker is asked directly.

The answers are error codes. Those of the way to the coordinator (NETWORK_EXCEPTION) are among them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, cast

from gralha.broker.transactions.senders import Senders
from gralha.metadata.image import MetadataImage
from gralha.metadata.topic_names import TRANSACTIONS_TOPIC
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from gralha.protocol.peers import PeerError
from gralha.transactions.partitions import by_topic, error_codes
from gralha.transactions.transaction import Partition

log = logging.getLogger("gralha.transactions")

Ask = Callable[[int, AddPartitionsToTxnRequest], Awaitable[Message]]
Answered = Callable[[int], None]

# While the last transaction of a producer is being completed, the question is asked again, as in Kafka
# (add.partitions.to.txn.retry.backoff.max.ms). Kafka waits 20 ms between the tries.
FIRST_RETRY_S: Final = 0.001


class Question(NamedTuple):
    """A transaction, and what is asked about it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    adds: bool


class _Asked:
    """The partitions of one question, and who waits for the answers."""

    __slots__ = ("partitions", "retry_s", "until_s")

    def __init__(self, until_s: float) -> None:
        self.partitions: dict[Partition, list[Answered]] = {}
        self.until_s = until_s  # when CONCURRENT_TRANSACTIONS becomes the answer
        self.retry_s = FIRST_RETRY_S

    def add(self, later: "_Asked") -> None:
        """The same question was asked again, for later batches."""
        for partition, those in later.partitions.items():
            self.partitions.setdefault(partition, []).extend(those)

    def answer(self, partition: Partition, code: int) -> None:
        for answered in self.partitions[partition]:
            answered(code)

    def answer_all(self, code: int) -> None:
        for partition in self.partitions:
            self.answer(partition, code)


_Batch = dict[Question, _Asked]


class Verifier:
    def __init__(
        self,
        image: Callable[[], MetadataImage],
        ask: Ask,
        retry_max_s: float,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`ask` sends a request to a broker, also to this one."""
        self._image = image
        self._ask = ask
        self._retry_max_s = retry_max_s
        self._new: _Batch = {}  # of this turn of the event loop
        self._waiting: dict[int, _Batch] = {}  # by broker
        self._retrying: _Batch = {}  # questions that are asked again after a pause
        self._is_closed = False
        self._senders = Senders(self._send_all, on_failure)

    def verify(self, question: Question, partition: Partition, answered: Answered) -> None:
        """Ask about a partition. `answered` gets an error code later, never during this call."""
        loop = asyncio.get_running_loop()
        if not self._new:
            loop.call_soon(self._dispatch_new)
        asked = self._new.get(question)
        if asked is None:
            asked = self._new[question] = _Asked(loop.time() + self._retry_max_s)
        asked.partitions.setdefault(partition, []).append(answered)

    def _dispatch_new(self) -> None:
        new, self._new = self._new, {}
        for question, asked in new.items():
            earlier = self._retrying.get(question)
            if earlier is None:
                self._dispatch(question, asked)
            else:
                earlier.add(asked)  # batches of one producer keep their order

    def _ask_again(self, question: Question, asked: _Asked) -> None:
        del self._retrying[question]
        self._dispatch(question, asked)

    def _dispatch(self, question: Question, asked: _Asked) -> None:
        if self._is_closed:
            asked.answer_all(ErrorCode.NETWORK_EXCEPTION)
            return
        broker_id = self._coordinator_of(question.transactional_id)
        if broker_id is None:
            asked.answer_all(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        batch = self._waiting.setdefault(broker_id, {})
        waiting = batch.get(question)
        if waiting is None:
            batch[question] = asked
        elif asked.until_s < waiting.until_s:
            asked.add(waiting)
            batch[question] = asked
        else:
            waiting.add(asked)
        self._senders.wake(broker_id)

    def _coordinator_of(self, transactional_id: str) -> int | None:
        topic = self._image().topics.get(TRANSACTIONS_TOPIC)
        if topic is None:
            return None
        leader = topic.partitions[partition_for(transactional_id, len(topic.partitions))].leader
        return leader if leader >= 0 else None

    async def _send_all(self, broker_id: int) -> None:
        while batch := self._waiting.pop(broker_id, {}):
            try:
                response = cast(AddPartitionsToTxnResponse, await self._ask(broker_id, _request(batch)))
            except PeerError as error:
                log.info("broker %d does not verify transactions: %s", broker_id, error)
                _fail(batch, ErrorCode.NETWORK_EXCEPTION)
                continue
            except asyncio.CancelledError:
                _fail(batch, ErrorCode.NETWORK_EXCEPTION)
                raise
            if response.error_code:
                _fail(batch, response.error_code)
                continue
            self._take(batch, response)

    def _take(self, batch: _Batch, response: AddPartitionsToTxnResponse) -> None:
        results = list(response.results_by_transaction)
        # The results have the order of the request. Two questions may be about one transactional id.
        for question, asked in batch.items():
            codes = error_codes(results.pop(0)) if results else {}
            is_concurrent = ErrorCode.CONCURRENT_TRANSACTIONS in codes.values()
            if is_concurrent and question.adds and self._try_again(question, asked):
                continue
            for partition in asked.partitions:
                asked.answer(partition, codes.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _try_again(self, question: Question, asked: _Asked) -> bool:
        loop = asyncio.get_running_loop()
        if loop.time() + asked.retry_s > asked.until_s or question in self._retrying:
            return False
        self._retrying[question] = asked
        loop.call_later(asked.retry_s, self._ask_again, question, asked)
        asked.retry_s *= 2
        return True

    def close(self) -> None:
        """The broker stops. Every question gets an answer."""
        self._is_closed = True
        self._senders.close()
        waiting, self._waiting = self._waiting, {}
        for batch in waiting.values():
            _fail(batch, ErrorCode.NETWORK_EXCEPTION)


def _fail(batch: _Batch, code: int) -> None:
    for asked in batch.values():
        asked.answer_all(code)


def _request(batch: _Batch) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=question.transactional_id,
                producer_id=question.producer_id,
                producer_epoch=question.producer_epoch,
                verify_only=not question.adds,
                topics=[
                    AddPartitionsToTxnTopic(name, indexes)
                    for name, indexes in by_topic(asked.partitions).items()
                ],
            )
            for question, asked in batch.items()
        ]
    )
