"""The clients that play the scenarios of transactions, their errors, and what each of them cannot do."""

from __future__ import annotations

from dataclasses import replace

from tests.clients import group_clients
from tests.clients.transactions import TransactionClient

NAME_ONLY = "its transactions know a group by its name only, and nothing of generations"
NO_GENERATIONS = {
    "offsets_of_a_zombie_are_refused": NAME_ONLY,
    "offsets_of_an_older_generation_are_refused": NAME_ONLY,
}

CONFLUENT = TransactionClient(
    group_clients.CONFLUENT,
    fenced=frozenset({"_FENCED"}),
    timed_out=frozenset({"_FENCED"}),
    stale_member=frozenset({"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"}),
    timeout_too_long=frozenset({"INVALID_TRANSACTION_TIMEOUT"}),
    cannot={
        "fenced_producer_cannot_write": "its flush() raises a KafkaError, which no `except` clause catches"
    },
)
KAFKA_PYTHON = TransactionClient(
    group_clients.KAFKA_PYTHON,
    fenced=frozenset({"ProducerFencedError"}),
    timed_out=frozenset({"ProducerFencedError"}),
    stale_member=frozenset({"CommitFailedError"}),
    timeout_too_long=frozenset({"KafkaError"}),
    cannot={"lag_is_to_the_last_stable_offset": "it tells no lag"},
)
AIOKAFKA = TransactionClient(
    group_clients.AIOKAFKA,
    fenced=frozenset({"ProducerFenced"}),
    timed_out=frozenset({"ProducerFenced"}),
    stale_member=frozenset(),
    timeout_too_long=frozenset({"InvalidTransactionTimeout"}),
    cannot=NO_GENERATIONS,
)
KAFKAJS = TransactionClient(
    group_clients.KAFKAJS,
    fenced=frozenset({"INVALID_PRODUCER_EPOCH"}),
    timed_out=frozenset({"INVALID_PRODUCER_EPOCH"}),
    stale_member=frozenset(),
    timeout_too_long=frozenset({"INVALID_TRANSACTION_TIMEOUT"}),
    cannot={
        **NO_GENERATIONS,
        "lag_is_to_the_last_stable_offset": "its lag is to the high watermark",
    },
)
JAVA = TransactionClient(
    group_clients.JAVA,
    fenced=frozenset({"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}),
    timed_out=frozenset({"INVALID_TXN_STATE"}),
    stale_member=frozenset({"CommitFailedException"}),
    timeout_too_long=frozenset({"KafkaException"}),
)

# Only offsets of groups depend on the protocol of the group.
CONFLUENT_CONSUMER = replace(CONFLUENT, members=group_clients.CONFLUENT_CONSUMER, cannot={})
JAVA_CONSUMER = replace(JAVA, members=group_clients.JAVA_CONSUMER)
