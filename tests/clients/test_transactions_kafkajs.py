"""Transactions, as kafkajs makes and reads them."""

from tests.clients.transaction_clients import KAFKAJS
from tests.clients.transaction_contract import transaction_contract_of

test_scenario = transaction_contract_of(KAFKAJS)
