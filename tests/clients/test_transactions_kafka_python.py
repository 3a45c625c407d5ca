"""Transactions, as kafka-python makes and reads them."""

from tests.clients.transaction_clients import KAFKA_PYTHON
from tests.clients.transaction_contract import transaction_contract_of

test_scenario = transaction_contract_of(KAFKA_PYTHON)
