"""Every message in every version: round trips, truncation, garbage, and what encoding refuses."""

import contextlib
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.protocol.message_strategies import CASES, Case, decoded, encoded, messages

from gralha.protocol.message import Message
from gralha.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    ReplicaState,
)
from gralha.protocol.messages.fetch_snapshot import (
    FetchSnapshotResponse,
    FetchSnapshotResponsePartition,
    FetchSnapshotResponseTopic,
)
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from gralha.protocol.messages.produce import ProduceRequest
from gralha.protocol.primitives import SPLICE_FROM_BYTES, ProtocolError, Reader, RecordBytes, Writer

# Few examples for each of some 500 messages and versions are many thousands of values.
few = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
all_cases = pytest.mark.parametrize("case", CASES, ids=str)


@all_cases
@few
@given(st.data())
def test_a_message_survives_the_round_trip_and_no_truncation(case: Case, data: st.DataObject) -> None:
    message = data.draw(messages(case))
    whole = encoded(message, case.version)
    assert decoded(case.cls, whole, case.version) == message
    for end in range(len(whole)):
        with pytest.raises(ProtocolError):
            case.cls.decode(Reader(whole, 0, end), case.version)


@all_cases
@few
@given(st.data())
def test_damaged_bytes_decode_or_are_refused(case: Case, data: st.DataObject) -> None:
    damaged = bytearray(encoded(data.draw(messages(case)), case.version))
    for position in data.draw(st.lists(st.integers(0, max(len(damaged) - 1, 0)), min_size=1, max_size=3)):
        damaged[position : position + 1] = data.draw(st.binary(max_size=4))
    try:
        message = case.cls.decode(Reader(bytes(damaged)), case.version)
    except ProtocolError:
        return
    # A decoded message is whole: it can be encoded, and decoded again it is the same.
    assert decoded(case.cls, encoded(message, case.version), case.version) == message


