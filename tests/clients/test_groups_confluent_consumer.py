"""Groups, as confluent-kafka by the consumer protocol (KIP-848) sees them."""

from tests.clients.group_clients import CONFLUENT_CONSUMER
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(CONFLUENT_CONSUMER)
