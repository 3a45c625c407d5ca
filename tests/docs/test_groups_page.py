"""docs/GROUPS.md names the files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "gralha" / "groups"


def test_the_table_of_files_is_complete() -> None:
    text = (ROOT / "docs" / "GROUPS.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([\w./]+)`", row)}
    there = {path.name for path in FOLDER.glob("*.py")} - {"__init__.py"} | {"assignors/"}
    assert named == there
