"""A leader accepts or refuses batches, with Kafka's errors, and writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastcrc import crc32

from gralha.protocol import compression
from gralha.protocol.control_records import ABORT, control_key
from gralha.protocol.errors import (
    CorruptMessageError,
    ErrorCode,
    FencedLeaderEpochError,
    InvalidRecordError,
    KafkaError,
    KafkaStorageError,
    MessageTooLargeError,
    RecordListTooLargeError,
)
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.record_check import RecordsRejectedError
from gralha.protocol.records import (
    Record,
    batches,
    crc_is_valid,
    decode_records,
    encode_batch,
    read_header,
)
from gralha.storage.disk import DiskError, WouldBlock
from gralha.storage.log import COORDINATOR, RAFT_LEADER, Log
from tests.storage.disks import QuietDisk, failing
from tests.storage.logs import (
    NOW,
    all_offsets,
    append,
    as_records,
    batch,
    end_transaction,
    idempotent,
    log_file,
    make_log,
    reopen,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return make_log(QuietDisk(), tmp_path)


def test_offsets_and_epochs_are_assigned_and_the_crc_still_fits(log: Log) -> None:
    sent = [batch(3), batch(1, size=5000), batch(2, compression=compression.ZSTD)]
    for number, data in enumerate(sent):
        log.append_as_leader(as_records(data), number // 2 + 4, NOW)
    stored = log_file(log).read_bytes()
    found = batches(stored, 0, len(stored))
    assert [(header.base_offset, header.partition_leader_epoch) for _, header in found] == [
        (0, 4),
        (3, 4),
        (4, 5),
    ]
    assert all(crc_is_valid(stored, position, header) for position, header in found)
    for (position, header), data in zip(found, sent, strict=True):
        assert stored[position + 16 : position + header.size_bytes] == data[16:]
    assert log.epochs.entries == [(4, 0), (5, 4)]
    assert log.end_offset_for_epoch(4) == (4, 4)


def test_the_result_says_where_it_lies(log: Log) -> None:
    append(log, 5)
    result = append(log, 3)
    assert (result.first_offset, result.last_offset, result.duplicate) == (5, 7, False)
    assert (result.log_append_time_ms, result.log_start_offset) == (-1, 0)


def test_an_append_is_one_write(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    append(log)
    disk.events.clear()
    append(log)
    assert disk.events == [("append", str(log_file(log)), 0)]


def patched(data: bytes, position: int, new: bytes) -> bytes:
    """The batch with other bytes and a CRC that fits them."""
    changed = data[:position] + new + data[position + len(new) :]
    return changed[:17] + crc32.iscsi(changed[21:]).to_bytes(4, "big") + changed[21:]


def test_bad_batches_are_refused(log: Log) -> None:
    good = batch(3)
    cases: list[tuple[bytes, type[KafkaError]]] = [
        (b"", InvalidRecordError),
        (good[:-1], InvalidRecordError),
        (good[:40], InvalidRecordError),
        (good[:-1] + b"x", CorruptMessageError),
        (good[:16] + b"\x01" + good[17:], CorruptMessageError),
        (good + good, InvalidRecordError),
        (batch(3, base_offset=1), InvalidRecordError),
        (patched(good, 23, (3).to_bytes(4, "big")), InvalidRecordError),  # last offset delta
        (patched(good, 23, b"\xff\xff\xff\xff"), InvalidRecordError),
        (patched(good, 57, (0).to_bytes(4, "big")), InvalidRecordError),  # count
        (batch(1, control=True), InvalidRecordError),
        (batch(1, producer_id=1, producer_epoch=0, base_sequence=-1), InvalidRecordError),
        (batch(1, size=2_000_000), MessageTooLargeError),
    ]
    for data, error in cases:
        with pytest.raises(error):
            log.append_as_leader(as_records(data), 0, NOW)
    assert log.log_end_offset == 0
    assert log_file(log).stat().st_size == 0


def test_a_cut_second_batch_is_ignored(log: Log) -> None:
    good = batch(2)
    log.append_as_leader(as_records(good + good[:-1]), 0, NOW)
    assert all_offsets(log) == [(0, 1)]
    assert log_file(log).stat().st_size == len(good)


def test_the_size_limits(tmp_path: Path) -> None:
    data = batch(1, size=400)
    size = len(data)
    log = make_log(QuietDisk(), tmp_path, {"max.message.bytes": str(size)})
    log.append_as_leader(as_records(data), 0, NOW)
    with pytest.raises(MessageTooLargeError):
        append(log, size=401)
    log = make_log(QuietDisk(), tmp_path / "2", {"segment.bytes": str(size - 1)})
    with pytest.raises(RecordListTooLargeError):
        log.append_as_leader(as_records(data), 0, NOW)


def test_timestamps_too_far_off_are_refused(tmp_path: Path) -> None:
    limits = {"message.timestamp.after.max.ms": "1000", "message.timestamp.before.max.ms": "500"}
    log = make_log(QuietDisk(), tmp_path, limits)
    for timestamp in (NOW + 1000, NOW - 500, -1):
        append(log, timestamp=timestamp)
    for timestamp in (NOW + 1001, NOW - 501):
        with pytest.raises(RecordsRejectedError) as caught:
            append(log, count=2, timestamp=timestamp)
        assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
        assert [index for index, _ in caught.value.record_errors] == [0, 1]
    mixed = encode_batch([Record(None, b"old", NOW - 501), Record(None, b"new", NOW)])
    with pytest.raises(RecordsRejectedError) as caught:
        log.append_as_leader(as_records(mixed), 0, NOW)
    assert [index for index, _ in caught.value.record_errors] == [0]
    assert log.log_end_offset == 3


def test_an_hour_ahead_is_the_default_limit(log: Log) -> None:
    append(log, timestamp=NOW + 3_600_000)
    append(log, timestamp=0)
    with pytest.raises(RecordsRejectedError):
        append(log, timestamp=NOW + 3_600_001)


def test_log_append_time(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"message.timestamp.type": "LogAppendTime"})
    result = append(log, count=2, timestamp=5)
    assert result.log_append_time_ms == NOW
    stored = log_file(log).read_bytes()
    header = read_header(stored, 0)
    assert crc_is_valid(stored, 0, header)
    assert header.is_log_append_time
    assert [record.timestamp for record in decode_records(stored, 0, header)] == [NOW, NOW]
    assert log.offset_of_max_timestamp() == (NOW, 0, 0)
    with pytest.raises(KafkaError) as caught:
        log.append_as_leader(as_records(stored), 0, NOW)
    assert caught.value.code == ErrorCode.INVALID_TIMESTAMP


def test_compacted_topics_need_keys(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, {"cleanup.policy": "compact"})
    append(log, 3)
    for codec in (compression.NONE, compression.GZIP):
        data = encode_batch([Record(b"k", b"v", NOW), Record(None, b"v", NOW)], compression=codec)
        with pytest.raises(RecordsRejectedError) as caught:
            log.append_as_leader(as_records(data), 0, NOW)
        assert caught.value.code == ErrorCode.INVALID_RECORD
        assert [index for index, _ in caught.value.record_errors] == [1]
    assert log.log_end_offset == 3


@pytest.mark.parametrize("name", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sent", [compression.NONE, compression.LZ4])
def test_the_topics_compression_type_wins(tmp_path: Path, name: str, sent: int) -> None:
    log = make_log(QuietDisk(), tmp_path, {"compression.type": name})
    data = batch(5, compression=sent, producer_id=3, producer_epoch=0, base_sequence=0)
    log.append_as_leader(as_records(data), 0, NOW)
    stored = log_file(log).read_bytes()
    header = read_header(stored, 0)
    assert crc_is_valid(stored, 0, header)
    assert compression.NAMES[header.compression] == name.replace("uncompressed", "none")
    records = decode_records(stored, 0, header)
    assert [record.value for record in records] == [
        record.value for record in decode_records(data, 0, read_header(data, 0))
    ]
    assert log.append_as_leader(as_records(data), 0, NOW).duplicate


def test_the_quorum_may_append_several_batches(log: Log) -> None:
    append(log)
    data = batch(2) + batch(1, control=True) + batch(3)
    result = log.append_as_leader(RecordBytes(data, 0, len(data)), 2, NOW, origin=RAFT_LEADER)
    assert (result.first_offset, result.last_offset) == (1, 6)
    assert all_offsets(log) == [(0, 0), (1, 2), (3, 3), (4, 6)]
    assert log.latest_epoch == 2


def test_coordinators_write_without_sequences(log: Log) -> None:
    data = batch(1, producer_id=5, producer_epoch=0, transactional=True)
    for _ in range(2):
        assert not log.append_as_leader(as_records(data), 0, NOW, origin=COORDINATOR).duplicate
    assert log.log_end_offset == 2


def test_followers_keep_offsets_and_epochs(tmp_path: Path) -> None:
    leader = make_log(QuietDisk(), tmp_path / "leader")
    for number in range(20):
        append(leader, number % 3 + 1, epoch=number // 7)
    follower = make_log(QuietDisk(), tmp_path / "follower", {"segment.bytes": "500"})
    sent = log_file(leader).read_bytes()
    half = batches(sent, 0, len(sent))[9][0]
    follower.append_as_follower(RecordBytes(sent, 0, half + 30))  # with a cut batch at the end
    follower.append_as_follower(RecordBytes(sent, half, len(sent)))
    assert all_offsets(follower) == all_offsets(leader)
    assert follower.epochs.entries == leader.epochs.entries
    assert len(follower.segments) > 3
    stored = b"".join(log_file(follower, number).read_bytes() for number in range(len(follower.segments)))
    assert stored == sent
    for bad in (sent[:half], sent[half:-1] + b"x"):
        with pytest.raises(KafkaError):
            follower.append_as_follower(RecordBytes(bad, 0, len(bad)))
    assert follower.log_end_offset == leader.log_end_offset


def test_a_follower_leaves_out_records_of_a_later_leader(tmp_path: Path) -> None:
    """They would hide that the two logs have parted before them."""
    log = make_log(QuietDisk(), tmp_path)
    data = b"".join(
        batch(1, base_offset=offset, leader_epoch=epoch) for offset, epoch in enumerate((1, 1, 2, 1))
    )
    log.append_as_follower(RecordBytes(data, 0, len(data)), NOW, 1)
    assert (log.log_end_offset, log.latest_epoch) == (2, 1)
    later = batch(1, base_offset=2, leader_epoch=2)
    with pytest.raises(FencedLeaderEpochError, match="leader of epoch 1 has sent records of leader epoch 2"):
        log.append_as_follower(RecordBytes(later, 0, len(later)), NOW, 1)
    log.append_as_follower(RecordBytes(later, 0, len(later)), NOW, 2)
    assert (log.log_end_offset, log.latest_epoch) == (3, 2)


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    append(log, producer_id=7, producer_epoch=0, base_sequence=0)
    disk.before = failing("append", ".log")
    with pytest.raises(DiskError):
        append(log, producer_id=7, producer_epoch=0, base_sequence=1)
    disk.before = None
    assert log.log_end_offset == 1
    assert append(log, producer_id=7, producer_epoch=0, base_sequence=1).first_offset == 1


def test_a_follower_that_fails_midway_goes_on_where_it_failed(tmp_path: Path) -> None:
    leader = make_log(QuietDisk(), tmp_path / "leader")
    append(leader)
    idempotent(leader, 0, transactional=True)
    end_transaction(leader, 7, commit=False)
    append(leader)
    sent = log_file(leader).read_bytes()
    rest = batches(sent, 0, len(sent))[2][0]
    follower = make_log(QuietDisk(), tmp_path / "follower")
    marker = Record(control_key(ABORT), b"short", NOW)
    broken = encode_batch(
        [marker], base_offset=2, producer_id=7, producer_epoch=0, transactional=True, control=True
    )
    with pytest.raises(InvalidRecordError):
        follower.append_as_follower(RecordBytes(sent[:rest] + broken + sent[rest:], 0, rest + len(broken)))
    # The marker could not be noted: it and what comes after it are neither in the log nor in its file.
    assert follower.log_end_offset == 2
    assert log_file(follower).stat().st_size == follower.size_bytes()
    follower.high_watermark = 2
    assert follower.last_stable_offset() == 1
    follower.append_as_follower(RecordBytes(sent, rest, len(sent)))
    assert log_file(follower).read_bytes() == sent
    assert all_offsets(follower) == all_offsets(leader)
    follower.high_watermark = 4
    assert follower.last_stable_offset() == 4
    assert follower.aborted_transactions(0, 4, True) == [(7, 1)]


def test_a_marker_ends_its_transaction_also_while_the_index_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    idempotent(log, 0, transactional=True)
    disk.before = failing("append", ".txnindex")
    end_transaction(log, 7, commit=False)
    log.high_watermark = 2
    assert log.last_stable_offset() == 2
    assert log.aborted_transactions(0, 2, False) == [(7, 0)]
    log.flush()
    assert (log.flushed_offset, log.recovery_point) == (2, 0), "recovery builds the index from the log"
    assert "stays until this succeeds" in caplog.text
    disk.before = None
    log.flush()
    assert log.recovery_point == 2
    log.roll(NOW)
    append(log)
    log.close()
    log = reopen(disk, log)
    with pytest.raises(WouldBlock):
        log.aborted_transactions(0, 2, False)
    assert log.aborted_transactions(0, 2, True) == [(7, 0)]
    assert log.aborted_transactions(0, 2, False) == [(7, 0)]


def test_a_closed_log_refuses(log: Log) -> None:
    append(log)
    log.close()
    with pytest.raises(KafkaStorageError):
        append(log)
    with pytest.raises(KafkaStorageError):
        log.append_as_follower(as_records(batch(1, base_offset=1)))
