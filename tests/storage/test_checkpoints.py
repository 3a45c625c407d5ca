"""The small files beside the logs have Kafka's formats, byte by byte, and refuse to be something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol.primitives import uuid_from_string
from gralha.storage.checkpoints import (
    CheckpointError,
    decode_epochs,
    decode_partition_metadata,
    encode_epochs,
    encode_partition_metadata,
    read_clean_shutdown,
    read_offsets,
    remove_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from gralha.storage.leader_epochs import LeaderEpochs
from tests.storage.disks import QuietDisk


def test_offsets_as_kafka_writes_them(tmp_path: Path) -> None:
    disk, path = QuietDisk(), f"{tmp_path}/recovery-point-offset-checkpoint"
    assert read_offsets(disk, path) == {}
    offsets = {("meutopico", 0): 12, ("meu.topico-2", 1): 2**40}
    write_offsets(disk, path, offsets)
    assert Path(path).read_text() == "0\n2\nmeutopico 0 12\nmeu.topico-2 1 1099511627776\n"
    assert read_offsets(disk, path) == offsets


@pytest.mark.parametrize(
    "text", ["x\n", "0\n", "1\n0\n", "0\n2\na 0 1\n", "0\n1\na 0\n", "0\n1\na b 1\n", "0\n1\na 0 1 2\n"]
)
def test_malformed_offsets_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(CheckpointError, match="f"):
        read_offsets(QuietDisk(), f"{tmp_path}/f")


def test_epochs_as_kafka_writes_them() -> None:
    assert encode_epochs([(0, 0), (3, 120)]) == b"0\n2\n0 0\n3 120\n"
    assert decode_epochs("f", b"0\n2\n0 0\n3 120\n") == [(0, 0), (3, 120)]


def test_partition_metadata_as_kafka_writes_it() -> None:
    topic_id = uuid_from_string("MkU3OEVBNTcwNTJENDM2Qg")
    data = encode_partition_metadata(topic_id)
    assert data == b"version: 0\ntopic_id: MkU3OEVBNTcwNTJENDM2Qg"
    assert decode_partition_metadata("f", data) == topic_id
    for broken in (b"", b"version: 0", b"version: x\ntopic_id: MkU3OEVBNTcwNTJENDM2Qg"):
        with pytest.raises(CheckpointError):
            decode_partition_metadata("f", broken)


def test_clean_shutdown_as_kafka_writes_it(tmp_path: Path) -> None:
    disk = QuietDisk()
    assert read_clean_shutdown(disk, str(tmp_path)) is None
    write_clean_shutdown(disk, str(tmp_path), 17)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":17}'
    assert read_clean_shutdown(disk, str(tmp_path)) == 17
    (tmp_path / ".kafka_cleanshutdown").write_text("")  # what Kafka wrote before KIP-966
    assert read_clean_shutdown(disk, str(tmp_path)) == -1
    remove_clean_shutdown(disk, str(tmp_path))
    assert read_clean_shutdown(disk, str(tmp_path)) is None


class TestLeaderEpochs:
    def epochs(self, *entries: tuple[int, int]) -> LeaderEpochs:
        epochs = LeaderEpochs(QuietDisk(), "/nowhere")
        for epoch, start_offset in entries:
            epochs.assign(epoch, start_offset)
        return epochs

    def test_end_offsets(self) -> None:
        epochs = self.epochs((2, 10), (4, 30), (7, 50))
        assert epochs.latest == 7
        assert epochs.end_offset_for(7, 80) == (7, 80)
        assert epochs.end_offset_for(4, 80) == (4, 50)
        assert epochs.end_offset_for(5, 80) == (4, 50)
        assert epochs.end_offset_for(2, 80) == (2, 30)
        assert epochs.end_offset_for(1, 80) == (1, 10)
        assert epochs.end_offset_for(8, 80) == (-1, -1)
        assert epochs.end_offset_for(-1, 80) == (-1, -1)
        assert [epochs.epoch_for_offset(offset) for offset in (9, 10, 29, 30, 99)] == [-1, 2, 2, 4, 7]

    def test_a_conflicting_entry_replaces_the_later_ones(self) -> None:
        epochs = self.epochs((2, 10), (4, 30), (7, 50), (5, 40))
        assert epochs.entries == [(2, 10), (4, 30), (5, 40)]
        epochs.assign(9, 30)
        assert epochs.entries == [(2, 10), (9, 30)]
        epochs.assign(9, 35)
        assert epochs.entries == [(2, 10), (9, 30)]

    def test_truncation(self) -> None:
        epochs = self.epochs((2, 10), (4, 30), (7, 50))
        epochs.truncate_from_start(30)
        assert epochs.entries == [(4, 30), (7, 50)]
        epochs.truncate_from_start(45)
        assert epochs.entries == [(4, 45), (7, 50)]
        epochs.truncate_from_end(50)
        assert epochs.entries == [(4, 45)]
        epochs.truncate_from_end(46)
        assert epochs.entries == [(4, 45)]
        epochs.truncate_from_end(45)
        assert (epochs.entries, epochs.latest) == ([], -1)

    def test_only_epochs_with_records_are_saved(self, tmp_path: Path) -> None:
        disk = QuietDisk()
        epochs = LeaderEpochs(disk, str(tmp_path))
        epochs.assign(1, 0)
        epochs.assign(2, 10)
        epochs.save(10)
        assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n1\n1 0\n"
        epochs.save(11)
        loaded = LeaderEpochs(disk, str(tmp_path))
        loaded.load()
        assert (loaded.entries, loaded.latest) == ([(1, 0), (2, 10)], 2)
        disk.events.clear()
        epochs.save(12)
        assert not disk.events

    @given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=12))
    def test_entries_always_rise(self, entries: list[tuple[int, int]]) -> None:
        epochs = self.epochs(*entries)
        pairs = list(zip(epochs.entries, epochs.entries[1:], strict=False))
        assert all(first[0] < second[0] and first[1] < second[1] for first, second in pairs)
        if entries:
            assert epochs.entries[-1][0] == entries[-1][0]
