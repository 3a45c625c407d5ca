"""Proposals of leaders on their way to the controller: AlterPartition (KIP-497).

One request is under way at a time. It has all proposals that have come together meanwhile. A proposal is sent
again until it is answered, or until the partition has moved on. If the controller says that its state is
another one, the partition waits for the metadata. Asking twice does no harm: a proposal names the partition
epoch on which it was made, so it can be accepted only once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, cast

from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartition,
    AlterPartitionRequestTopic,
    AlterPartitionResponse,
    AlterPartitionResponsePartition,
    BrokerState,
)
from gralha.protocol.peers import PeerError
from gralha.replication.followers import IsrProposal
from gralha.replication.partition import Partition

log = logging.getLogger("gralha.replication")

RETRY_S: Final = 0.05

# The controller has refused the proposal on its present partition epoch: it will never accept it.
_REFUSED: Final = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
# The controller has another state, or has done more than was asked: the metadata will tell.
_WAIT_FOR_METADATA: Final = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)

PartitionKey = tuple[bytes, int]


class IsrChanges:
    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        ask_controller: Callable[[Message], Awaitable[Message]],
        find: Callable[[bytes, int], Partition | None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._ask_controller = ask_controller
        self._find = find
        self._on_failure = on_failure
        self._waiting: dict[PartitionKey, IsrProposal] = {}
        self._sending: asyncio.Task[None] | None = None
        self._closed = False
        # How many proposals the controller has refused, for whatever reason.
        self.failed = 0

    def propose(self, topic_id: bytes, index: int, proposal: IsrProposal) -> None:
        """Take the newest proposal of a partition to the controller."""
        self._waiting[topic_id, index] = proposal
        if self._sending is None and not self._closed:
            self._sending = asyncio.ensure_future(self._send())

    async def close(self) -> None:
        self._closed = True
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        """The task that sends proposals until none is left."""
        try:
            while self._waiting:
                proposals = self._still_wanted()
                self._waiting = {}
                if proposals and not await self._send_once(proposals):
                    await asyncio.sleep(RETRY_S)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._on_failure(error)
        finally:
            self._sending = None

    def _still_wanted(self) -> dict[PartitionKey, IsrProposal]:
        wanted = {}
        for key, proposal in self._waiting.items():
            partition = self._find(*key)
            leading = None if partition is None else partition.leading
            if leading is not None and leading.proposal is proposal:
                wanted[key] = proposal
        return wanted

    async def _send_once(self, proposals: dict[PartitionKey, IsrProposal]) -> bool:
        """Whether all were answered for good. The others wait again."""
        try:
            answer = cast(AlterPartitionResponse, await self._ask_controller(self._request(proposals)))
            if answer.error_code:
                raise KafkaError("refused as a whole", answer.error_code)
        except (PeerError, KafkaError) as error:
            log.info("The controller was not told of in-sync replicas: %s", error)
            self._send_again(proposals)
            return False
        unanswered = dict(proposals)
        for topic in answer.topics:
            for decided in topic.partitions:
                key = (topic.topic_id, decided.partition_index)
                if key in proposals and self._take(key, proposals[key], decided):
                    unanswered.pop(key, None)
        self._send_again(unanswered)
        return not unanswered

    def _send_again(self, proposals: dict[PartitionKey, IsrProposal]) -> None:
        # A newer one of the same partition takes precedence.
        self._waiting = {**proposals, **self._waiting}

    def _request(self, proposals: dict[PartitionKey, IsrProposal]) -> AlterPartitionRequest:
        topics: dict[bytes, AlterPartitionRequestTopic] = {}
        for (topic_id, index), proposal in proposals.items():
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = AlterPartitionRequestTopic(topic_id=topic_id, partitions=[])
            topic.partitions.append(
                AlterPartitionRequestPartition(
                    partition_index=index,
                    leader_epoch=proposal.leader_epoch,
                    partition_epoch=proposal.partition_epoch,
                    new_isr_with_epochs=[
                        BrokerState(broker_id=broker_id, broker_epoch=epoch)
                        for broker_id, epoch in zip(
                            proposal.in_sync_replicas, proposal.broker_epochs, strict=True
                        )
                    ],
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch(), topics=list(topics.values())
        )

    def _take(
        self, key: PartitionKey, proposal: IsrProposal, decided: AlterPartitionResponsePartition
    ) -> bool:
        """Tell the partition what was decided; False if the controller has to be asked again."""
        partition = self._find(*key)
        leading = None if partition is None else partition.leading
        if partition is None or leading is None:
            return True
        code = decided.error_code
        if code == ErrorCode.NONE:
            log.info("%s-%d has in-sync replicas %s", partition.topic, partition.index, decided.isr)
            leading.proposal_accepted(
                proposal, decided.leader_epoch, list(decided.isr), decided.partition_epoch
            )
            return True
        self.failed += 1
        if code in _REFUSED:
            # Not at once: the next fetch would propose the same again before this broker has the metadata.
            asyncio.get_running_loop().call_later(RETRY_S, leading.proposal_refused, proposal)
        elif code not in _WAIT_FOR_METADATA:
            return False
        return True
