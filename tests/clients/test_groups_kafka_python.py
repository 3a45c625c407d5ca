"""Groups, as kafka-python sees them."""

from tests.clients.group_clients import KAFKA_PYTHON
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(KAFKA_PYTHON)
