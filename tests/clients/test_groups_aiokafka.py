"""Groups, as aiokafka sees them."""

from tests.clients.group_clients import AIOKAFKA
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(AIOKAFKA)
