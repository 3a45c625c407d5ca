"""Reads a page of the documentation: its fenced blocks, with the marks that a person has put above them.

A mark is a comment in the line above a block:

    <!-- not run: why -->        the block cannot be run; it is still compiled or parsed
    <!-- numbers vary -->        a number in the output may be any number
    <!-- order varies -->        the lines of the output may come in any order
    <!-- example: name -->       another test runs the block; it is still compiled
    <!-- file: name -->          the block is written to this file, for the blocks below it
    <!-- the broker runs -->     `gralha up` in this block is a second one
    <!-- pytest -->              a Python block is run by pytest
    <!-- spark -->               a Python block is run in the Spark session of the tests (tests/spark)
    <!-- text of: file ... -->   a text block quotes messages of these source files
    <!-- made by: name -->       test_made_blocks.py makes the same text with our code
    <!-- metrics -->             the block names metrics
    <!-- not ours: whose -->     the text of another program
    <!-- picture: of what -->    a drawing

The language of a block says how it is tested: `console` is a session of `$ command` lines and their output,
`python` is a program, `properties` are settings, `sh` are commands that are only looked up. Every other block
has a mark.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TESTED: Final = ("console", "python", "properties")
LOOKED_UP: Final = "sh"
_FENCE: Final = re.compile(r"^```(\S*)$")
_MARK: Final = re.compile(r"^<!-- (.+) -->$")


class Block(NamedTuple):
    """A fenced block: its language, its lines, its marks, and the place of its first line."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]
    marks: dict[str, str]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def is_run(self) -> bool:
        """True if `sessions.Reader` runs it."""
        is_tested = self.language in TESTED or "file" in self.marks
        return is_tested and not self.marks.keys() & {"not run", "example", "spark"}


class Command(NamedTuple):
    """One command of a session and the output that the page promises."""

    line: int
    text: str
    output: tuple[str, ...]


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    start, language, lines = 0, "", list[str]()
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and not start:
            start, language, lines = number + 1, fence[1], []
        elif fence:
            found.append(Block(page, start, language, tuple(lines), marks))
            start, marks = 0, {}
        elif start:
            lines.append(line)
        elif mark := _MARK.match(line):
            name, _, value = mark[1].partition(": ")
            marks[name] = value
        elif line:
            marks = {}
    assert not start, f"{page.name}:{start}: this block has no end"
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a session. A command may continue on the next line after a backslash."""
    found: list[Command] = []
    text, continues = "", False
    for number, line in enumerate(block.lines, block.line):
        if continues:
            text, continues = f"{text}\n{line}", line.endswith("\\")
            found[-1] = found[-1]._replace(text=text)
        elif line.startswith("$ "):
            text, continues = line.removeprefix("$ "), line.endswith("\\")
            found.append(Command(number, text, ()))
        else:
            assert found, f"{block.place}: a session begins with a $ command"
            found[-1] = found[-1]._replace(output=(*found[-1].output, line))
    return found


# Comparing output


def differences(expected: tuple[str, ...], real: list[str], marks: dict[str, str]) -> str | None:
    """Returns both outputs if they differ, or None.

    `...` in a line stands for any text, and as a whole line for any lines. Ids that Kafka makes up, and the
    width of columns, may differ.
    """
    wanted = [_plain(line, marks) for line in _joined(_without_empty_ends(list(expected)))]
    found = [_plain(line, marks) for line in _without_empty_ends(real)]
    if "order varies" in marks:
        wanted, found = sorted(wanted), sorted(found)
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else f"{_pattern(line)}\n" for line in wanted)
    if re.fullmatch(pattern, "".join(f"{line}\n" for line in found)):
        return None
    shown = "\n  ".join(_without_empty_ends(real))
    return f"the page has\n  {chr(10).join(expected).strip()}\nthe command prints\n  {shown}"


def _joined(lines: list[str]) -> list[str]:
    """The lines of a page. A long line may be continued after a backslash."""
    return "\n".join(lines).replace("\\\n", "").splitlines()


def _plain(line: str, marks: dict[str, str]) -> str:
    # A command is on the PATH of the tests, and may be in a folder of the reader.
    line = line.replace(".venv/bin/", "")
    line = re.sub(r"\b[\w-]{22}(?![\w-])", lambda found: "ID" if _is_id(found[0]) else found[0], line)
    if "numbers vary" in marks:
        line = re.sub(r"\d[\d.,]*\d|\d", "1", line)
    return re.sub(r"\s+", " ", line).strip()


def _is_id(text: str) -> bool:
    """True for 22 characters of base64, as in the ids of topics and clusters."""
    return any(one.isupper() for one in text) and any(one.islower() for one in text)


def _without_empty_ends(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").split("\n") if any(lines) else []


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("..."))
