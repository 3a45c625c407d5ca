"""Reading the folder of a checkpoint: new, complete or broken, and the messages."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from gralha.pipelines.checkpoints import inspect, put_aside
from gralha.pipelines.folders import LocalFolder
from tests.pipelines.test_manifests import STATEFUL, STATELESS

ENTRY = 'v1\n{"batchWatermarkMs":0}\n{"sales":{"0":5}}'


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    """A checkpoint whose last batch is 6."""
    root = tmp_path / "totals"
    for kind, newest in (("offsets", 6), ("commits", 6)):
        place = root / "checkpoint" / kind
        place.mkdir(parents=True)
        for number in range(newest - 2, newest + 1):
            (place / str(number)).write_text(ENTRY)
        (place / f".{newest}.crc").write_text("x")
    (root / "checkpoint" / "metadata").write_text('{"id":"b91aa5ca"}')
    (root / "checkpoint" / "state" / "0" / "1").mkdir(parents=True)
    (root / "checkpoint" / "state" / "0" / "1" / "7.changelog").write_text("x")
    (root / "checkpoint" / "state" / "0" / "_metadata").mkdir()
    (root / "checkpoint" / "state" / "0" / "_metadata" / "metadata").write_text("v1")
    made = LocalFolder(str(root))
    made.write("manifest.json", STATEFUL.to_json())
    return made


def file(folder: LocalFolder, name: str) -> Path:
    return Path(folder.path, name)


def test_no_folder_is_a_new_checkpoint(tmp_path: Path) -> None:
    found = inspect(LocalFolder(str(tmp_path / "nothing")))
    assert found.is_new
    assert found.next_batch == 0


def test_a_query_that_never_began_a_batch_left_a_new_checkpoint(tmp_path: Path) -> None:
    made = LocalFolder(str(tmp_path))
    made.write("manifest.json", STATELESS.to_json())
    assert inspect(made).is_new


def test_a_whole_checkpoint(folder: LocalFolder) -> None:
    found = inspect(folder)
    assert (found.manifest, found.next_batch, found.is_repeated) == (STATEFUL, 7, False)
    assert found.broken is None
    assert not found.is_new


def test_a_batch_that_was_begun_is_done_again(folder: LocalFolder) -> None:
    file(folder, "checkpoint/offsets/7").write_text(ENTRY)
    found = inspect(folder)
    assert (found.next_batch, found.is_repeated, found.broken) == (7, True, None)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("manifest.json", None, "has no manifest.json: Gralha did not write it."),
        ("manifest.json", "{", "manifest.json cannot be read ("),
        ("checkpoint/metadata", None, "is broken: its file checkpoint/metadata is missing or empty."),
        ("checkpoint/metadata", "", "is broken: its file checkpoint/metadata is missing or empty."),
        ("checkpoint/metadata", "{}", "is broken: its file checkpoint/metadata is missing or empty."),
        ("checkpoint/offsets/6", None, "in checkpoint/offsets is 5, but in checkpoint/commits it is 6."),
        ("checkpoint/offsets/8", ENTRY, "in checkpoint/offsets is 8, but in checkpoint/commits it is 6."),
        (
            "checkpoint/offsets/6",
            "",
            "its file checkpoint/offsets/6 is missing, empty or truncated.",
        ),
        ("checkpoint/offsets/6", ENTRY[:-3], "its file checkpoint/offsets/6 is missing, empty or truncated."),
        # Truncated at the end of a line: the offsets of the source are missing.
        ("checkpoint/offsets/6", ENTRY[:26], "its file checkpoint/offsets/6 is missing, empty or truncated."),
        ("checkpoint/offsets/5", None, "its file checkpoint/offsets/5 is missing, empty or truncated."),
        ("checkpoint/offsets/5", "", "its file checkpoint/offsets/5 is missing, empty or truncated."),
        (
            "checkpoint/offsets/6",
            "\udcff\udcfe",
            "its file checkpoint/offsets/6 is missing, empty or truncated.",
        ),
        ("manifest.json", "\udcff\udcfe", "manifest.json cannot be read ("),
        ("checkpoint/commits/6", "", "its file checkpoint/commits/6 is missing, empty or truncated."),
        ("checkpoint/state/0/1/7.changelog", None, "its folder checkpoint/state is missing or empty"),
    ],
)
def test_broken_checkpoints(folder: LocalFolder, name: str, text: str | None, sentence: str) -> None:
    if text is None:
        file(folder, name).unlink()
    else:
        file(folder, name).write_bytes(text.encode("utf-8", "surrogateescape"))
    found = inspect(folder)
    assert found.broken is not None
    assert sentence in found.broken
    assert folder.path in found.broken
    assert found.manifest is None


def test_state_that_is_gone(folder: LocalFolder) -> None:
    shutil.rmtree(file(folder, "checkpoint/state"))
    assert "checkpoint/state is missing" in (inspect(folder).broken or "")
    folder.write("manifest.json", STATELESS.to_json())
    assert inspect(folder).broken is None


def test_state_of_a_join_lies_one_folder_deeper(folder: LocalFolder) -> None:
    place = file(folder, "checkpoint/state/0/1")
    (place / "left-keyToNumValues").mkdir()
    (place / "7.changelog").rename(place / "left-keyToNumValues" / "7.changelog")
    assert inspect(folder).broken is None


def test_state_without_offsets_is_no_new_checkpoint(folder: LocalFolder) -> None:
    for kind in ("offsets", "commits"):
        shutil.rmtree(file(folder, f"checkpoint/{kind}"))
    assert "it has state, but its folders checkpoint/offsets and" in (inspect(folder).broken or "")


def test_a_second_source_has_a_line_of_its_own(folder: LocalFolder) -> None:
    folder.write("manifest.json", replace(STATEFUL, sources=(("sales",), ("orders",))).to_json())
    assert "offsets/6 is missing, empty or truncated" in (inspect(folder).broken or "")


def test_a_checkpoint_is_put_aside_whole(folder: LocalFolder) -> None:
    aside = put_aside(folder, datetime(2026, 1, 2, 3, 4, 5))
    assert aside == f"{folder.path}.before-20260102-030405"
    assert inspect(LocalFolder(aside)).next_batch == 7
    assert inspect(folder).is_new
    assert put_aside(folder, datetime(2026, 1, 2)) is None
