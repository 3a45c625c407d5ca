"""Transactions, as Apache Kafka's Java client makes and reads them."""

from tests.clients.transaction_clients import JAVA
from tests.clients.transaction_contract import transaction_contract_of

test_scenario = transaction_contract_of(JAVA)
