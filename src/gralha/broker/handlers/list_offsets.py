"""ListOffsets (versions 1 to 11): the offset of a time in a partition, or of one of its ends.

A timestamp of 0 or more means the first record at that time or later. Negative timestamps are special: -1 the
end (the last stable offset for read_committed), -2 the start, -3 the record with the largest timestamp (from
version 7, KIP-734), -4 the start of the local log (8, KIP-405), -5 the last tiered offset (9, KIP-1005), -6
the first offset to be tiered (11, KIP-1023). There is no tiered storage, so -4 is the start, and -5 and -6
are not found. If nothing is found, or it is not readable yet, the answer is offset -1 without an error.

A follower (replica id 0 or more) and a debugging client (-2) see the log up to its end. A new leader whose
high watermark is older than its epoch does not know the end that consumers have seen. It answers
OFFSET_NOT_AVAILABLE, and clients try again (KIP-207).
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.fetching.wanted import CONSUMER
from gralha.broker.handlers import partitions, topic_rights
from gralha.broker.pipeline import RequestContext
from gralha.protocol.acls import Operation
from gralha.protocol.batches import NO_LEADER_EPOCH
from gralha.protocol.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkaError,
    KafkaStorageError,
    LeaderNotAvailableError,
    OffsetNotAvailableError,
    UnsupportedVersionError,
)
from gralha.protocol.fetch_numbers import READ_COMMITTED
from gralha.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from gralha.protocol.special_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from gralha.replication.partition import Partition
from gralha.storage.disk import DiskError

MIN_VERSIONS: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

LEADER_EPOCHS_FROM_VERSION: Final = 4
OFFSET_NOT_AVAILABLE_FROM_VERSION: Final = 5
DEBUGGING_CLIENT: Final = -2


def handle(
    broker: Broker, context: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse | Awaitable[ListOffsetsResponse]:
    answers = _Answers(broker, context.api_version, request)
    allowed, refused = request.topics, list[ListOffsetsTopic]()
    if broker.rights.authorizer is not None:
        allowed, refused = topic_rights.split(
            broker.rights, context, Operation.DESCRIBE, request.topics, lambda topic: topic.name
        )
    response = ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name, partitions=answers.of_topic(topic.name, topic.partitions)
            )
            for topic in allowed
        ]
    )
    response.topics += [_refused(topic) for topic in refused]
    if answers.searches:
        return _search_and_answer(broker, answers.searches, response, context.api_version)
    return _fit(response, context.api_version)


def _refused(topic: ListOffsetsTopic) -> ListOffsetsTopicResponse:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    partitions = [
        ListOffsetsPartitionResponse(partition_index=wanted.partition_index, error_code=code)
        for wanted in topic.partitions
    ]
    return ListOffsetsTopicResponse(name=topic.name, partitions=partitions)


def _fit(response: ListOffsetsResponse, version: int) -> ListOffsetsResponse:
    """Removes fields that an old version does not have."""
    if version < LEADER_EPOCHS_FROM_VERSION:
        for topic in response.topics:
            for answer in topic.partitions:
                answer.leader_epoch = NO_LEADER_EPOCH
    return response


class _Search:
    """A search for a timestamp in a log, and its answer."""

    def __init__(
        self, partition: Partition, timestamp: int, end_offset: int, answer: ListOffsetsPartitionResponse
    ) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.timestamp = timestamp
        self.end_offset = end_offset
        self.answer = answer
        # For consumers: the error if the timestamp may be after the known end of the log.
        self.end_error: KafkaError | None = None
        self.found: tuple[int, int, int] | None = None
        self.error: KafkaError | None = None

    def run(self) -> None:
        """Searches the log. It may wait for the disk, so it runs in a thread."""
        log = self.partition.log
        try:
            if self.timestamp == MAX_TIMESTAMP:
                self.found = log.offset_of_max_timestamp()
            else:
                self.found = log.offset_for_timestamp(self.timestamp)
        except KafkaError as error:
            self.error = error
        except DiskError as error:
            self.error = KafkaStorageError(str(error))

    def finish(self) -> None:
        answer = self.answer
        if self.partition.leader_epoch != self.leader_epoch:
            answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif self.error is not None:
            answer.error_code = self.error.code
        elif self.found is not None and self.found[1] < self.end_offset:
            answer.timestamp, answer.offset, answer.leader_epoch = self.found
        elif self.end_error is not None:
            answer.error_code = self.end_error.code


async def _search_and_answer(
    broker: Broker, searches: list[_Search], response: ListOffsetsResponse, version: int
) -> ListOffsetsResponse:
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(broker.readers, _run_all, searches)
    for search in searches:
        search.finish()
    return _fit(response, version)


def _run_all(searches: list[_Search]) -> None:
    for search in searches:
        search.run()


class _Answers:
    """Answers everything that needs no search, and collects the searches."""

    def __init__(self, broker: Broker, version: int, request: ListOffsetsRequest) -> None:
        self.broker = broker
        self.version = version
        self.replica_id = request.replica_id
        self.read_committed = request.isolation_level == READ_COMMITTED
        self.counts = Counter(
            (topic.name, wanted.partition_index) for topic in request.topics for wanted in topic.partitions
        )
        self.searches: list[_Search] = []

    def of_topic(
        self, topic: str, wanted_partitions: list[ListOffsetsPartition]
    ) -> list[ListOffsetsPartitionResponse]:
        answers = []
        for wanted in wanted_partitions:
            answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
            try:
                self._answer(topic, wanted, answer)
            except KafkaError as error:
                answer.error_code = error.code
            answers.append(answer)
        return answers

    def _answer(self, topic: str, wanted: ListOffsetsPartition, answer: ListOffsetsPartitionResponse) -> None:
        timestamp = wanted.timestamp
        if self.counts[topic, wanted.partition_index] > 1:
            raise InvalidRequestError(f"{topic}-{wanted.partition_index} occurs more than once")
        if timestamp < 0 and self.version < MIN_VERSIONS.get(timestamp, self.version + 1):
            raise UnsupportedVersionError(f"Timestamp {timestamp} has no meaning in version {self.version}")
        partition = self._partition(topic, wanted)
        log = partition.log
        if timestamp == LATEST:
            end_error = self._end_error(partition)
            if end_error is not None:
                raise end_error
            answer.offset = self._end_offset(partition)
            answer.leader_epoch = partition.leader_epoch
        elif timestamp in (EARLIEST, EARLIEST_LOCAL):
            answer.offset = log.log_start_offset
            answer.leader_epoch = log.epochs.epoch_for_offset(log.log_start_offset)
        elif timestamp not in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            search = _Search(partition, timestamp, self._end_offset(partition), answer)
            search.end_error = self._end_error(partition)
            self.searches.append(search)

    def _partition(self, topic: str, wanted: ListOffsetsPartition) -> Partition:
        if self.replica_id == DEBUGGING_CLIENT:
            return partitions.hosted(self.broker, topic, wanted.partition_index)
        return partitions.led(self.broker, topic, wanted.partition_index, wanted.current_leader_epoch)

    def _end_error(self, partition: Partition) -> KafkaError | None:
        if self.replica_id != CONSUMER or not partition.is_behind():
            return None
        if self.version >= OFFSET_NOT_AVAILABLE_FROM_VERSION:
            return OffsetNotAvailableError()
        return LeaderNotAvailableError()

    def _end_offset(self, partition: Partition) -> int:
        if self.replica_id == CONSUMER:
            return partition.end_offset(self.read_committed)
        return partition.log.log_end_offset
