"""Groups, as Apache Kafka's Java client by the classic protocol sees them."""

from tests.clients.group_clients import JAVA
from tests.clients.group_contract import group_contract_of

test_scenario = group_contract_of(JAVA)
