"""The stage of a scenario: the client under test, a reference client and new topics."""

from __future__ import annotations

import contextlib
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.clients.driver import ClientError, Driver
from tests.clients.probe import is_served


@dataclass
class Stage:
    client: Driver
    # Prepares what the client under test cannot, and reads what it wrote.
    reference: Driver
    # A cluster with auto creation of topics. The client and the reference use one without.
    auto_creating_client: Callable[[], Driver]
    name: str

    def fresh_name(self) -> str:
        client = re.sub("[^a-z]", "-", self.client.NAME)
        return f"{self.name}.{client}.{uuid.uuid4().hex[:8]}"

    def topic(self, partitions: int = 1, **configs: str) -> str:
        """Creates a topic for this scenario. `_` in a config's name stands for `.`."""
        name = self.fresh_name()
        dotted = {config.replace("_", "."): value for config, value in configs.items()}
        self.reference.create_topic(name, partitions, dotted)
        reference = self.reference
        eventually(lambda: is_served(reference.bootstrap, name, partitions, reference.tls, reference.login))
        return name


Scenario = Callable[[Stage], None]


def eventually(holds: Callable[[], bool], timeout_s: float = 5.0) -> None:
    """Asserts that a condition comes true soon.

    The controller answers when a change is committed. The brokers learn of it a moment later.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(ClientError):
            if holds():
                return
        assert time.monotonic() < deadline, f"did not come true within {timeout_s:g} s"
        time.sleep(0.01)


def refused(kinds: str | tuple[str, ...], call: Callable[[], object]) -> ClientError:
    """Assert that the call ends in one of these errors, and return it."""
    with pytest.raises(ClientError) as caught:
        call()
    assert caught.value.kind in ((kinds,) if isinstance(kinds, str) else kinds), str(caught.value)
    return caught.value
