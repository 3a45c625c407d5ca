"""Produce (versions 3 to 13): append record batches to partitions.

The handler checks and appends the batch of each partition, in the order of the request. The error of one
batch does not affect the others. Most batches are appended at once. A batch whose check takes longer is
queued at its partition (`Queued`), and the request waits.

The first batch of a transaction in a partition waits until the transaction's coordinator knows of the
partition, and so do the later batches of its producer (`replication/verification.py`).

acks=1: the response leaves when all batches are appended. acks=all: the response leaves when the high
watermark has passed each batch in the epoch that wrote it. With a single replica that is at once, unless
flush.messages is set. acks=0: there is no response, and an error closes the connection, because the client
can notice only that. If this broker does not lead a partition, the response names the leader (KIP-951).
"""

import logging
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers.current_leaders import current_leader, leader_nodes
from gralha.broker.handlers.produce_rights import Denial, denial
from gralha.broker.handlers.transaction_errors import PRODUCE_ABORTABLE, PRODUCE_ADDS, verification_error
from gralha.broker.pipeline import Deferred, RequestContext
from gralha.broker.transactions.verifier import Question
from gralha.metadata.image import TopicImage
from gralha.protocol.batches import produced_batch
from gralha.protocol.errors import (
    ErrorCode,
    InvalidRecordError,
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    error_for,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from gralha.protocol.primitives import ProtocolError, RecordBytes
from gralha.protocol.record_check import RecordsRejectedError
from gralha.protocol.records import BatchHeader
from gralha.replication.leading import ACKS_ALL, Leading, QueuedBatch
from gralha.replication.partition import Partition
from gralha.replication.subscriptions import HIGH_WATERMARK_MOVED, Subscriber
from gralha.replication.verification import Verification
from gralha.storage.disk import DiskError
from gralha.storage.log import AppendResult
from gralha.storage.validation import BatchCheck

log = logging.getLogger("gralha.broker")

TOPIC_IDS_FROM_VERSION: Final = 13
LEADERS_FROM_VERSION: Final = 10
REFUSED_WITHOUT_ACKS: Final = "a batch sent with acks=0 was refused"


# Responses with these errors have no log start offset, as in Kafka.
WITHOUT_LOG_START: Final = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


# Errors that a client can expect. Kafka does not count them as failed requests either.
EXPECTED_ERRORS: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
)


def handle(broker: Broker, context: RequestContext, request: ProduceRequest) -> Message | Deferred | None:
    produce = Produce(broker, context, request)
    if broker.rights.authorizer is not None:
        produce.denial = denial(broker, context, request)
    produce.append_all(request)
    if produce.queued_count or produce.unacknowledged:
        return produce.wait()
    if request.acks == 0:
        if produce.failed:
            raise ProtocolError(REFUSED_WITHOUT_ACKS)
        return None
    return produce.answer()


class Queued(QueuedBatch):
    """A batch of a request that waits for its check, or for the batches before it."""

    def __init__(
        self,
        produce: "Produce",
        leading: Leading,
        records: RecordBytes,
        check: BatchCheck | None,
        answer: PartitionProduceResponse,
    ) -> None:
        super().__init__(leading, records, check)
        self.produce = produce
        self.answer = answer

    def append(self, check: BatchCheck, now_ms: int) -> None:
        self.produce.append_queued(self, check, now_ms)

    def refuse(self, error: BaseException) -> None:
        self.produce.refuse_queued(self, error)


class Pending:
    """A batch that is appended, but not acknowledged yet."""

    def __init__(self, leading: Leading, last_offset: int, answer: PartitionProduceResponse) -> None:
        self.partition = leading.partition
        self.leading = leading
        self.last_offset = last_offset
        self.answer = answer

    def outcome(self) -> int | None:
        """The error code for the response. None while the batch has to wait."""
        partition = self.partition
        if partition.leading is not self.leading:
            # The epoch that wrote the batch is over, so the batch may be lost.
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.log.high_watermark <= self.last_offset:
            return None
        if not self.leading.has_enough_replicas():
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def fail(self, error_code: int) -> None:
        answer = self.answer
        answer.error_code = error_code
        answer.base_offset = -1
        answer.log_append_time_ms = -1
        answer.log_start_offset = -1


