"""The messages in the source code, to find the texts that a page quotes."""

import ast
import re
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT, Block

# A shorter literal text would fit anywhere.
LITERAL_MIN: Final = 8
_PERCENT: Final = re.compile(r"%[-\d.]*[sdrfgx]")


def quoted(block: Block) -> list[str]:
    """The messages of a block: its paragraphs, each in one line."""
    return [" ".join(part.split("\n")).strip() for part in block.text.strip().split("\n\n")]


def missing(message: str, files: list[str]) -> str | None:
    """Returns the first part of a message that no text of the files has, or None."""
    covered = bytearray(len(message))
    for name in files:
        for pattern in patterns(ROOT / name):
            for found in pattern.finditer(message):
                covered[found.start() : found.end()] = b"x" * (found.end() - found.start())
    # Between two texts there may be a space or a full stop, and before the first one the level of the log.
    level = re.match(r"(WARNING|ERROR|INFO) ", message)
    covered[: level.end() if level else 0] = b"x" * (level.end() if level else 0)
    uncovered = re.search(rb"\0{3,}", covered)
    return None if uncovered is None else message[uncovered.start() : uncovered.end()]


def patterns(path: Path) -> list[re.Pattern[str]]:
    """A pattern for every text of a module that is long enough. A hole of a text may be anything."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        parts = _parts(node)
        if sum(map(len, parts)) >= LITERAL_MIN:
            found.append(re.compile(".+".join(re.escape(part) for part in parts)))
    return found


def _parts(node: ast.AST) -> list[str]:
    """The literal parts of a text with holes: those of an f-string, or of a text with %s."""
    if isinstance(node, ast.JoinedStr):
        texts = ["\0" if isinstance(one, ast.FormattedValue) else str(_value(one)) for one in node.values]
        return "".join(texts).split("\0")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PERCENT.split(node.value)
    return []


def _value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else ""
