"""Partitions of a transaction as the messages have them: by topic."""

from collections.abc import Iterable, Mapping

from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from gralha.transactions.transaction import Partition


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """The indexes of the partitions of each topic, in order."""
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics


def partitions_of(topics: Iterable[AddPartitionsToTxnTopic]) -> list[Partition]:
    """All partitions that a request names."""
    return [(topic.name, index) for topic in topics for index in topic.partitions]


def partition_results(transactional_id: str, errors: Mapping[Partition, int]) -> AddPartitionsToTxnResult:
    """The answer for one transaction, with an error code for each partition."""
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for (topic, index), error_code in errors.items():
        topics.setdefault(topic, []).append(AddPartitionsToTxnPartitionResult(index, error_code))
    return AddPartitionsToTxnResult(
        transactional_id, [AddPartitionsToTxnTopicResult(topic, results) for topic, results in topics.items()]
    )


def error_codes(result: AddPartitionsToTxnResult) -> dict[Partition, int]:
    """The error code of each partition in an answer."""
    return {
        (topic.name, one.partition_index): one.partition_error_code
        for topic in result.topic_results
        for one in topic.results_by_partition
    }
