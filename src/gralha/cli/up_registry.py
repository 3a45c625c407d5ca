"""The Schema Registry beside the brokers of `gralha up`: a process of its own, whose log is a file.

If it ends, the brokers go on. Its state is in the cluster, so it needs no time to stop.
"""

import contextlib
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gralha.cli import up_settings
from gralha.cli.installed import installed_command
from gralha.cli.registry import READY
from gralha.cli.up_brokers import end_with_parent, last_words
from gralha.protocol.properties import properties_text

DEFAULT_PORT: Final = 8081
STOP_TIMEOUT_S: Final = 3.0


class UpRegistry:
    """The process of the registry. Without `is_wanted` nothing is started."""

    def __init__(self, data: Path, host: str, port: int | None, *, is_wanted: bool) -> None:
        self._data = data
        self._host = host
        self._port = port
        self._is_wanted = is_wanted
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = 0
        self._is_stopping = False

    def rows(self, bootstrap: str) -> list[tuple[str, str]]:
        """Starts the registry and waits until it is ready. Returns its row of the table, if it runs."""
        return self._row(self._start(bootstrap)) if self._is_wanted else []

    def _row(self, process: "subprocess.Popen[bytes]") -> list[tuple[str, str]]:
        assert process.stdout is not None
        for line in process.stdout:
            text = line.decode()
            if text.startswith(READY):
                threading.Thread(target=self._watch, args=(process,), daemon=True).start()
                return [("registry", text.removeprefix(READY).strip())]
        if not self._is_stopping:
            self._say("The registry did not start")
        return []

    def announce_later(self, bootstrap: str, announce: Callable[[list[tuple[str, str]]], None]) -> None:
        """Calls `announce` with the row when the registry is ready, without blocking the caller."""
        if not self._is_wanted:
            announce([])
            return

        # Not in the thread: the kernel kills a child when the thread that has started it ends.
        process = self._start(bootstrap)

        def wait() -> None:
            rows = self._row(process)
            if not self._is_stopping:
                announce(rows)

        threading.Thread(target=wait, daemon=True).start()

    def stop(self) -> None:
        self._is_stopping = True
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self, bootstrap: str) -> "subprocess.Popen[bytes]":
        port = up_settings.free_or_any(DEFAULT_PORT) if self._port is None else self._port
        file = self._file("properties")
        settings = {
            "kafkastore.bootstrap.servers": bootstrap,
            "kafkastore.topic.replication.factor": str(min(3, len(bootstrap.split(",")))),
            "listeners": f"http://{up_settings.in_address(self._host or '0.0.0.0')}:{port}",
        }
        if self._host not in up_settings.ANY_ADDRESS:
            settings["host.name"] = self._host
        file.write_text(properties_text(settings))
        with self._file("log").open("ab") as log:
            self._log_begins = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gralha.cli.registry", "--config", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C must not reach it: this process stops it.
                start_new_session=True,
                preexec_fn=end_with_parent(),
            )
        return self._process

    def _watch(self, process: "subprocess.Popen[bytes]") -> None:
        """Says when the registry has ended. Its output ends with it."""
        assert process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            process.stdout.read()
        if not self._is_stopping:
            self._say("The registry ended")

    def _say(self, what: str) -> None:
        command = (
            f"{installed_command('gralha')} registry --config {shlex.quote(str(self._file('properties')))}"
        )
        print(
            f"{what}: {last_words(self._file('log'), self._log_begins)} (more in {self._file('log')}). The "
            f"brokers continue. In another terminal `{command}` starts it again.",
            file=sys.stderr,
            flush=True,
        )

    def _file(self, kind: str) -> Path:
        return self._data / f"registry.{kind}"
