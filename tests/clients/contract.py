"""Which client plays which scenario, as a pytest test for each client's own module.

    test_scenario = contract_of(ConfluentDriver)

A client plays every scenario but those that its driver names in `CANNOT`, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.driver import Driver
from tests.clients.scenarios import SCENARIOS, Stage

Drivers = Callable[[type[Driver], bool], Driver]


def contract_of(client: type[Driver]) -> Callable[..., None]:
    unknown = set(client.CANNOT) - set(SCENARIOS)
    if unknown:
        raise ValueError(f"{client.NAME} cannot play what is no scenario: {sorted(unknown)}")

    @pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in client.CANNOT])
    def test_scenario(name: str, drivers: Drivers, reference: Driver) -> None:
        SCENARIOS[name](Stage(drivers(client, False), reference, lambda: drivers(client, True), name))

    return test_scenario
