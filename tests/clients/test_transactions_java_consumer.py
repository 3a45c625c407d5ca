"""Offsets in transactions by the consumer protocol (KIP-848), as Apache Kafka's Java client commits them."""

from tests.clients.transaction_clients import JAVA_CONSUMER
from tests.clients.transaction_contract import OFFSETS, transaction_contract_of

test_scenario = transaction_contract_of(JAVA_CONSUMER, OFFSETS)
