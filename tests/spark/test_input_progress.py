"""The offsets of a batch, from the files of a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from gralha.client.values import TopicPartition
from gralha.spark.checkpoint_files import local_file_of
from gralha.spark.input_progress import (
    InputProgress,
    NoProgressError,
    from_option,
    progress_of,
    to_option,
)

FIRST = """v1
{"batchWatermarkMs":0}
{"sales":{"0":10,"1":4},"@topicIds":{"sales":"abc"},"@from":{"sales":{"0":3,"1":4}}}
{"logOffset":7}
{"sales":{"0":8},"other":{"0":1}}"""
SECOND = """v1
{"batchWatermarkMs":0}
{"sales":{"0":12,"1":4,"2":6},"@topicIds":{"sales":"abc"}}
-
{"sales":{"0":20},"other":{"0":2}}"""


def place(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(topic, partition)


def read(name: str) -> str | None:
    return {"offsets/0": FIRST, "offsets/1": SECOND}.get(name)


def test_a_batch_begins_where_the_one_before_it_ended() -> None:
    found = progress_of("totals", 1, read)
    assert found == InputProgress(
        "totals",
        begin={place("sales", 0): 8, place("sales", 1): 4, place("sales", 2): 0, place("other", 0): 1},
        end={place("sales", 0): 12, place("sales", 1): 4, place("sales", 2): 6, place("other", 0): 2},
    )
    assert InputProgress.from_json(found.to_json()) == found
    assert from_option("totals", to_option(found)) == found


def test_the_first_batch_begins_where_the_source_says() -> None:
    found = progress_of("totals", 0, read)
    assert found.begin == {place("sales", 0): 3, place("sales", 1): 4}
    assert found.end == {place("sales", 0): 8, place("sales", 1): 4, place("other", 0): 1}


@pytest.mark.parametrize(
    "foreign",
    [
        "17",
        "-",
        "position-9",
        '{"shardId-000": {"iteratorType": "AFTER_SEQUENCE_NUMBER", "seq": "4"}}',
        '{"0": {"first": 1}}',
        '{"files": {"0": "a"}}',
    ],
)
def test_offsets_of_other_sources_are_not_for_a_group(foreign: str) -> None:
    files = {"offsets/0": f'v1\n{{}}\n{foreign}\n{{"sales": {{"0": 8}}, "@from": {{"sales": {{"0": 3}}}}}}'}
    assert progress_of("totals", 0, files.get).end == {place("sales", 0): 8}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "the checkpoint has no file offsets/0"),
        ("", "offsets/0 is not of version v1"),
        ("v9\n{}\n{}", "offsets/0 is not of version v1"),
        ("v1\n{}\n{", "offsets/0 cannot be parsed"),
    ],
)
def test_a_file_that_cannot_be_used(text: str | None, said: str) -> None:
    with pytest.raises(NoProgressError, match=said):
        progress_of("totals", 0, lambda name: text)


def test_a_wrong_option() -> None:
    for text in ("{", "7", '{"sales": 7}'):
        with pytest.raises(NoProgressError, match="is not JSON such as"):
            from_option("totals", text)


def test_files_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1")
    for checkpoint in (str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}"):
        assert local_file_of(checkpoint)("offsets/0") == "v1"
        assert local_file_of(checkpoint)("offsets/1") is None
