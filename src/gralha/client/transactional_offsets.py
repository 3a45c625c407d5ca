"""Commits offsets of a consumer group in a transaction: they count if the transaction is committed.

In transactions v1 the group is added to the transaction first (AddOffsetsToTxn). In v2 the coordinator of the
group does that itself (KIP-890).
"""

from collections.abc import Mapping
from typing import Final

from gralha.client.calls import error_or_none, raise_for
from gralha.client.cluster import UNKNOWN_TOPIC_CODES, may_pass
from gralha.client.coordinator_calls import TRANSACTION, CoordinatorCalls
from gralha.client.leader_calls import by_topic
from gralha.client.transaction_errors import transaction_error
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from gralha.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

# The last versions for transactions v1.
_LAST_V1_ADD: Final = 3
_LAST_V1_COMMIT: Final = 4
# The group refuses the offsets, or one topic. The transaction is still good.
REFUSALS: Final = (
    *UNKNOWN_TOPIC_CODES,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_GROUP_ID,
)

Refused = dict[TopicPartition, KafkaError]


class TransactionalOffsets(CoordinatorCalls):
    """Offsets of groups in transactions."""

    def commit_offsets(
        self, handle: TransactionHandle, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> Refused:
        """Makes offsets a part of an open transaction. Returns those that the group refuses.

        Raises TransactionError if the transaction cannot go on.
        """
        try:
            if not handle.is_v2:
                self._add_group(handle, group_id)
            found = self._commit(handle, group_id, offsets)
        except KafkaError as error:
            if error.code in REFUSALS:
                return dict.fromkeys(offsets, error)
            raise transaction_error(handle.transactional_id, "commit offsets", error) from error
        for refusal in found.values():
            if refusal.code not in REFUSALS:
                raise transaction_error(handle.transactional_id, "commit offsets", refusal) from refusal
        return found

    def _add_group(self, handle: TransactionHandle, group_id: str) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=handle.transactional_id,
            producer_id=handle.producer_id,
            producer_epoch=handle.producer_epoch,
            group_id=group_id,
        )

        def ask(broker: int) -> None:
            response = self.cluster.send_to(
                broker, request, AddOffsetsToTxnResponse, max_version=_LAST_V1_ADD
            )
            raise_for(response.error_code)

        self._ask_coordinator(handle.transactional_id, ask, key_type=TRANSACTION)

    def _commit(
        self, handle: TransactionHandle, group_id: str, offsets: Mapping[TopicPartition, int]
    ) -> Refused:
        request = TxnOffsetCommitRequest(
            transactional_id=handle.transactional_id,
            group_id=group_id,
            producer_id=handle.producer_id,
            producer_epoch=handle.producer_epoch,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=one.partition,
                            committed_offset=offsets[one],
                            committed_metadata="",
                        )
                        for one in partitions
                    ],
                )
                for topic, partitions in by_topic(offsets).items()
            ],
        )
        max_version = None if handle.is_v2 else _LAST_V1_COMMIT

        def ask(broker: int) -> Refused:
            response = self.cluster.send_to(broker, request, TxnOffsetCommitResponse, max_version=max_version)
            refused = {
                TopicPartition(topic.name, one.partition_index): error
                for topic in response.topics
                for one in topic.partitions
                if (error := error_or_none(one.error_code)) is not None
            }
            # Another attempt may succeed, unless the topic is gone.
            for error in refused.values():
                if may_pass(error, is_change=False) and error.code not in UNKNOWN_TOPIC_CODES:
                    raise error
            return refused

        return self._ask_coordinator(group_id, ask)
