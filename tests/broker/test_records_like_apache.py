"""Batches that are wrong in one place: Apache Kafka's answers and ours, side by side.

Where both refuse, code, named records and reasons are the same. Where both accept, so is what they store.
There are two differences:

- Apache Kafka stores records with wrong offsets (or repairs them while it compresses anew), and records with
  a wrong length inside compressed batches, which its own consumers cannot read. We refuse them.
- Apache Kafka fails with UNKNOWN_SERVER_ERROR where it did not expect what it found, such as compressed data
  that cannot be decompressed. We say what is wrong.
"""

import re
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from gralha.client.cluster import Cluster
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from gralha.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import decode_records, read_header
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.protocol.malformed_batches import Case, all_cases

CASES = all_cases()
TIMEOUT_MS = 20_000
PATIENCE_S = 30
NOT_READY = (
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
WHAT_WE_SAY = (ErrorCode.INVALID_RECORD, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
STRICTER = re.compile(r"\w+: (offset delta (-1|twice|too high|of the last)|size (-1|0|of|one|past))")


class Answer(NamedTuple):
    """The response that a client gets, without the times, which differ."""

    code: int
    log_start_offset: int
    has_offset: bool
    message: str | None
    record_errors: list[tuple[int, str | None]]


class Side:
    """One of the two brokers, and its topics for the settings of the cases."""

    def __init__(self, bootstrap: str) -> None:
        self.cluster = Cluster(bootstrap)
        self._topics: dict[tuple[tuple[str, str], ...], tuple[str, bytes]] = {}

    def topic(self, case: Case) -> tuple[str, bytes]:
        if case.settings not in self._topics:
            name = f"t{len(self._topics)}"
            configs = [CreatableTopicConfig(key, value) for key, value in case.settings]
            request = CreateTopicsRequest([CreatableTopic(name, 1, 1, configs=configs)], TIMEOUT_MS)
            created = self.cluster.send_to_controller(request, CreateTopicsResponse).topics[0]
            assert created.error_code == 0, created
            self._topics[case.settings] = name, created.topic_id
        return self._topics[case.settings]

    def produce(self, case: Case, now_ms: int) -> PartitionProduceResponse:
        name, topic_id = self.topic(case)
        data = case.make(now_ms)
        partition = PartitionProduceData(0, RecordBytes(data, 0, len(data)))
        topic = TopicProduceData(name, topic_id, [partition])
        deadline = time.monotonic() + PATIENCE_S
        while True:  # a topic has a leader a moment after it was created
            request = ProduceRequest(None, -1, TIMEOUT_MS, [topic])
            response = self.cluster.send_to_controller(request, ProduceResponse)
            answer = response.responses[0].partition_responses[0]
            if answer.error_code not in NOT_READY or time.monotonic() > deadline:
                return answer

    def stored(self, case: Case, offset: int, now_ms: int) -> object:
        """The records of a batch in the log, and its maximum timestamp and attributes."""
        name, topic_id = self.topic(case)
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[FetchTopic(name, topic_id, [wanted])]
        )
        found = self.cluster.send_to_controller(request, FetchResponse).responses[0].partitions[0].records
        assert found is not None
        header = read_header(found.data, found.start)
        assert header.base_offset == offset
        records = decode_records(found.data, found.start, header)
        is_append_time = header.is_log_append_time
        return (
            header.attributes,
            None if is_append_time else header.max_timestamp - now_ms,
            [
                (
                    one.offset - offset,
                    one.key,
                    one.value,
                    one.headers,
                    is_append_time or one.timestamp - now_ms,
                )
                for one in records
            ],
        )


def told(answer: PartitionProduceResponse) -> Answer:
    def timeless(text: str | None) -> str | None:
        # Inside compressed batches Kafka reads records in part, and says so.
        return text and re.sub(r"\d{10,}", "TIME", text.replace("PartialDefaultRecord", "DefaultRecord"))

    errors = [(one.batch_index, timeless(one.batch_index_error_message)) for one in answer.record_errors]
    return Answer(
        answer.error_code,
        answer.log_start_offset,
        answer.base_offset >= 0,
        # Kafka has a message only where it names records.
        timeless(answer.error_message) if errors else None,
        errors,
    )


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    """Apache Kafka's and ours."""
    with ApacheKafka() as apache, GralhaCluster() as gralha:
        pair = Side(apache.bootstrap), Side(gralha.bootstrap)
        yield pair
        for side in pair:
            side.cluster.close()


@pytest.mark.parametrize("name", CASES)
def test_the_same_answer(sides: tuple[Side, Side], name: str) -> None:
    case = CASES[name]
    now_ms = int(time.time() * 1000)
    theirs, ours = (side.produce(case, now_ms) for side in sides)
    if STRICTER.match(name) and theirs.error_code == ErrorCode.NONE:
        assert ours.error_code == ErrorCode.INVALID_RECORD
    elif theirs.error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
        assert ours.error_code in WHAT_WE_SAY
    else:
        assert told(ours) == told(theirs)
        if ours.error_code == ErrorCode.NONE:
            apache, gralha = sides
            assert gralha.stored(case, ours.base_offset, now_ms) == apache.stored(
                case, theirs.base_offset, now_ms
            )
