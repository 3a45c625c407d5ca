"""Offsets in transactions by the consumer protocol (KIP-848), as librdkafka commits them."""

from tests.clients.transaction_clients import CONFLUENT_CONSUMER
from tests.clients.transaction_contract import OFFSETS, transaction_contract_of

test_scenario = transaction_contract_of(CONFLUENT_CONSUMER, OFFSETS)
