"""Commands run in the tests' own process, as their console scripts would run them."""

import re
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import pytest


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Written(NamedTuple):
    out: str
    err: str


# A line that librdkafka writes itself. On a busy machine any of its clients in this process may write one at
# any time, for example about a request without an answer.
_LIBRDKAFKA_LINE = re.compile(r"^%\d\|\d+\.\d+\|.*\n", re.MULTILINE)


def written(capfd: pytest.CaptureFixture[str]) -> Written:
    """The output of commands since the last call, without librdkafka's lines."""
    out, err = capfd.readouterr()
    return Written(out, _LIBRDKAFKA_LINE.sub("", err))


Run = Callable[..., Outcome]


@pytest.fixture
def run(bootstrap: str, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on the broker of the tests."""

    def run(command: str, *arguments: str) -> Outcome:
        module = import_module(f"gralha.cli.{command.replace('-', '_')}")
        code = module.main(["--bootstrap-server", bootstrap, *arguments])
        return Outcome(code, *written(capfd))

    return run
