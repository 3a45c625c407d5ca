"""A program in any language with requests and answers as JSON lines.

A request is `{"call": name, ...arguments}`, its answer `{"result": ...}` or
`{"error": Kafka's name, "message": ...}`.
"""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.clients.driver import TIMEOUT_S, ClientError

ANSWER_TIMEOUT_S = 3 * TIMEOUT_S
REPOSITORY = Path(__file__).resolve().parents[3]


class Program:
    """A running program; it ends when its standard input is closed."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, cwd=REPOSITORY
        )

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        """Ends it at once (SIGKILL), so that its clients cannot leave their groups."""
        self._process.kill()
        self.close()

    def call(self, call: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        request = json.dumps({"call": call, **arguments}).encode() + b"\n"
        sent = 0
        while sent < len(request):
            sent += self._process.stdin.write(request[sent:]) or 0
        answer = json.loads(self._read_line(call))
        if "error" in answer:
            raise ClientError(answer["error"], answer.get("message") or "")
        return answer["result"]

    def _read_line(self, call: str) -> bytes:
        assert self._process.stdout is not None
        chunks = []
        # Not select(), which supports no descriptors above 1023.
        waiting = select.poll()
        waiting.register(self._process.stdout, select.POLLIN)
        while True:
            if not waiting.poll(ANSWER_TIMEOUT_S * 1000):
                self._process.kill()
                raise RuntimeError(f"{self.name} did not answer {call} within {ANSWER_TIMEOUT_S:g} s")
            chunk = self._process.stdout.read(1 << 20)
            if not chunk:
                raise RuntimeError(f"{self.name} ended during {call}; its last words are on stderr")
            chunks.append(chunk)
            if chunk.endswith(b"\n"):
                return b"".join(chunks)
