"""docs/ARCHITECTURE.md has the rooms that exist, and its table equals the rules of import-linter."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The programs that commands start or use offline: see the sentence below the table.
STARTED_BY_CLI = {"broker", "metadata", "registry", "spark", "pipelines"}


def table() -> dict[str, set[str]]:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(\w+)/` \|.*\| ([\w, -]+) \|$", text, flags=re.MULTILINE)
    return {room: {name for name in names.split(", ") if name != "-"} for room, names in rows}


def test_the_table_shows_the_real_folders() -> None:
    folders = {path.parent.name for path in (ROOT / "src" / "gralha").glob("*/__init__.py")}
    assert set(table()) == folders


def test_the_import_rules_are_those_of_the_table() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rules = {
        contract["source_modules"][0].removeprefix("gralha."): {
            module.removeprefix("gralha.") for module in contract["forbidden_modules"]
        }
        for contract in pyproject["tool"]["importlinter"]["contracts"]
    }
    rooms = set(table())
    expected = {room: rooms - {room} - allowed for room, allowed in table().items()}
    expected["cli"] -= STARTED_BY_CLI
    assert rules == {room: forbidden for room, forbidden in expected.items() if forbidden}