class Produce(Subscriber):
    """One Produce request."""

    def __init__(self, broker: Broker, context: RequestContext, request: ProduceRequest) -> None:
        self.broker = broker
        self.api_version: int = context.api_version
        self.listener: str = context.peer.listener
        self.by_id: bool = context.api_version >= TOPIC_IDS_FROM_VERSION
        self.acks: int = request.acks
        self.transactional_id: str | None = request.transactional_id
        self.timeout_ms: int = request.timeout_ms
        self.now_ms: int = broker.clock()
        self.denial: Denial | None = None
        self.failed: bool = False
        self.queued_count: int = 0
        self.queued_bytes: int = 0
        self.is_gone: bool = False  # whether the client has disconnected
        self.leader_ids: list[int] = []  # the leaders of partitions that other brokers lead
        self.unacknowledged: list[Pending] = []
        self.response: ProduceResponse = ProduceResponse(responses=[])
        self.deferred: Deferred | None = None

    # Appending

    def append_all(self, request: ProduceRequest) -> None:
        replicas = self.broker.replicas
        acks_are_valid = -1 <= self.acks <= 1
        denied = self.denial
        for topic in request.topic_data:
            if denied is not None:
                denied_code = denied.code_for(topic.topic_id if self.by_id else topic.name)
                if denied_code:
                    self._refuse_topic(topic, denied_code)
                    continue
            partitions = (
                replicas.by_id.get(topic.topic_id) if self.by_id else replicas.by_name.get(topic.name)
            )
            answers: list[PartitionProduceResponse] = []
            for data in topic.partition_data:
                partition = None if partitions is None else partitions.get(data.index)
                if partition is None:
                    answers.append(self._refuse_missing(topic, data))
                elif not acks_are_valid:
                    answers.append(self._refuse(data.index, ErrorCode.INVALID_REQUIRED_ACKS, None))
                else:
                    answers.append(self._append(partition, data))
            self.response.responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)
            )

    def _refuse_topic(self, topic: TopicProduceData, error_code: int) -> None:
        answers = [self._refuse(data.index, error_code, None) for data in topic.partition_data]
        self.response.responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)
        )

    def _refuse_missing(
        self, topic: TopicProduceData, data: PartitionProduceData
    ) -> PartitionProduceResponse:
        image = self.broker.image
        index = data.index
        known = image.topics_by_id.get(topic.topic_id) if self.by_id else image.topics.get(topic.name)
        answer = self._refuse(index, self._why_missing(known, index), None)
        self._name_leader(answer, None, known)
        # The client's metadata may be newer than this broker's.
        named = topic.topic_id if self.by_id else topic.name
        self.broker.replicas.refusals.note(named, index, data.records, answer.error_code)
        return answer

    def _why_missing(self, known: TopicImage | None, index: int) -> int:
        if known is None:
            return ErrorCode.UNKNOWN_TOPIC_ID if self.by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.broker.replicas.is_offline(known.name, index):
            return ErrorCode.KAFKA_STORAGE_ERROR
        return (
            ErrorCode.NOT_LEADER_OR_FOLLOWER
            if index in known.partitions
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )

    def _append(self, partition: Partition, data: PartitionProduceData) -> PartitionProduceResponse:
        answer = PartitionProduceResponse(index=data.index, base_offset=-1)
        leading: Leading | None = None
        partition.counters.produce_requests += 1
        try:
            records, header = self._one_batch(partition, data.records)
            leading = partition.led()
            if header.is_transactional and self._must_verify(leading, header):
                if partition.log.has_newer_epoch(header.producer_id, header.producer_epoch):
                    # As in Kafka the coordinator is not asked, and the answer has no log start offset.
                    stale = error_for(ErrorCode.INVALID_PRODUCER_EPOCH)
                    self._refuse_batch(answer, partition, data.records, stale)
                else:
                    self._verify(leading, records, header, answer)
                return answer
            if not leading.queue:
                self._check_row(partition, records)
            check = leading.begin_append(records, self.acks, self.now_ms)
            if check is None or not check.is_done:
                queued = self._wait_with(leading, records, check, answer)
                self.broker.replicas.checks.enqueue(queued)
            else:
                self._accept(leading, leading.append_checked(check, self.acks, self.now_ms), answer)
        except DiskError as failure:  # not `error`: in compiled code a name has one type
            self._refuse_for_disk(answer, partition, data.records, failure)
        except KafkaError as error:
            self._refuse_batch(answer, partition, data.records, error)
            if leading is not None:
                self._tell_start(answer, partition)
        return answer

    def _check_row(self, partition: Partition, records: RecordBytes) -> None:
        """Refuse a batch with the same error if the batch before it was refused."""
        refusals = self.broker.replicas.refusals
        if refusals.rows:
            refusals.check(self._named(partition), partition.index, records, partition.log)

    def _named(self, partition: Partition) -> str | bytes:
        """The topic as the request names it."""
        return partition.topic_id if self.by_id else partition.topic

    # Batches of a transaction that is new to the partition

    def _must_verify(self, leading: Leading, header: BatchHeader) -> bool:
        """Whether the transaction's coordinator has to be asked first."""
        if self.transactional_id is None:
            raise error_for(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        verifications = leading.verifications
        if not verifications.is_needed(header):
            return False
        if self.api_version >= PRODUCE_ADDS or self.broker.verifies_transactions():
            return True
        verifications.agreed(verifications.begin(header, False))
        return False

    def _verify(
        self,
        leading: Leading,
        records: RecordBytes,
        header: BatchHeader,
        answer: PartitionProduceResponse,
    ) -> None:
        transactional_id = self.transactional_id
        assert transactional_id is not None
        adds = self.api_version >= PRODUCE_ADDS
        verification = leading.verifications.begin(header, adds)
        queued = self._wait_with(leading, records, None, answer)

        def answered(error_code: int) -> None:
            self._verified(queued, verification, error_code)

        if not verification.wait(transactional_id, answered):
            return

        def answer_all(error_code: int) -> None:
            assert transactional_id is not None
            verification.answer(transactional_id, error_code)

        question = Question(transactional_id, int(header.producer_id), int(header.producer_epoch), adds)
        partition = leading.partition
        self.broker.verifier.verify(question, (partition.topic, partition.index), answer_all)

    def _verified(self, queued: Queued, verification: Verification, error_code: int) -> None:
        """The coordinator has answered. Batches of one producer come here in their order."""
        leading = queued.leading
        if error_code != ErrorCode.NONE:
            self._refuse_unverified(queued, error_code)
            return
        try:
            leading.verifications.agreed(verification)
            if leading.partition.leading is not leading:
                raise NotLeaderOrFollowerError()
            check = leading.begin_append(queued.records, self.acks, self.broker.clock())
        except KafkaError as error:
            queued.refuse(error)
            return
        queued.check = check
        if check is None or not check.is_done:
            self.broker.replicas.checks.enqueue(queued)
        else:
            self.append_queued(queued, check, self.broker.clock())

    def _refuse_unverified(self, queued: Queued, error_code: int) -> None:
        # As in Kafka, the answer does not say where the log starts, because the log was not asked.
        error = verification_error(
            error_code, self.api_version >= PRODUCE_ABORTABLE, self.api_version >= PRODUCE_ADDS
        )
        self._refuse_batch(queued.answer, queued.leading.partition, queued.records, error)
        self._settled()

    # Batches that wait

    def _wait_with(
        self,
        leading: Leading,
        records: RecordBytes,
        check: BatchCheck | None,
        answer: PartitionProduceResponse,
    ) -> Queued:
        size = records.size()
        if 2 * size < len(records.data):
            # A range would keep the whole receive buffer in memory.
            records = RecordBytes(records.to_bytes(), 0, size)
            if check is not None:
                check.move_to(records)
        self.queued_count += 1
        self.queued_bytes += size
        return Queued(self, leading, records, check, answer)

    def append_queued(self, queued: Queued, check: BatchCheck, now_ms: int) -> None:
        leading = queued.leading
        partition = leading.partition
        answer = queued.answer
        try:
            self._check_row(partition, queued.records)
            self._accept(leading, leading.append_checked(check, self.acks, now_ms), answer)
        except DiskError as failure:
            self._refuse_for_disk(answer, partition, queued.records, failure)
        except KafkaError as error:
            self._refuse_batch(answer, partition, queued.records, error)
            self._tell_start(answer, partition)
        self._settled()

    def refuse_queued(self, queued: Queued, error: BaseException) -> None:
        assert isinstance(error, KafkaError)
        partition = queued.leading.partition
        answer = queued.answer
        known = self.broker.image.topics_by_id.get(partition.topic_id)
        if known is None:
            # The topic was deleted while the batch waited.
            error = error_for(self._why_missing(None, partition.index))
        self._refuse_batch(answer, partition, queued.records, error)
        self._tell_start(answer, partition)
        self._settled()

    def _settled(self) -> None:
        """A queued batch was appended or refused."""
        self.queued_count -= 1
        deferred = self.deferred
        if self.queued_count or self.is_gone or deferred is None:
            return
        if self.acks == 0:
            if self.failed:
                deferred.fail(ProtocolError(REFUSED_WITHOUT_ACKS))
            else:
                deferred.resolve(None)
        elif self.unacknowledged:
            # As in Kafka, the timeout begins after the append.
            deferred.expire_after(self.timeout_ms)
        else:
            deferred.resolve(self.answer())

    # Answers

    def _refuse_for_disk(
        self,
        answer: PartitionProduceResponse,
        partition: Partition,
        records: RecordBytes | None,
        failure: DiskError,
    ) -> None:
        """Refuse a batch after a disk error. The client may try again: a full disk may have space then."""
        log.error("%s", failure)
        self._refuse_batch(answer, partition, records, KafkaStorageError(str(failure)))

    def _refuse_batch(
        self,
        answer: PartitionProduceResponse,
        partition: Partition,
        records: RecordBytes | None,
        error: KafkaError,
    ) -> None:
        self.failed = True
        counters = partition.counters
        if error.code not in EXPECTED_ERRORS:
            counters.failed_produce_requests += 1
        elif error.code == ErrorCode.MESSAGE_TOO_LARGE and records is not None:
            counters.bytes_rejected += records.size()
        answer.error_code = error.code
        answer.error_message = error.message
        self.broker.replicas.refusals.note(self._named(partition), partition.index, records, error.code)
        if isinstance(error, RecordsRejectedError):
            answer.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
                for index, reason in error.record_errors
            ]
        self._name_leader(answer, partition, None)

    def _tell_start(self, answer: PartitionProduceResponse, partition: Partition) -> None:
        if answer.error_code not in WITHOUT_LOG_START:
            answer.log_start_offset = partition.log.log_start_offset

    def _name_leader(
        self, answer: PartitionProduceResponse, partition: Partition | None, topic: TopicImage | None
    ) -> None:
        """Add the current leader to a NOT_LEADER_OR_FOLLOWER response."""
        if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and self.api_version >= LEADERS_FROM_VERSION:
            leader_id, leader_epoch = current_leader(partition, topic, answer.index)
            answer.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
            self.leader_ids.append(leader_id)

    def answer(self) -> ProduceResponse:
        if self.leader_ids:
            self.response.node_endpoints = [
                NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in leader_nodes(self.broker, self.listener, self.leader_ids)
            ]
        return self.response

    def _one_batch(
        self, partition: Partition, records: RecordBytes | None
    ) -> tuple[RecordBytes, BatchHeader]:
        """Check that there is exactly one batch of the current format for the partition, as in Kafka 4."""
        if records is None:
            raise InvalidRecordError("Produce requests must have at least one record batch per partition")
        if partition.is_internal:
            raise InvalidTopicError(f"{partition.topic} is internal: clients do not write to it")
        header = produced_batch(records.data, records.start, records.end, self.api_version)
        end = records.start + header.size_bytes
        if end == records.end:
            return records, header
        return RecordBytes(records.data, records.start, end), header

    def _accept(self, leading: Leading, result: AppendResult, answer: PartitionProduceResponse) -> None:
        partition = leading.partition
        answer.base_offset = result.first_offset
        answer.log_append_time_ms = result.log_append_time_ms
        answer.log_start_offset = result.log_start_offset
        if self.acks == ACKS_ALL and partition.log.high_watermark <= result.last_offset and not self.is_gone:
            self.unacknowledged.append(Pending(leading, result.last_offset, answer))
            if self.deferred is not None:
                partition.subscribe(self, HIGH_WATERMARK_MOVED)

    def _refuse(self, index: int, error_code: int, message: str | None) -> PartitionProduceResponse:
        self.failed = True
        return PartitionProduceResponse(
            index=index, error_code=error_code, base_offset=-1, error_message=message
        )

    # Waiting

    def wait(self) -> Deferred:
        deferred = Deferred(self._time_out, self._leave)
        if self.queued_count:
            deferred.kept_bytes = self.queued_bytes
        else:
            deferred.expire_after(self.timeout_ms)
        self.deferred = deferred
        for pending in self.unacknowledged:
            pending.partition.subscribe(self, HIGH_WATERMARK_MOVED)
        return deferred

    def partition_changed(self, partition: Partition, event: int, new_bytes: int) -> bool:
        waiting: list[Pending] = []
        here = False
        for pending in self.unacknowledged:
            if pending.partition is not partition:
                waiting.append(pending)
                continue
            outcome = pending.outcome()
            if outcome is None:
                waiting.append(pending)
                here = True
            elif outcome != ErrorCode.NONE:
                pending.fail(outcome)
                self._name_leader(pending.answer, partition, None)
        self.unacknowledged = waiting
        if not waiting and not self.queued_count and self.deferred is not None:
            self.deferred.resolve(self.answer())
        return not here

    def _time_out(self) -> None:
        for pending in self.unacknowledged:
            pending.fail(ErrorCode.REQUEST_TIMED_OUT)
        self._leave()
        if self.deferred is not None:
            self.deferred.resolve(self.answer())

    def _leave(self) -> None:
        """Stop waiting. Queued batches are still appended."""
        self.is_gone = True
        for pending in self.unacknowledged:
            pending.partition.unsubscribe(self, HIGH_WATERMARK_MOVED)
