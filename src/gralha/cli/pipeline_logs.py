"""`gralha pipeline logs`: prints the log of Spark and of the pipelines of a checkpoint folder."""

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Final

from gralha.cli.pipeline_status import unknown_name
from gralha.cli.program import CommandError
from gralha.pipelines.state_files import LOG, state_files, state_folder

# An entry begins with a time, in Spark's format or in Python's.
TIME: Final = re.compile(r"\d\d(\d\d)?[/-]\d\d[/-]\d\d \d\d:\d\d:\d\d")


def command(options: Namespace) -> int:
    """Prints the last lines of the log, or of its entries about one pipeline."""
    folder = state_folder(options.checkpoints)
    known = [file.pipeline for file in state_files(folder)]
    if options.name is not None and options.name not in known:
        raise CommandError(unknown_name(options.name, known, options.checkpoints))
    try:
        lines = (folder / LOG).read_text(errors="replace").splitlines()
    except OSError:
        raise CommandError(
            f"There is no log {folder / LOG}: no pipeline has run with these checkpoints. "
            "Is it the right --checkpoints?"
        ) from None
    if options.name is not None:
        lines = [line for entry in entries(lines) if _mentions(entry, options.name) for line in entry]
    if not lines:
        print(f"The log {folder / LOG} has no entries{f' about {options.name}' if options.name else ''}.")
    for line in lines[-options.lines :]:
        print(line)
    return 0


def entries(lines: Iterable[str]) -> Iterator[list[str]]:
    """The entries of a log. A stack trace belongs to the entry before it."""
    entry: list[str] = []
    for line in lines:
        if TIME.match(line) and entry:
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _mentions(entry: list[str], pipeline: str) -> bool:
    name = re.compile(rf"(?<![\w.-]){re.escape(pipeline)}(?![\w-])")
    return any(name.search(line) for line in entry)
