"""TxnOffsetCommit (versions 0 to 5): a producer commits offsets of a group in its transaction.

The offsets count when the transaction commits. Version 3 added the member, so that the group refuses a
member that it has given up (KIP-447). From version 5 on the request also adds the group to the transaction
(KIP-890). With earlier versions the producer has sent AddOffsetsToTxn, and this broker asks the transaction's
coordinator whether that is so, unless the transaction has written to this partition before.
"""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_rights
from gralha.broker.handlers.group_requests import caller
from gralha.broker.pipeline import RequestContext
from gralha.broker.transactions.verifier import Question
from gralha.groups.offset_messages import transactional_commit_error
from gralha.metadata.topic_names import OFFSETS_TOPIC
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from gralha.replication.leading import Leading
from gralha.replication.partition import Partition

ABORTABLE_FROM_VERSION: Final = 4
ADDS_FROM_VERSION: Final = 5


def handle(
    broker: Broker, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    if broker.rights.authorizer is not None:
        return _commit_allowed(broker, context, request)
    return _commit(broker, context, request)


def _commit_allowed(
    broker: Broker, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    """Commits the offsets of topics that the caller may read. The others get an error."""
    rights = broker.rights
    version = context.api_version
    try:
        rights.check(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id)
        rights.check(context, Operation.READ, ResourceType.GROUP, request.group_id)
    except KafkaError as error:
        return transactional_commit_error(request, error.code, version)
    allowed, refused = topic_rights.split(
        rights, context, Operation.READ, request.topics, lambda topic: topic.name
    )
    if not refused:
        return _commit(broker, context, request)
    errors = transactional_commit_error(
        topic_rights.with_topics(request, refused), ErrorCode.TOPIC_AUTHORIZATION_FAILED, version
    )
    if not allowed:
        return errors
    return topic_rights.joined(_commit(broker, context, topic_rights.with_topics(request, allowed)), errors)


def _commit(
    broker: Broker, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    partition = _partition_of(broker, request.group_id)
    leading = None if partition is None else partition.leading
    if leading is None or not broker.groups.is_active(request.group_id):
        return _decide(broker, context, request)  # which finds the error
    log = leading.partition.log
    if log.has_open_transaction(request.producer_id, request.producer_epoch):
        return _decide(broker, context, request)
    adds = context.api_version >= ADDS_FROM_VERSION
    if not adds and not broker.verifies_transactions():
        return _decide(broker, context, request)
    return _verify_and_decide(broker, context, request, leading, adds)


def _partition_of(broker: Broker, group_id: str) -> Partition | None:
    """The partition that has the group, if this broker has it."""
    topic = broker.image.topics.get(OFFSETS_TOPIC)
    if topic is None:
        return None
    return broker.replicas.find(OFFSETS_TOPIC, partition_for(group_id, len(topic.partitions)))


async def _verify_and_decide(
    broker: Broker,
    context: RequestContext,
    request: TxnOffsetCommitRequest,
    leading: Leading,
    adds: bool,
) -> TxnOffsetCommitResponse:
    """Ask the transaction's coordinator first. An end of the transaction meanwhile makes its answer void.

    So does an end of the leader epoch: this broker does not know what the next leader has written.
    """
    partition = leading.partition
    verification = leading.verifications.begin_at(request.producer_id, request.producer_epoch)
    answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def take(error_code: int) -> None:
        if not answered.done():
            answered.set_result(error_code)

    if verification.wait(request.transactional_id, take):
        question = Question(request.transactional_id, request.producer_id, request.producer_epoch, adds)
        answer_all = partial(verification.answer, request.transactional_id)
        broker.verifier.verify(question, (partition.topic, partition.index), answer_all)
    error_code = await answered
    if error_code == ErrorCode.NONE:
        if partition.leading is not leading:
            error_code = ErrorCode.NOT_COORDINATOR
        elif not leading.verifications.is_current(verification):
            error_code = ErrorCode.CONCURRENT_TRANSACTIONS
    if error_code != ErrorCode.NONE:
        return transactional_commit_error(
            request, _for_groups(error_code, context.api_version), context.api_version
        )
    answer = _decide(broker, context, request)
    return answer if isinstance(answer, TxnOffsetCommitResponse) else await answer


def _for_groups(error_code: int, api_version: int) -> int:
    """The code for a producer whose transaction may not commit offsets of the group."""
    if error_code == ErrorCode.NETWORK_EXCEPTION:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # which clients of all ages repeat
    if error_code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error_code == ErrorCode.TRANSACTION_ABORTABLE and api_version < ABORTABLE_FROM_VERSION:
        return ErrorCode.INVALID_TXN_STATE
    return error_code


def _decide(
    broker: Broker, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    """Have the group check and write the offsets."""
    who = caller(context)

    def failed(error: KafkaError) -> TxnOffsetCommitResponse:
        return transactional_commit_error(request, error.code, context.api_version)

    return broker.groups.call(
        request.group_id,
        lambda shard, _reply, now_ms: shard.commit_transactional_offsets(who, request, now_ms),
        failed,
    )
