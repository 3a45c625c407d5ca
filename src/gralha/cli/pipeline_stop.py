"""`gralha pipeline stop`: asks the processes of running pipelines to stop, and waits until they have."""

import os
import signal
import socket
import time
from argparse import Namespace

from gralha.cli.pipeline_status import chosen_files
from gralha.cli.program import CommandError
from gralha.pipelines.state_files import State, StateFile, state_files, state_folder

POLL_SECONDS = 0.1


def command(options: Namespace) -> int:
    """Stops the chosen pipelines. All pipelines of one process stop together."""
    running = [file for file in chosen_files(options) if file.is_held()]
    if not running:
        print("No pipeline is running.")
        return 0
    processes = {_process(file) for file in running}
    stopping = [file for file in _all_files(options) if file.is_held() and _process(file) in processes]
    for pid in processes:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + options.timeout
    for file in stopping:
        _wait(file, deadline, options.timeout)
        print(f"{file.pipeline} stopped.", flush=True)
    return 0


def _all_files(options: Namespace) -> list[StateFile]:
    return state_files(state_folder(options.checkpoints))


def _process(file: StateFile) -> int:
    state: State | None = file.read()
    if state is None:
        raise CommandError(f"{file.pipeline} is running, but {file.path} does not say in which process")
    if state.host != socket.gethostname():
        raise CommandError(
            f"{file.pipeline} is running on {state.host} as process {state.pid}: stop it there"
        )
    return state.pid


def _wait(file: StateFile, deadline: float, timeout_seconds: float) -> None:
    while file.is_held():
        if time.monotonic() > deadline:
            raise CommandError(
                f"{file.pipeline} (process {_process(file)}) is still running after {timeout_seconds:.0f} s. "
                f"Wait for its batch, or end it with kill -9 {_process(file)} (the batch will be repeated)"
            )
        time.sleep(POLL_SECONDS)
