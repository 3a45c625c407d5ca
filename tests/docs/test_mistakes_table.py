"""The table of mistakes in docs/WHEN_SOMETHING_GOES_WRONG.md: each command gives the answer beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block
from tests.docs.sessions import Reader

PAGE = ROOT / "docs" / "WHEN_SOMETHING_GOES_WRONG.md"
BROKERS = "GRALHA_BOOTSTRAP_SERVERS=localhost:9092"
TABLE = PAGE.read_text().partition("| you type | the answer |\n|---|---|\n")[2].partition("\n\n")[0]
ROWS = re.findall(r"^\| `(.+?)` \| `(.+)` \|$", TABLE, re.MULTILINE)


def session(command: str, answer: str) -> Block:
    """A row as a session: one line, and lines after it if the row says that there is more."""
    lines = [f"$ {command}", answer, *(["..."] if answer.endswith("...") else [])]
    return Block(PAGE, 1, "console", tuple(lines), {})


# Each mistake starts a program, which takes long on a busy machine.
@pytest.mark.timeout(300)
def test_each_mistake_has_the_answer_of_the_table(tmp_path: Path) -> None:
    assert len(ROWS) == len(TABLE.splitlines()) >= 10
    create = (
        "kafka-topics --bootstrap-server localhost:9092 --create --topic sales --config retention.ms=9000"
    )
    with Reader(tmp_path) as reader:
        assert reader.follow(session(create, "Created topic sales.")) == []
        wrong = [
            text
            for command, answer in ROWS
            for text in reader.follow(session(f"{BROKERS} {command}", answer))
        ]
    assert not wrong, "\n\n".join(wrong)
