"""The contract, as aiokafka sees it."""

from tests.clients.contract import contract_of
from tests.clients.drivers.aiokafka_driver import AiokafkaDriver

test_scenario = contract_of(AiokafkaDriver)
