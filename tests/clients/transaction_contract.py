"""Which client plays which scenario of transactions, as a pytest test for each client's own module.

test_scenario = transaction_contract_of(CONFLUENT)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.clients.driver import Driver
from tests.clients.scenarios import transactional_offsets, transactions
from tests.clients.scenarios.group_stage import GroupStage, Programs
from tests.clients.scenarios.transaction_stage import TransactionScenario, TransactionStage
from tests.clients.transactions import TransactionClient

OFFSETS: dict[str, TransactionScenario] = {
    scenario.__name__: scenario for scenario in transactional_offsets.SCENARIOS
}
SCENARIOS = {scenario.__name__: scenario for scenario in transactions.SCENARIOS} | OFFSETS


def transaction_contract_of(
    client: TransactionClient, scenarios: Mapping[str, TransactionScenario] = SCENARIOS
) -> Callable[..., None]:
    unknown = set(client.cannot) - set(scenarios)
    if unknown:
        raise ValueError(f"{client.name} cannot play what is no scenario: {sorted(unknown)}")

    @pytest.mark.parametrize("name", [name for name in scenarios if name not in client.cannot])
    def test_scenario(name: str, programs: Programs, reference: Driver) -> None:
        with GroupStage(client.members, programs, reference, name) as group:
            scenarios[name](TransactionStage(client, group))

    return test_scenario
