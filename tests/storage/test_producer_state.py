"""Sequence checks, fencing, duplicates and snapshots of idempotent producers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.protocol.errors import (
    ErrorCode,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaError,
    OutOfOrderSequenceNumberError,
)
from gralha.protocol.records import read_header
from gralha.storage.producer_state import (
    BatchMetadata,
    CorruptSnapshotError,
    ProducerEntry,
    ProducerState,
    decode_snapshot,
    encode_snapshot,
)
from tests.storage.disks import QuietDisk
from tests.storage.logs import (
    NOW,
    all_offsets,
    append,
    batch,
    crash,
    end_transaction,
    idempotent,
    make_log,
    reopen,
)

LAST = 2**31 - 1


def test_sequences_must_follow(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    assert idempotent(log, 0, count=3).first_offset == 0
    assert idempotent(log, 3).first_offset == 3
    for wrong in (5, 6, 2**31 - 1):
        with pytest.raises(OutOfOrderSequenceNumberError):
            idempotent(log, wrong)
    assert idempotent(log, 4).first_offset == 4
    assert log.log_end_offset == 5


def test_a_retry_of_the_last_five_gets_the_first_offsets(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    for number in range(7):
        idempotent(log, number * 2, count=2)
    for number in range(2, 7):
        result = idempotent(log, number * 2, count=2)
        assert (result.duplicate, result.first_offset, result.last_offset) == (
            True,
            number * 2,
            number * 2 + 1,
        )
        assert result.log_append_time_ms == NOW
    for number in range(2):
        with pytest.raises(OutOfOrderSequenceNumberError):
            idempotent(log, number * 2, count=2)
    with pytest.raises(OutOfOrderSequenceNumberError):
        idempotent(log, 12, count=1)  # a part of a batch is no retry of it
    assert log.log_end_offset == 14


def test_an_unknown_producer_may_begin_anywhere(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    assert idempotent(log, 41).first_offset == 0
    with pytest.raises(OutOfOrderSequenceNumberError):
        idempotent(log, 43)


def test_epochs_fence_and_begin_at_zero(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    idempotent(log, 0, producer_epoch=3)
    with pytest.raises(InvalidProducerEpochError):
        idempotent(log, 1, producer_epoch=2)
    with pytest.raises(OutOfOrderSequenceNumberError):
        idempotent(log, 1, producer_epoch=4)
    assert idempotent(log, 0, producer_epoch=4).first_offset == 1
    assert not idempotent(log, 1, producer_epoch=4).duplicate
    with pytest.raises(InvalidProducerEpochError):
        idempotent(log, 0, producer_epoch=3)


def test_sequences_wrap_around(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    idempotent(log, LAST - 1, count=1)
    assert idempotent(log, LAST, count=4).first_offset == 1  # 2147483647, 0, 1, 2
    assert idempotent(log, LAST, count=4).duplicate
    log = reopen(disk, log)
    assert idempotent(log, LAST, count=4).first_offset == 1
    with pytest.raises(OutOfOrderSequenceNumberError):
        idempotent(log, 4)
    assert idempotent(log, 3).first_offset == 5
    log = make_log(disk, tmp_path / "other")
    idempotent(log, LAST)
    assert idempotent(log, 0).first_offset == 1


@given(st.integers(0, LAST), st.integers(0, 1000))
def test_first_sequences(last_sequence: int, delta: int) -> None:
    first = BatchMetadata(last_sequence, 5000, delta, 0).first_sequence()
    assert (first + delta) % 2**31 == last_sequence
    assert 0 <= first <= LAST


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(0, 6)), max_size=30))
def test_whatever_is_retried_is_written_once(
    tmp_path_factory: pytest.TempPathFactory, sends: list[tuple[int, int, int]]
) -> None:
    """Producers send batches and repeat one of their last ones: each lands once, at one offset."""
    disk = QuietDisk()
    log = make_log(disk, tmp_path_factory.mktemp("log"), {"segment.bytes": "1000"})
    sent: dict[int, list[tuple[int, int, int]]] = {1: [], 2: []}
    expected: list[tuple[int, int]] = []
    for producer_id, count, repeat in sends:
        history = sent[producer_id]
        sequence = history[-1][0] + history[-1][1] if history else 0
        result = idempotent(log, sequence, count, producer_id)
        history.append((sequence, count, int(result.first_offset)))
        expected.append((int(result.first_offset), int(result.last_offset)))
        old_sequence, old_count, old_offset = history[-1 - min(repeat, len(history) - 1, 4)]
        again = idempotent(log, old_sequence, old_count, producer_id)
        assert (again.duplicate, again.first_offset) == (True, old_offset)
    assert all_offsets(log) == expected
    log = crash(disk, log)
    for producer_id, history in sent.items():
        if history:
            assert idempotent(log, history[-1][0], history[-1][1], producer_id).first_offset == history[-1][2]


def test_transactions_and_plain_batches_do_not_mix(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    idempotent(log, 0, transactional=True)
    with pytest.raises(InvalidTxnStateError):
        idempotent(log, 1)
    end_transaction(log, 7, commit=True)
    assert idempotent(log, 1).first_offset == 2


def test_old_coordinators_and_producers_cannot_end_a_transaction(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path)
    idempotent(log, 0, producer_epoch=2, transactional=True)
    with pytest.raises(InvalidProducerEpochError):
        end_transaction(log, 7, commit=True, producer_epoch=1, coordinator_epoch=5)
    end_transaction(log, 7, commit=True, producer_epoch=2, coordinator_epoch=5)
    with pytest.raises(KafkaError) as caught:
        end_transaction(log, 7, commit=False, producer_epoch=2, coordinator_epoch=4)
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert log.log_end_offset == 2


def test_idle_producers_expire_but_not_in_a_transaction(tmp_path: Path) -> None:
    log = make_log(QuietDisk(), tmp_path, producer_expiration_ms=1000)
    idempotent(log, 0, producer_id=1)
    idempotent(log, 0, producer_id=2, transactional=True)
    log.remove_expired_producers(NOW + 999)
    assert [entry.producer_id for entry in log.active_producers()] == [1, 2]
    log.remove_expired_producers(NOW + 1000)
    assert [entry.producer_id for entry in log.active_producers()] == [2]
    assert idempotent(log, 17, producer_id=1).first_offset == 2


def test_the_snapshot_has_kafkas_format() -> None:
    entry = ProducerEntry(7)
    entry.set_epoch(3)
    entry.add_batch(41, 100, 1, NOW)
    entry.coordinator_epoch = 5
    data = encode_snapshot([entry])
    fields = [
        "0001",  # version
        data[2:6].hex(),  # the CRC is checked below
        "00000001",  # entries
        "0000000000000007",  # producer id
        "0003",  # epoch
        "00000029",  # last sequence
        "0000000000000064",  # last offset
        "00000001",  # offset delta
        f"{NOW:016x}",
        "00000005",  # coordinator epoch
        "ff" * 8,  # no transaction
    ]
    assert data.hex() == "".join(fields)
    for position in range(len(data)):
        broken = bytearray(data)
        broken[position] ^= 0x10
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(bytes(broken))
    for length in range(len(data)):
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(data[:length])


ENTRIES = st.lists(
    st.tuples(
        st.integers(0, 2**63 - 1),
        st.integers(0, 2**15 - 1),
        st.integers(-1, 2**31 - 1),
        st.integers(-1, 2**62),
        st.lists(st.tuples(st.integers(0, LAST), st.integers(0, 2**62), st.integers(0, LAST)), max_size=7),
    ),
    max_size=5,
    unique_by=lambda described: described[0],
)


def vars_of(kept: BatchMetadata) -> tuple[int, int, int, int]:
    return kept.last_sequence, kept.last_offset, kept.offset_delta, kept.timestamp


@given(ENTRIES)
def test_snapshots_keep_the_last_batches(
    described: list[tuple[int, int, int, int, list[tuple[int, int, int]]]],
) -> None:
    entries = []
    for producer_id, epoch, coordinator_epoch, transaction, sent in described:
        entry = ProducerEntry(producer_id)
        entry.set_epoch(epoch)
        for sequence, offset, delta in sent:
            entry.add_batch(sequence, offset, delta, NOW)
        entry.coordinator_epoch = coordinator_epoch
        entry.transaction_first_offset = transaction
        entries.append(entry)
        assert len(entry.batches) == min(len(sent), 5)
    loaded = decode_snapshot(encode_snapshot(entries))
    for before, after in zip(entries, loaded, strict=True):
        assert after.producer_id == before.producer_id
        assert after.epoch == before.epoch
        assert after.coordinator_epoch == before.coordinator_epoch
        assert after.last_sequence() == before.last_sequence()
        assert after.last_offset() == before.last_offset()
        assert after.last_timestamp == before.last_timestamp
        assert after.transaction_first_offset == before.transaction_first_offset
        assert [vars_of(kept) for kept in after.batches] == [vars_of(kept) for kept in before.batches]


def test_a_snapshot_with_older_batches_is_checked_as_a_whole() -> None:
    entry = ProducerEntry(7)
    for number in range(3):
        entry.add_batch(number, number, 0, NOW)
    data = encode_snapshot([entry])
    assert len(decode_snapshot(data)[0].batches) == 3
    for length in range(len(data)):
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(data[:length])


def test_a_retry_of_any_of_the_last_five_is_known_after_a_start(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    for number in range(7):
        idempotent(log, number)
    log.close()
    log = make_log(disk, tmp_path, clean=True)
    for number in range(2, 7):
        result = idempotent(log, number)
        assert (result.duplicate, result.first_offset) == (True, number)
    with pytest.raises(OutOfOrderSequenceNumberError):
        idempotent(log, 1)
    assert idempotent(log, 7).first_offset == 7


def test_a_full_entry_makes_no_new_objects() -> None:
    entry = ProducerEntry(7)
    for number in range(5):
        entry.add_batch(number, number, 0, NOW)
    objects = {id(kept) for kept in entry.batches}
    entry.add_batch(5, 5, 0, NOW)
    assert {id(kept) for kept in entry.batches} == objects
    assert [kept.last_sequence for kept in entry.batches] == [1, 2, 3, 4, 5]


def test_snapshots_are_taken_on_roll_and_close(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    for number in range(3):
        idempotent(log, number)
        log.roll(NOW)
    append(log)
    log.close()
    names = sorted(path.name for path in (tmp_path / "t-0").glob("*.snapshot"))
    assert names == [f"{offset:020d}.snapshot" for offset in (1, 2, 3, 4)]


def test_a_start_after_a_clean_shutdown_reads_one_snapshot(tmp_path: Path) -> None:
    disk = QuietDisk()
    log = make_log(disk, tmp_path)
    for producer_id in range(3):
        idempotent(log, 0, producer_id=producer_id)
        log.roll(NOW)
    log.close()
    disk.events.clear()
    log = make_log(disk, tmp_path, clean=True)
    assert sum(path.endswith(".snapshot") for path, _ in disk.reads()) == 1
    assert [entry.producer_id for entry in log.active_producers()] == [0, 1, 2]


def test_producer_of_a_data_batch_is_found_by_header() -> None:
    state = ProducerState(QuietDisk(), "/nowhere", "t-0")
    header = read_header(batch(2, producer_id=9, producer_epoch=1, base_sequence=5), 0)
    assert state.find_duplicate(header) is None
    state.record_data(header, 30, NOW)
    found = state.find_duplicate(header)
    assert found is not None
    assert (found.first_offset(), found.last_offset) == (30, 31)