@pytest.mark.parametrize("filling", [b"\xff", b"\x7f", b"\x00", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07"])
def test_announced_lengths_allocate_nothing(filling: bytes) -> None:
    """Bytes that announce gigabytes of strings, arrays and tagged fields cost no more than they are long."""
    hostile = filling * (2000 // len(filling))
    # Loaded beforehand: that takes memory too.
    classes = [(case, case.cls) for case in CASES]
    tracemalloc.start()
    try:
        for case, cls in classes:
            for start in range(0, 40, 3):
                tracemalloc.reset_peak()
                before, _ = tracemalloc.get_traced_memory()
                with contextlib.suppress(ProtocolError):
                    cls.decode(Reader(bytes(start) + hostile), case.version)
                _, peak = tracemalloc.get_traced_memory()
                assert peak - before < 400_000, case
    finally:
        tracemalloc.stop()


@all_cases
def test_other_versions_do_not_exist(case: Case) -> None:
    versions = case.message.body.versions
    for version in (versions.low - 1, versions.high + 1):
        with pytest.raises(ProtocolError, match="has no version"):
            case.cls.decode(Reader(bytes(100)), version)
        with pytest.raises(ProtocolError, match="has no version"):
            case.cls().encode(Writer(), version)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (MetadataRequest(allow_auto_topic_creation=False), 3),
        (MetadataRequest(include_cluster_authorized_operations=True), 11),
        (FetchRequest(replica_id=3), 15),
        (FetchRequest(replica_state=ReplicaState(3, 7)), 14),
        (FetchResponse(session_id=1), 6),
        (
            FetchResponse(
                responses=[
                    FetchableTopicResponse(partitions=[PartitionData(current_leader=LeaderIdAndEpoch())])
                ]
            ),
            11,
        ),
    ],
)
def test_a_field_that_a_version_cannot_carry_is_not_dropped(message: Message, version: int) -> None:
    with pytest.raises(ProtocolError, match="cannot carry"):
        message.encode(Writer(), version)


@pytest.mark.parametrize(
    ("message", "version"),
    [(MetadataRequest(topics=None), 0), (MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 9)],
)
def test_null_is_refused_where_the_version_has_none(message: Message, version: int) -> None:
    with pytest.raises(ProtocolError, match="is null"):
        message.encode(Writer(), version)


def test_records_are_not_null_where_they_must_be_there() -> None:
    def response(records: RecordBytes | None) -> FetchSnapshotResponse:
        partition = FetchSnapshotResponsePartition(unaligned_records=records)
        return FetchSnapshotResponse(topics=[FetchSnapshotResponseTopic(partitions=[partition])])

    with pytest.raises(ProtocolError, match="is null"):
        response(None).encode(Writer(), 1)
    # The length of the records, then the tagged fields of partition, topic and response.
    empty = encoded(response(RecordBytes(b"", 0, 0)), 1)
    assert empty.endswith(bytes.fromhex("01" + "000000"))
    with pytest.raises(ProtocolError, match="is null"):
        FetchSnapshotResponse.decode(Reader(empty[:-4] + bytes(4)), 1)


def test_an_ignorable_field_is_left_out_silently() -> None:
    response = FetchResponse(throttle_time_ms=5, error_code=9)
    assert decoded(FetchResponse, encoded(response, 4), 4) == FetchResponse(throttle_time_ms=5)


def test_a_tagged_field_must_be_as_long_as_it_says() -> None:
    request = encoded(FetchRequest(cluster_id="abc"), 12)
    tagged = bytes.fromhex("01" + "00" + "04" + "04616263")
    assert request.endswith(tagged)
    with pytest.raises(ProtocolError, match="announced"):
        FetchRequest.decode(Reader(request.replace(tagged, bytes.fromhex("010005046162630000"))), 12)


@pytest.mark.parametrize("tags", ["02" + "6401ff" + "6401ff", "02" + "6501ff" + "6401ff"])
def test_tags_must_ascend(tags: str) -> None:
    request = encoded(FetchRequest(), 12)
    with pytest.raises(ProtocolError, match="follows tag"):
        FetchRequest.decode(Reader(request[:-1] + bytes.fromhex(tags)), 12)
    with pytest.raises(ProtocolError, match="follows tag"):
        Reader(bytes.fromhex(tags)).tagged_fields()


def test_record_batches_are_not_copied_on_the_way_through() -> None:
    batch = bytes(SPLICE_FROM_BYTES)
    writer = Writer()
    records = RecordBytes(batch, 0, len(batch))
    FetchResponse(
        responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])],
    ).encode(writer, 12)
    assert any(chunk is batch for chunk in writer.finish())

    frame = bytes.fromhex("ffff" + "0001" + "000003e8" + "00000001" + "000174" + "00000001" + "00000000")
    frame += len(batch).to_bytes(4, "big") + batch
    found = ProduceRequest.decode(Reader(frame), 3).topic_data[0].partition_data[0].records
    assert found is not None
    assert found.data is frame
    assert (found.start, found.end) == (len(frame) - len(batch), len(frame))


def test_defaults_are_not_shared() -> None:
    one, other = FetchRequest(), FetchRequest()
    one.topics.append(Any)  # type: ignore[arg-type]
    assert other.topics == []
    assert FetchRequest().topics == []


def test_messages_compare_and_print_by_value() -> None:
    assert MetadataRequest(topics=[MetadataRequestTopic(name="a")]) != MetadataRequest()
    assert MetadataRequest() != FetchRequest()
    assert MetadataRequest() != "MetadataRequest"
    unknown = MetadataRequest(unknown_tagged_fields=((9, b"x"),))
    assert unknown != MetadataRequest()
    assert repr(ReplicaState(1, 2)) == "ReplicaState(replica_id=1, replica_epoch=2)"
    assert repr(unknown).endswith("unknown_tagged_fields=((9, b'x'),))")
