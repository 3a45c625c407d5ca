"""`gralha pipeline status`: shows the state of pipelines, without Spark or a broker."""

import json
import time
from argparse import Namespace

from gralha.cli.program import CommandError
from gralha.pipelines.progress import count, size
from gralha.pipelines.state_files import ALIVE, State, StateFile, state_files, state_folder
from gralha.pipelines.table_view import table

HEADER = (
    "PIPELINE",
    "STATE",
    "SINCE",
    "BATCH",
    "IN/S",
    "DONE/S",
    "LAG",
    "STATE-ROWS",
    "STATE-SIZE",
    "RESTARTS",
)


def command(options: Namespace) -> int:
    """Prints a table or JSON."""
    states = [state for file in chosen_files(options) if (state := file.read()) is not None]
    if options.json:
        for state in states:
            print(json.dumps(state.to_json()))
        return 0
    if not states:
        print(f"No pipeline has run with checkpoints in {options.checkpoints}.")
        return 0
    print("\n".join(table(HEADER, [_row(state) for state in states])))
    for state in states:
        if state.message:
            print(f"{state.pipeline}: {state.message}")
    return 0


def chosen_files(options: Namespace) -> list[StateFile]:
    """The state files of the named pipelines, or of all."""
    known = {file.pipeline: file for file in state_files(state_folder(options.checkpoints))}
    for name in options.name:
        if name not in known:
            raise CommandError(
                f"No pipeline {name!r} has run with checkpoints in {options.checkpoints}; "
                f"{'known are ' + ', '.join(known) if known else 'is it the right --checkpoints?'}"
            )
    return [known[name] for name in options.name] if options.name else list(known.values())


def _row(state: State) -> tuple[str, ...]:
    since = state.started_s if state.condition in ALIVE else state.changed_s
    times = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
    if state.progress is None:
        return (state.pipeline, state.condition, times, *["-"] * 6, str(state.restarts))
    one = state.progress
    return (
        state.pipeline,
        state.condition,
        times,
        str(one.batch),
        count(one.input_rows_per_second),
        count(one.processed_rows_per_second),
        "?" if one.lag is None else count(one.lag),
        count(one.state_rows),
        size(one.state_bytes),
        str(state.restarts),
    )
