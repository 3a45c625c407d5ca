"""What a client claims or asks for stays within bounds: counts, compressed rubbish, reads beside appends."""

from itertools import pairwise
from pathlib import Path

import pytest
from fastcrc import crc32

from gralha.protocol import compression
from gralha.protocol.errors import InvalidRecordError, MessageTooLargeError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.record_check import RecordsRejectedError
from gralha.protocol.records import Record, encode_batch
from gralha.storage.validation import COMPRESS, DECOMPRESS, DONE, SLICE, BatchCheck
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, append, as_records, batch, make_log

HOUR_MS = 3_600_000


def claiming(count: int, compressed: bool = False) -> RecordBytes:
    """An empty batch whose header claims to have that many records. Its CRC is right."""
    data = bytearray(batch(1)[:61])
    data[8:12] = (61 - 12).to_bytes(4)
    data[21:23] = (compression.ZSTD if compressed else 0).to_bytes(2)
    data[23:27] = (count - 1).to_bytes(4)
    data[57:61] = count.to_bytes(4)
    data[17:21] = crc32.iscsi(bytes(data[21:])).to_bytes(4)
    return as_records(bytes(data))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_batch_cannot_claim_more_records_than_it_has_room_for(tmp_path: Path, compressed: bool) -> None:
    log = make_log(QuietDisk(), tmp_path)
    with pytest.raises(InvalidRecordError, match="claims to have"):
        log.append_as_leader(claiming(2**31 - 1, compressed), 0, NOW)
    assert log.log_end_offset == 0
    log.release()


def test_the_smallest_records_fit(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    append(log, 100, size=0)
    assert log.log_end_offset == 100
    log.release()


@pytest.mark.parametrize("codec", [compression.NONE, compression.GZIP])
def test_a_batch_from_the_future_names_its_records(tmp_path: Path, codec: int) -> None:
    log = make_log(QuietDisk(), tmp_path)
    with pytest.raises(RecordsRejectedError) as refused:
        append(log, 3, timestamp=NOW + 2 * HOUR_MS, size=70_000, compression=codec)
    assert [index for index, _ in refused.value.record_errors] == [0, 1, 2]
    log.release()


@pytest.mark.parametrize("codec", [compression.NONE, compression.GZIP, compression.ZSTD])
def test_the_event_loop_takes_slices_of_a_large_batch(tmp_path: Path, codec: int) -> None:
    """Neither more records, nor more headers of one record, than a slice may have."""
    log = make_log(QuietDisk(), tmp_path)
    headers: list[tuple[str, bytes | None]] = [("", None)] * (2 * SLICE)
    records = [Record(None, None, NOW)] * (2 * SLICE) + [Record(None, None, NOW, headers)]
    data = encode_batch(records, compression=codec)
    check = log.check(as_records(data), NOW)
    assert not check.begin()
    if check.needs_thread:
        check.work()
    walked = [progress(check)]
    while not check.walk():
        walked.append(progress(check))
    assert max(after - before for before, after in pairwise([0, *walked])) <= SLICE
    assert len(walked) >= 4
    log.append_checked(check, 0, NOW)
    assert log.log_end_offset == 2 * SLICE + 1
    log.release()


def progress(check: BatchCheck) -> int:
    """How many records and headers were checked."""
    records = check.records
    assert records is not None
    headers = 2 * SLICE - records.headers_left if records.index > 2 * SLICE else 0
    return int(records.index + headers)


@pytest.mark.parametrize(
    ("codec", "size", "step"),
    [
        (compression.NONE, 900_000, DONE),
        (compression.LZ4, 100_000, DONE),
        (compression.LZ4, 400_000, DECOMPRESS),
        (compression.ZSTD, 100_000, DONE),
        (compression.ZSTD, 400_000, DECOMPRESS),
    ],
)
def test_the_event_loop_decompresses_small_batches_only(
    tmp_path: Path, codec: int, size: int, step: int
) -> None:
    log = make_log(QuietDisk(), tmp_path)
    data = encode_batch([Record(None, bytes(size), NOW)], compression=codec)
    check = log.check(as_records(data), NOW)
    assert check.begin() == (step == DONE)
    assert check.step == step
    log.release()


@pytest.mark.parametrize(("size", "step"), [(1_000, DONE), (100_000, COMPRESS)])
def test_the_event_loop_compresses_small_batches_only(tmp_path: Path, size: int, step: int) -> None:
    log = make_log(QuietDisk(), tmp_path, {"compression.type": "gzip"})
    check = log.check(as_records(encode_batch([Record(None, bytes(size), NOW)])), NOW)
    assert check.begin() == (step == DONE)
    assert check.step == step
    check.finish()
    assert check.header.compression == compression.GZIP
    log.release()


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    data = encode_batch([Record(None, bytes(140_000_000), NOW)], compression=compression.ZSTD)
    check = log.check(as_records(data), NOW)
    assert not check.begin()
    check.work()
    assert (check.is_huge, check.step) == (True, DECOMPRESS)
    with pytest.raises(MessageTooLargeError, match="decompressed"):
        check.work()
    log.release()


def test_a_check_goes_on_with_a_copy(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    data = encode_batch([Record(b"k", b"v", NOW)] * (SLICE + 1))
    check = log.check(RecordBytes(b"???" + data, 3, 3 + len(data)), NOW)
    assert not check.begin()
    check.move_to(as_records(data))
    assert check.walk()
    log.append_checked(check, 0, NOW)
    assert log.read(0, 1 << 20, SLICE + 1, True, True).size() == len(data)
    log.release()


def test_settings_that_changed_meanwhile_are_noticed(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    check = log.check(as_records(batch(1)), NOW)
    assert check.begin()
    log.config = log.config.with_overrides({"cleanup.policy": "compact"})
    with pytest.raises(AssertionError, match="settings"):
        log.append_checked(check, 0, NOW)
    log.release()


def test_a_read_in_a_thread_stops_at_its_bound_while_an_append_is_half_done(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    append(log, 10)
    bound = log.log_end_offset
    # The append of another batch has written it, but not moved the end of the log yet.
    append(log, 5)
    log.log_end_offset = bound
    found = log.read(0, 1 << 20, bound, True, True)
    assert found.size() == len(batch(10))
    log.release()
