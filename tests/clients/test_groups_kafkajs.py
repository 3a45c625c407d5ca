"""Groups, as kafkajs sees them."""

from tests.clients.group_clients import KAFKAJS
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(KAFKAJS)
