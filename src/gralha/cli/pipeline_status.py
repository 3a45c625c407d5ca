"""`gralha pipeline status`: shows the state of pipelines, without Spark or a broker."""

import json
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Final, NamedTuple

from gralha.cli.colour import red, yellow
from gralha.cli.json_output import VERSION
from gralha.cli.pipeline_letters import letters_text
from gralha.cli.pipeline_options import WATCH_SECONDS
from gralha.cli.program import CommandError, stop_on_terminate
from gralha.cli.suggestions import did_you_mean
from gralha.pipelines.progress import Progress, count, size
from gralha.pipelines.state_files import ALIVE, FAILED, KILLED, State, StateFile, state_files, state_folder
from gralha.pipelines.table_view import LiveLines, table, visible

UNKNOWN: Final = "-"


class Column(NamedTuple):
    """A column of the table."""

    name: str
    cell: Callable[[State], str]


def command(options: Namespace) -> int:
    """Prints a table or JSON, once or again and again."""
    if not options.watch:
        print("\n".join(_lines(options)))
        return 0
    stop_on_terminate()
    chosen_files(options)  # a wrong name is reported before the screen changes
    live = LiveLines()
    while True:
        lines = _lines(options)
        if live.is_terminal:
            live.draw(lines)
        else:
            print("\n".join(lines), flush=True)
        time.sleep(WATCH_SECONDS)


def _lines(options: Namespace) -> list[str]:
    states = [state for file in chosen_files(options) if (state := file.read()) is not None]
    if options.json:
        return [json.dumps({"version": VERSION, **state.to_json()}) for state in states]
    if not states:
        return [f"No pipeline has run with checkpoints in {options.checkpoints}."]
    lines = _table(states)
    for state in states:
        lines += [f"{state.pipeline}: {message}" for message in state.message.splitlines()]
        lines += letters_text(state, options.checkpoints)
    return lines


def chosen_files(options: Namespace) -> list[StateFile]:
    """The state files of the named pipelines, or of all."""
    known = {file.pipeline: file for file in state_files(state_folder(options.checkpoints))}
    for name in options.name:
        if name not in known:
            raise CommandError(unknown_name(name, list(known), options.checkpoints))
    return [known[name] for name in options.name] if options.name else list(known.values())


def unknown_name(name: str, known: list[str], checkpoints: str) -> str:
    """The sentence about a pipeline that has no state file."""
    end = f"known are {', '.join(known)}." if known else "is it the right --checkpoints?"
    return f"No pipeline {name!r} has run with checkpoints in {checkpoints}; {end}{did_you_mean(name, known)}"


def _table(states: list[State]) -> list[str]:
    """The table. On a narrow terminal the last columns, the size of the state, are left out."""
    columns = list(COLUMNS)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    while True:
        lines = table(
            [one.name for one in columns], [[one.cell(state) for one in columns] for state in states]
        )
        if width is None or len(columns) == COLUMNS_MIN or max(map(visible, lines)) <= width:
            return lines
        columns.pop()


def _condition(state: State) -> str:
    return red(state.condition) if state.condition in (FAILED, KILLED) else state.condition


def _since(state: State) -> str:
    """When the run started or ended: the time today, otherwise the date and the time."""
    since = time.localtime(state.started_s if state.condition in ALIVE else state.changed_s)
    is_today = since[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M", since)


def _of(number: Callable[[Progress], str]) -> Callable[[State], str]:
    return lambda state: UNKNOWN if state.progress is None else number(state.progress)


def _rate(progress: Progress) -> str:
    rate = progress.input_rows_per_second
    return UNKNOWN if rate is None else count(rate)


def _lag(progress: Progress) -> str:
    """The lag. It has a colour if it is more than one batch can read."""
    if progress.lag is None:
        return "?"
    text = count(progress.lag)
    return yellow(text) if progress.lag > progress.input_rows else text


def _letters(progress: Progress) -> str:
    text = count(progress.dead_letters_total)
    return yellow(text) if progress.dead_letters_total else text


COLUMNS: Final = (
    Column("PIPELINE", lambda state: state.pipeline),
    Column("STATE", _condition),
    Column("SINCE", _since),
    Column("BATCH", _of(lambda one: str(one.batch))),
    Column("IN/S", _of(_rate)),
    Column("DONE/S", _of(lambda one: count(one.processed_rows_per_second))),
    Column("LAG", _of(_lag)),
    Column("DEAD-LETTERS", _of(_letters)),
    Column("RESTARTS", lambda state: str(state.restarts)),
    Column("STATE-ROWS", _of(lambda one: count(one.state_rows))),
    Column("STATE-SIZE", _of(lambda one: size(one.state_bytes))),
)
# Everything up to the restarts.
COLUMNS_MIN: Final = 9
