"""The messages in the source code, to find the texts that a page quotes."""

import ast
import errno
import os
import re
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT, Block

# A shorter literal text would fit anywhere.
LITERAL_MIN: Final = 8
HOLE: Final = "\0"
_PERCENT: Final = re.compile(r"%[-\d.]*[sdrfgx]")
# Words that no text of the code has. A value, such as a path or a number, has fewer.
_WORDS: Final = re.compile(r"(?:(?<![\w/.-])[A-Za-z']+[ ,]+){2}[A-Za-z']+(?![\w/-])")
# Values of messages that the operating system writes.
_REASONS: Final = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EIO))


def quoted(block: Block) -> list[str]:
    """The messages of a block: its paragraphs, each in one line."""
    return [" ".join(part.split("\n")).strip() for part in block.text.strip().split("\n\n")]


def missing(message: str, files: list[str]) -> str | None:
    """Returns words of a message that no text of the files has, or None."""
    covered = bytearray(len(message))
    patterns = [re.compile(f"({re.escape(reason)})") for reason in _REASONS]
    for name in files:
        patterns += _patterns(ROOT / name)
    for pattern in patterns:
        for found in pattern.finditer(message):
            for part in range(1, pattern.groups + 1):
                start, end = found.span(part)
                covered[start:end] = b"x" * (end - start)
    rest = "".join(HOLE if mark else letter for letter, mark in zip(message, covered, strict=True))
    words = _WORDS.search(rest)
    return words and words[0]


def _patterns(path: Path) -> list[re.Pattern[str]]:
    """A pattern for every text of a module that is long enough. Its groups are the literal parts."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        parts = [part for part in _parts(node) if part]
        if sum(map(len, parts)) >= LITERAL_MIN:
            found.append(re.compile(".+?".join(f"({re.escape(part)})" for part in parts)))
    return found


def _parts(node: ast.AST) -> list[str]:
    """The literal parts of a text with holes: those of an f-string, or of a text with %s."""
    if isinstance(node, ast.JoinedStr):
        texts = [str(one.value) if isinstance(one, ast.Constant) else HOLE for one in node.values]
        return "".join(texts).split(HOLE)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PERCENT.split(node.value)
    return []
