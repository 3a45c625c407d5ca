"""Groups, as Apache Kafka's Java client by the consumer protocol (KIP-848) sees them."""

from tests.clients.group_clients import JAVA_CONSUMER
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(JAVA_CONSUMER)
