"""The contract, as confluent-kafka sees it."""

from tests.clients.contract import contract_of
from tests.clients.drivers.confluent_driver import ConfluentDriver

test_scenario = contract_of(ConfluentDriver)
