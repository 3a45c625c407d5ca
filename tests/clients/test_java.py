"""The contract, as Apache Kafka's Java client sees it."""

from tests.clients.contract import contract_of
from tests.clients.drivers.java_driver import JavaDriver

test_scenario = contract_of(JavaDriver)
