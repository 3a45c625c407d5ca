"""Data folders: formatted once, recognised afterwards, and never mistaken for those of another node."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.metadata.features import BOOTSTRAP_FEATURES
from gralha.metadata.formatting import (
    BOOTSTRAP_CHECKPOINT,
    META_PROPERTIES,
    METADATA_PARTITION,
    FormatError,
    FormatPlan,
    InitialVoter,
    MetaProperties,
    bootstrap_records,
    decode_meta_properties,
    encode_meta_properties,
    format_folders,
    parse_initial_voters,
    prepare_folders,
    random_uuid,
    read_bootstrap_records,
    read_meta_properties,
    verify,
)
from gralha.protocol.primitives import uuid_to_string
from gralha.raft.snapshots import decode_snapshot
from gralha.storage.real_disk import RealDisk

NOW = 1_794_762_754_000
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
DISK = RealDisk()


def formatted(folder: Path, *names: str, **changes: Any) -> list[str]:
    folders = [str(folder / name) for name in names]
    plan = FormatPlan(CLUSTER, 1, folders, folders[0])._replace(**changes)
    return [one.description for one in format_folders(DISK, plan, NOW, random.Random(5))]


@given(
    cluster_id=st.from_regex(r"[A-Za-z0-9_-]{1,30}", fullmatch=True),
    node_id=st.integers(0, 2**31 - 1),
    directory_id=st.binary(min_size=16, max_size=16),
)
def test_meta_properties_are_read_back(cluster_id: str, node_id: int, directory_id: bytes) -> None:
    properties = MetaProperties(cluster_id, node_id, directory_id)
    assert decode_meta_properties("x", encode_meta_properties(properties, NOW)) == properties


def test_meta_properties_are_those_of_apache_kafka() -> None:
    text = encode_meta_properties(MetaProperties(CLUSTER, 1, bytes(range(16))), NOW)
    assert text.decode().splitlines() == [
        "#",
        "#Sun Nov 15 17:12:34 UTC 2026",
        "node.id=1",
        "directory.id=AAECAwQFBgcICQoLDA0ODw",
        "version=1",
        "cluster.id=MkU3OEVBNTcwNTJENDM2Qg",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "version"),
        ("version=0\nbroker.id=1\ncluster.id=a", "version is 0"),
        ("version=1\nnode.id=1", "cluster.id is missing"),
        ("version=1\ncluster.id=a", "node.id is missing"),
        ("version=1\ncluster.id=a\nnode.id=x", "node.id=x"),
        ("version=1\ncluster.id=a\nnode.id=1\ndirectory.id=zz", "zz"),
        ("version=\\u12", "cannot be used"),
        ("\udcff", "cannot be used"),
    ],
)
def test_wrong_meta_properties_name_the_file_and_the_reason(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as refused:
        decode_meta_properties("/data/meta.properties", text.encode("utf-8", "surrogateescape"))
    assert "/data/meta.properties" in str(refused.value)


def test_uuids_can_be_arguments() -> None:
    drawn = [random_uuid(random.Random(seed)) for seed in range(500)]
    assert not any(uuid_to_string(one).startswith("-") for one in drawn)
    assert {one[6] >> 4 for one in drawn} == {4}
    assert {one[8] >> 6 for one in drawn} == {2}
    assert len(set(drawn)) == 500


class TestFormat:
    def test_every_folder_gets_an_identity_and_the_first_records(self, tmp_path: Path) -> None:
        assert formatted(tmp_path, "a", "b/deep") == ["metadata directory", "data directory"]
        identities = [read_meta_properties(DISK, str(tmp_path / name)) for name in ("a", "b/deep")]
        assert [(one.cluster_id, one.node_id) for one in identities if one] == [(CLUSTER, 1)] * 2
        assert len({one.directory_id for one in identities if one}) == 2
        assert read_bootstrap_records(DISK, str(tmp_path / "a")) == bootstrap_records(BOOTSTRAP_FEATURES)
        assert not (tmp_path / "a" / METADATA_PARTITION).exists()

    def test_formatted_folders_are_left_alone(self, tmp_path: Path) -> None:
        formatted(tmp_path, "a")
        before = {path: path.read_bytes() for path in (tmp_path / "a").iterdir()}
        assert formatted(tmp_path, "a", "b") == ["data directory"]
        assert {path: path.read_bytes() for path in (tmp_path / "a").iterdir()} == before

    def test_the_identity_comes_last(self, tmp_path: Path) -> None:
        written: list[str] = []

        class Watched(RealDisk):
            def write_file_atomically(self, path: str, data: bytes) -> None:
                written.append(Path(path).name)
                super().write_file_atomically(path, data)

        voter = InitialVoter(1, "localhost", 9093, bytes(range(16)))
        plan = FormatPlan(CLUSTER, 1, [str(tmp_path)], str(tmp_path), voters=[voter])
        list(format_folders(Watched(), plan, NOW, random.Random(5)))
        assert written[-1] == META_PROPERTIES
        assert written[0] == BOOTSTRAP_CHECKPOINT
        assert len(written) == 3

    def test_a_kill_in_the_middle_is_no_loss_of_metadata(self, tmp_path: Path) -> None:
        """The metadata folder is formatted first, so a missing folder looks like a new disk."""
        folders = [str(tmp_path / name) for name in ("a", "b")]
        plan = FormatPlan(CLUSTER, 1, folders, folders[1])
        formatting = format_folders(DISK, plan, NOW, random.Random(5))
        assert next(formatting).folder == folders[1]
        next(formatting)  # the first is written, the second is not
        found = prepare_folders(DISK, folders, folders[1], 1, NOW, random.Random(6))
        assert {properties.cluster_id for properties in found.values()} == {CLUSTER}

    def test_a_dynamic_quorum_begins_with_a_snapshot_of_its_voters(self, tmp_path: Path) -> None:
        voters = [InitialVoter(1, "localhost", 9093, bytes(range(16))), InitialVoter(2, "b", 1, bytes(16))]
        assert formatted(tmp_path, "a", "b", voters=voters)[0] == "dynamic metadata voter directory"
        identity = read_meta_properties(DISK, str(tmp_path / "a"))
        assert identity is not None
        assert identity.directory_id == voters[0].directory_id
        path = tmp_path / "a" / METADATA_PARTITION / "00000000000000000000-0000000000.checkpoint"
        assert decode_snapshot(path.read_bytes()).last_contained_log_timestamp == NOW
        assert not (tmp_path / "b" / METADATA_PARTITION).exists()
        assert formatted(tmp_path, "c", voters=voters[1:]) == ["dynamic metadata directory"]

    @pytest.mark.parametrize("cluster_id", ["", "with space", "new\nline", "back\\slash"])
    def test_a_cluster_id_that_would_not_come_back(self, cluster_id: str, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match="cluster id"):
            formatted(tmp_path, "a", cluster_id=cluster_id)

    def test_folders_of_others_are_refused(self, tmp_path: Path) -> None:
        formatted(tmp_path, "a")
        with pytest.raises(FormatError, match=r"cluster\.id"):
            formatted(tmp_path, "a", "b", cluster_id="other")
        with pytest.raises(FormatError, match=r"node\.id=1"):
            formatted(tmp_path, "a", "b", node_id=2)
        assert not (tmp_path / "b").exists()

    def test_a_copy_of_a_folder_is_refused(self) -> None:
        same = MetaProperties(CLUSTER, 1, bytes(range(16)))
        with pytest.raises(FormatError, match="copy"):
            verify({"a": same, "b": same}, 1)
        old = MetaProperties(CLUSTER, 1)
        assert verify({"a": old, "b": old, "c": None}, 1) == CLUSTER


class TestPrepare:
    """A server prepares its folders when it starts."""

    def prepare(self, tmp_path: Path, *names: str) -> dict[str, MetaProperties]:
        folders = [str(tmp_path / name) for name in names]
        return prepare_folders(DISK, folders, folders[0], 1, NOW, random.Random(5))

    def test_empty_folders_become_those_of_a_new_cluster(self, tmp_path: Path) -> None:
        first = self.prepare(tmp_path, "a", "b")
        assert len(first) == 2
        assert len({one.cluster_id for one in first.values()}) == 1
        assert self.prepare(tmp_path, "a", "b") == first

    def test_a_new_disk_joins(self, tmp_path: Path) -> None:
        first = self.prepare(tmp_path, "a")
        second = self.prepare(tmp_path, "a", "b")
        assert second[str(tmp_path / "a")] == first[str(tmp_path / "a")]
        assert second[str(tmp_path / "b")].cluster_id == first[str(tmp_path / "a")].cluster_id

    def test_lost_metadata_is_not_replaced_by_an_empty_folder(self, tmp_path: Path) -> None:
        self.prepare(tmp_path, "a", "b")
        for path in (tmp_path / "a").iterdir():
            path.unlink()
        with pytest.raises(FormatError, match="Restore"):
            self.prepare(tmp_path, "a", "b")

    def test_partitions_without_an_identity_are_not_adopted(self, tmp_path: Path) -> None:
        self.prepare(tmp_path, "a")
        (tmp_path / "a" / "topic-0").mkdir()
        (tmp_path / "a" / META_PROPERTIES).unlink()
        with pytest.raises(FormatError, match="partitions"):
            self.prepare(tmp_path, "a")


def test_a_damaged_bootstrap_checkpoint_is_an_error(tmp_path: Path) -> None:
    assert read_bootstrap_records(DISK, str(tmp_path)) == bootstrap_records(BOOTSTRAP_FEATURES)
    formatted(tmp_path, "a")
    path = tmp_path / "a" / BOOTSTRAP_CHECKPOINT
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:100] + b"?" + whole[101:], b""):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="damaged"):
            read_bootstrap_records(DISK, str(tmp_path / "a"))


def test_initial_voters_are_written_as_kafka_writes_them() -> None:
    text = "0@example.com:8082:JEXY6aqzQY-32P5TStzaFg, 1@[::1]:8083:MvDxzVmcRsaTz33bUuRU6A"
    first, second = parse_initial_voters(text)
    assert (first.node_id, first.host, first.port) == (0, "example.com", 8082)
    assert uuid_to_string(first.directory_id) == "JEXY6aqzQY-32P5TStzaFg"
    assert (second.node_id, second.host, second.port) == (1, "::1", 8083)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1@host",
        "1@host:9093",
        "1@host:9093:short",
        "x@host:9093:JEXY6aqzQY-32P5TStzaFg",
        "-1@host:9093:JEXY6aqzQY-32P5TStzaFg",
        "1@host:70000:JEXY6aqzQY-32P5TStzaFg",
        "1@host:1:JEXY6aqzQY-32P5TStzaFg,1@host:2:MvDxzVmcRsaTz33bUuRU6A",
        "1@host:1:JEXY6aqzQY-32P5TStzaF_",
    ],
)
def test_what_is_no_initial_voter(text: str) -> None:
    with pytest.raises(FormatError):
        parse_initial_voters(text)
