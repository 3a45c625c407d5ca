"""The contract, as kafka-python sees it."""

from tests.clients.contract import contract_of
from tests.clients.drivers.kafka_python_driver import KafkaPythonDriver

test_scenario = contract_of(KafkaPythonDriver)
