"""The contract, as kafkajs sees it."""

from tests.clients.contract import contract_of
from tests.clients.drivers.kafkajs_driver import KafkajsDriver

test_scenario = contract_of(KafkajsDriver)
