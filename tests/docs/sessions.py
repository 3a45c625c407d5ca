"""Runs the blocks of a page in their order, as a reader would, against one `gralha up` with a new folder.

The broker of a page is started by its first block. A page that shows `gralha up` (or `make up`) starts it
there, and the table that it prints is compared with the page. The broker has a free port. Pages say
localhost:9092, and their texts are translated in both directions. The reader's home folder is a new one.
"""

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from gralha.testing.process import free_ports
from tests.docs.pages import Block, Command, commands, differences

SCRIPTS: Final = Path(sys.executable).parent
# Not 19092, which is a port of several brokers.
PAGE_PORT: Final = re.compile(r"\b9092\b")
REGISTRY_PORT: Final = re.compile(r"\b8081\b")
# The port of the metrics is a free one, too.
METRICS_PORT: Final = re.compile(r"(metrics +http://localhost):\d+/metrics")
PAGE_HOME: Final = "/home/you"
# For one program, on a machine that does much else.
PATIENCE_S: Final = 120
LOG_OF_UP: Final = ".gralha-up.log"
LAST_LINE_OF_UP: Final = "Ctrl-C stops it."


class Reader:
    """Somebody who types what a page says. Use it as a context manager: it ends the broker."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._port, self._registry_port = map(str, free_ports(2))
        self._broker: subprocess.Popen[str] | None = None
        self._stack = ExitStack()
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
            "HOME": str(home),
            "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "120",
            "GRALHA_SCHEMA_REGISTRY": f"http://localhost:{self._registry_port}",
        }

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def follow(self, block: Block) -> list[str]:
        """Does what a block says. Returns what differs from the page."""
        if "file" in block.marks:
            (self._home / block.marks["file"]).write_text(self._real(block.text))
            return []
        if block.language == "python":
            return self._run_program(block)
        if block.language == "console":
            if "the broker runs" in block.marks:
                self._need_broker()
            return self._run_session(block)
        return []

    def _run_session(self, block: Block) -> list[str]:
        complaints = []
        for command in commands(block):
            found = differences(command.output, self._output(command), block.marks)
            if found is not None:
                complaints.append(f"{block.page.name}:{command.line}: $ {command.text}\n{found}")
        return complaints

    def _output(self, command: Command) -> list[str]:
        starts = command.text in ("make up", "gralha up")
        if starts and self._broker is None:
            return self._start_broker()
        self._need_broker()
        text = self._real(command.text)
        if text.startswith("gralha up") and "--port" not in text:
            text = text.replace("gralha up", f"gralha up --no-registry --port {self._port}")
        done = self._run(["bash", "-c", text])
        return self._page(done.stdout).splitlines()

    def _run_program(self, block: Block) -> list[str]:
        self._need_broker()
        name = "test_page.py" if "pytest" in block.marks else "page.py"
        (self._home / name).write_text(self._real(block.text))
        how = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if "pytest" in block.marks else []
        done = self._run([sys.executable, *how, name])
        return [f"{block.place}: the program fails\n{done.stdout}"] if done.returncode else []

    def _run(self, line: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            line,
            cwd=self._home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_S,
        )

    def _need_broker(self) -> None:
        if self._broker is None:
            self._start_broker()

    def _start_broker(self) -> list[str]:
        """The table that `gralha up` prints."""
        log = self._stack.enter_context((self._home / LOG_OF_UP).open("w"))
        self._broker = self._stack.enter_context(
            subprocess.Popen(
                [
                    *(str(SCRIPTS / "gralha"), "up", "--port", self._port),
                    *("--registry-port", self._registry_port),
                ],
                cwd=self._home,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        )
        self._stack.callback(self._broker.kill)
        assert self._broker.stdout is not None
        table: list[str] = []
        for line in self._broker.stdout:
            table.append(self._page(line.rstrip("\n")))
            if line.startswith(LAST_LINE_OF_UP):
                return table
        raise AssertionError(f"gralha up has ended:\n{(self._home / LOG_OF_UP).read_text()}")

    def _real(self, text: str) -> str:
        """The text of a page with this broker's port and this reader's home."""
        text = REGISTRY_PORT.sub(self._registry_port, PAGE_PORT.sub(self._port, text))
        return text.replace(PAGE_HOME, str(self._home))

    def _page(self, text: str) -> str:
        """Real output as a page would show it."""
        text = METRICS_PORT.sub(r"\1:9308/metrics", text).replace(self._registry_port, "8081")
        return text.replace(f"{SCRIPTS}/", "").replace(str(self._home), PAGE_HOME).replace(self._port, "9092")
