"""Groups, as confluent-kafka by the classic protocol sees them."""

from tests.clients.group_clients import CONFLUENT
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(CONFLUENT)
