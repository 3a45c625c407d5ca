"""The tables of options in docs/SPARK.md: each has an example that the source or the sink accepts."""

from __future__ import annotations

import re

import pytest

from gralha.spark import options, sink_options
from tests.docs.pages import ROOT

HEAD = "| option | meaning | default | example |\n"
PAGE = (ROOT / "docs" / "SPARK.md").read_text()
SOURCE, SINK = (table.partition("\n\n")[0].splitlines()[1:] for table in PAGE.split(HEAD)[1:])
SUBSCRIPTIONS = ("subscribe", "subscribePattern", "assign")


def names_and_example(row: str) -> tuple[list[str], str, str]:
    """The options of a row, and the name and the value of its example."""
    named, *_, example = (cell.strip() for cell in row.strip("| ").split("|"))
    name, _, value = example.strip("`").partition("=")
    return re.findall(r"`([^`]+)`", named), name, value


@pytest.mark.parametrize("row", SOURCE)
def test_the_source_accepts_the_example(row: str) -> None:
    names, name, value = names_and_example(row)
    assert name in names or (names == ["kafka.*"] and name.startswith("kafka."))
    given = {"kafka.bootstrap.servers": "localhost:9092", name: value}
    if name not in SUBSCRIPTIONS:
        given["subscribe"] = "sales"
    is_streaming = not name.startswith("ending")
    assert list(options.warnings(given, streaming=is_streaming)) == []
    found = options.source_options(given, streaming=is_streaming)
    found.client_settings()
    default = options.source_options(
        {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "sales"}, streaming=is_streaming
    )
    if name not in ("subscribe", "kafka.bootstrap.servers", "startingOffsetsByTimestampStrategy"):
        assert found != default, f"{name} changes nothing"


def test_the_source_has_no_other_options() -> None:
    listed = {name for row in SOURCE for name in names_and_example(row)[0]}
    assert listed - {"kafka.*", "kafka.bootstrap.servers"} == {*options._KNOWN} - {*options._IGNORED}


@pytest.mark.parametrize("row", SINK)
def test_the_sink_knows_the_example(row: str) -> None:
    names, name, _ = names_and_example(row)
    assert [name] == names
    assert name in sink_options.OPTIONS
