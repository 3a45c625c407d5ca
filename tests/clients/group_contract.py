"""Which client plays which scenario of groups, as a pytest test for each client's own module.

test_scenario = group_contract_of(CONFLUENT)
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.driver import Driver
from tests.clients.groups import GroupClient
from tests.clients.scenarios import group_offsets, groups
from tests.clients.scenarios.group_stage import GroupScenario, GroupStage, Programs

SCENARIOS: dict[str, GroupScenario] = {
    scenario.__name__: scenario for scenario in [*groups.SCENARIOS, *group_offsets.SCENARIOS]
}


def group_contract_of(client: GroupClient) -> Callable[..., None]:
    unknown = set(client.cannot) - set(SCENARIOS)
    if unknown:
        raise ValueError(f"{client.name} cannot play what is no scenario: {sorted(unknown)}")

    @pytest.mark.parametrize("name", [name for name in SCENARIOS if name not in client.cannot])
    def test_scenario(name: str, programs: Programs, reference: Driver) -> None:
        with GroupStage(client, programs, reference, name) as stage:
            SCENARIOS[name](stage)

    return test_scenario
