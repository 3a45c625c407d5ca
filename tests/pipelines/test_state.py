"""Pipelines with state: the documentation's example of transformWithState, as a user would run it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from gralha.pipelines.loading import load
from tests.pipelines.runner import Runner
from tests.pipelines.topics import create, read_values, write

PIPELINES = Path(__file__).resolve().parents[2] / "docs" / "PIPELINES.md"


def example(name: str) -> str:
    """An example of the documentation, by the name in the comment above it."""
    found = re.search(rf"<!-- example: {name} -->\n```python\n(.*?)```", PIPELINES.read_text(), re.DOTALL)
    assert found, f"docs/PIPELINES.md has no example {name}"
    return found[1]


def test_transform_with_state_keeps_its_state_between_runs(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    source, target = new_name("sales"), new_name("streaks")
    text = example("transform_with_state").replace('"sales", schema', f'"{source}", schema')
    file = tmp_path / "streaks.py"
    file.write_text(text.replace('to_topic("streaks"', f'to_topic("{target}"'))
    (streaks,) = load(file)
    create(bootstrap, source)

    write(bootstrap, source, [{"product": "a", "paid": True}, {"product": "a", "paid": True}])
    assert [outcome.error for outcome in runner(streaks)] == [None]
    write(bootstrap, source, [{"product": "a", "paid": True}, {"product": "b", "paid": False}])
    assert [outcome.error for outcome in runner(streaks)] == [None]

    rows = [(row["product"], row["length"]) for row in read_values(bootstrap, target)]
    assert rows[0] == ("a", 2)
    assert sorted(rows[1:]) == [("a", 3), ("b", 0)]
