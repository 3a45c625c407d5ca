"""Transactions, as confluent-kafka (librdkafka) makes and reads them."""

from tests.clients.transaction_clients import CONFLUENT
from tests.clients.transaction_contract import transaction_contract_of

test_scenario = transaction_contract_of(CONFLUENT)
