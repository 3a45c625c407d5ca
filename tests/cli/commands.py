"""Commands run in the tests' own process, as their console scripts would run them."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import pytest


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(bootstrap: str, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command on the broker of the tests."""

    def run(command: str, *arguments: str) -> Outcome:
        module = import_module(f"gralha.cli.{command.replace('-', '_')}")
        code = module.main(["--bootstrap-server", bootstrap, *arguments])
        return Outcome(code, *capfd.readouterr())

    return run
