"""Apache Avro's Java library in one process, as the oracle of our Avro parser and comparison."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.apache.kafka import QUICK_FLAGS

BUILD = Path(__file__).resolve().parents[3] / "build" / "apache-avro"


class Answer(NamedTuple):
    """What Java says: an error, or the rest."""

    error: str | None = None
    canonical: str = ""
    resolved: str = ""
    problems: tuple[tuple[str, str, str], ...] = ()


class AvroOracle:
    """Answers one question at a time, so it needs no more than its pipes."""

    def __init__(self) -> None:
        if not (BUILD / "classes" / ".stamp").exists():
            raise RuntimeError(f"no Apache Avro in {BUILD}; run scripts/setup_java")
        class_path = f"{BUILD}/classes:{BUILD}/libs/*"
        self._process = subprocess.Popen(
            ["java", "-Xmx256M", *QUICK_FLAGS, "-cp", class_path, "Oracle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def parse(self, text: str, *references: str) -> Answer:
        """The schema as Java writes it."""
        return self._ask("parse", text, *references)

    def compare(self, reader: str, writer: str) -> Answer:
        """The problems that Java finds."""
        return self._ask("compare", reader, writer)

    def _ask(self, *question: str) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        answer["problems"] = tuple(tuple(problem) for problem in answer.get("problems", ()))
        return Answer(**answer)

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
