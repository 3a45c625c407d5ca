"""What a client claims or asks for stays within bounds: counts, compressed rubbish, reads beside appends."""

import zlib
from pathlib import Path
from unittest import mock

import pytest
from fastcrc import crc32

from gralha.protocol import compression
from gralha.protocol.errors import InvalidRecordError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import RecordsRejectedError
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, append, as_records, batch, make_log

HOUR_MS = 3_600_000


def claiming(count: int, compressed: bool = False) -> RecordBytes:
    """An empty batch whose header claims so many records, with a right CRC."""
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
def test_a_batch_from_the_future_names_its_records_only_if_that_is_cheap(tmp_path: Path, codec: int) -> None:
    log = make_log(QuietDisk(), tmp_path)
    with (
        mock.patch.object(zlib, "decompressobj", side_effect=AssertionError("decompressed for nothing")),
        pytest.raises(RecordsRejectedError) as refused,
    ):
        append(log, 3, timestamp=NOW + 2 * HOUR_MS, compression=codec)
    assert len(refused.value.record_errors) == (3 if codec == compression.NONE else 0)
    with pytest.raises(RecordsRejectedError) as refused:
        append(log, 1, timestamp=NOW + 2 * HOUR_MS, size=70_000)
    assert refused.value.record_errors == []
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
