"""Retention removes segments in which transactions began or were aborted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gralha.protocol.messages.fetch import AbortedTransaction, PartitionData
from gralha.simulation.reading import read_records
from gralha.storage.log import Log
from gralha.storage.opening import open_log
from tests.storage.disks import QuietDisk
from tests.storage.logs import NOW, append, crash, end_transaction, idempotent, make_log

CONFIG = {"retention.ms": "1000", "file.delete.delay.ms": "0"}
OLD = NOW - 2000
Reopen = Callable[[Log], Log]


def stay(log: Log) -> Log:
    return log


def restart(log: Log) -> Log:
    start = int(log.log_start_offset)
    log.close()
    again = open_log(
        log.disk,
        log.folder,
        "t",
        0,
        log.config,
        now_ms=NOW,
        clean=True,
        recovery_point=0,
        log_start_offset=start,
    )
    again.high_watermark = again.log_end_offset
    return again


def after_crash(log: Log) -> Log:
    again = crash(log.disk, log)
    again.high_watermark = again.log_end_offset
    return again


REOPENINGS = [stay, restart, after_crash]


def in_transaction(log: Log, sequence: int, timestamp: int = OLD) -> int:
    return int(idempotent(log, sequence, transactional=True, timestamp=timestamp).first_offset)


def retain(log: Log) -> int:
    log.high_watermark = log.log_end_offset
    return log.apply_retention(NOW)


def committed_from(log: Log, offset: int) -> list[int]:
    end = int(log.last_stable_offset())
    if offset >= end:
        return []
    records = log.read(offset, 1 << 20, end, True, True)
    named = log.aborted_transactions(offset, end, True)
    answer = PartitionData(records=records, aborted_transactions=[AbortedTransaction(*one) for one in named])
    return [int(record.offset) for record in read_records(answer, offset, reads_committed=True).records]


@pytest.mark.parametrize("reopen", REOPENINGS)
def test_an_aborted_transaction_whose_begin_is_removed_stays_hidden(tmp_path: Path, reopen: Reopen) -> None:
    log = make_log(QuietDisk(), tmp_path, CONFIG)
    in_transaction(log, 0)  # offset 0
    log.roll(NOW)
    in_transaction(log, 1, NOW)  # offset 1
    append(log)  # offset 2
    log.roll(NOW)
    end_transaction(log, 7, commit=False)  # offset 3
    assert retain(log) == 1
    log = reopen(log)
    assert log.log_start_offset == 1
    assert log.last_stable_offset() == 4
    assert log.aborted_transactions(1, 4, True) == [(7, 0)]
    assert committed_from(log, 1) == [2]
    log.release()


@pytest.mark.parametrize("reopen", REOPENINGS)
def test_the_index_of_aborted_transactions_goes_with_its_segment(tmp_path: Path, reopen: Reopen) -> None:
    log = make_log(QuietDisk(), tmp_path, CONFIG)
    for number in range(2):
        in_transaction(log, number)
        end_transaction(log, 7, commit=False)
        append(log, timestamp=OLD)
        log.roll(NOW)
    append(log)
    log.flush()
    index = tmp_path / "t-0" / f"{0:020}.txnindex"
    assert index.exists()
    # Markers have the time at which they are written: their segments stay for as long.
    log.high_watermark = log.log_end_offset
    assert log.apply_retention(NOW) == 0
    assert log.apply_retention(NOW + 1001) >= 2
    log = reopen(log)
    assert not index.exists()
    assert log.aborted_transactions(int(log.log_start_offset), int(log.log_end_offset), True) == []
    log.release()


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("reopen", REOPENINGS)
def test_an_open_transaction_whose_begin_is_removed_holds_back_the_rest(
    tmp_path: Path, reopen: Reopen, is_commit: bool
) -> None:
    log = make_log(QuietDisk(), tmp_path, CONFIG)
    in_transaction(log, 0)  # offset 0
    log.roll(NOW)
    append(log)  # offset 1
    in_transaction(log, 1, NOW)  # offset 2
    append(log)  # offset 3
    assert retain(log) == 1
    log = reopen(log)
    assert (log.log_start_offset, log.last_stable_offset()) == (1, 1)
    assert log.has_open_transaction(7, 0)
    assert committed_from(log, 1) == []
    end_transaction(log, 7, is_commit)  # offset 4
    log.high_watermark = log.log_end_offset
    assert log.last_stable_offset() == 5
    assert committed_from(log, 1) == ([1, 2, 3] if is_commit else [1, 3])
    log.release()


def test_a_transaction_of_which_nothing_is_left_still_waits_for_its_end(tmp_path: Path) -> None:
    """As in Kafka: the transaction may go on."""
    log = make_log(QuietDisk(), tmp_path, CONFIG)
    in_transaction(log, 0)
    log.roll(NOW)
    append(log)
    assert retain(log) == 1
    assert (log.log_start_offset, log.last_stable_offset()) == (1, 1)
    in_transaction(log, 1, NOW)
    end_transaction(log, 7, commit=True)
    log.high_watermark = log.log_end_offset
    assert log.last_stable_offset() == 4
    assert committed_from(log, 1) == [1, 2]
    log.release()
