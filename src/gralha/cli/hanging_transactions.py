"""Finds transactions that hang: a partition holds them open, and no coordinator will end them (KIP-664).

A candidate is a transaction that a partition has had open for longer than any transaction may last. It hangs
if the coordinators do not know its producer, or if its partition is not in the producer's transaction.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gralha.cli.program import CommandError

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.transaction_values import ProducerState, TransactionDescription
    from gralha.client.values import TopicPartition

Item = TypeVar("Item")

# A request about all partitions of a large cluster would be too much for a broker.
_BATCH = 500


class OpenTransaction(NamedTuple):
    """A transaction that a partition holds open."""

    partition: "TopicPartition"
    producer: "ProducerState"


def find_hanging(
    admin: "Admin",
    *,
    topic: str | None,
    partition: int | None,
    broker_id: int | None,
    longest_ms: int,
    now_ms: int,
) -> list[OpenTransaction]:
    """The transactions that hang in a partition, in a topic, or in the replicas of a broker."""
    partitions = _partitions(admin, topic, partition, broker_id)
    candidates = _candidates(admin, partitions, broker_id, now_ms - longest_ms)
    if not candidates:
        return []
    ids = _transactional_ids(admin, {one.producer.producer_id for one in candidates})
    return hanging(candidates, ids, _descriptions(admin, ids.values()))


def hanging(
    candidates: Iterable[OpenTransaction],
    ids: Mapping[int, str],
    descriptions: "Mapping[str, TransactionDescription]",
) -> list[OpenTransaction]:
    """The candidates that no coordinator will end, ordered by their producers.

    `ids` has the transactional ids of producer ids, `descriptions` what the coordinators know of them.
    """
    found = []
    for one in sorted(candidates, key=lambda candidate: candidate.producer.producer_id):
        description = descriptions.get(ids.get(one.producer.producer_id, ""))
        # The coordinator will write a marker to each partition of its transaction.
        if description is None or one.partition not in description.partitions:
            found.append(one)
    return found


def _partitions(
    admin: "Admin", topic: str | None, partition: int | None, broker_id: int | None
) -> "list[TopicPartition]":
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    topics = [one.name for one in admin.list_topics()] if topic is None else [topic]
    partitions = []
    for batch in _batches(topics):
        for name, description in admin.describe_topics(batch).items():
            if isinstance(description, KafkaError):
                raise CommandError(f"Failed to describe {len(batch)} topics: {description}")
            partitions += [
                TopicPartition(name, one.partition)
                for one in description.partitions
                if broker_id is None or broker_id in one.replicas
            ]
    return partitions


def _candidates(
    admin: "Admin", partitions: "Sequence[TopicPartition]", broker_id: int | None, before_ms: int
) -> list[OpenTransaction]:
    """The open transactions in which nothing was written since `before_ms`."""
    from gralha.protocol.errors import KafkaError

    candidates = []
    for batch in _batches(partitions):
        for partition, answer in admin.describe_producers(batch, broker_id=broker_id).items():
            if isinstance(answer, KafkaError):
                where = "their leaders" if broker_id is None else f"broker {broker_id}"
                raise CommandError(
                    f"Failed to describe producers for {len(batch)} partitions on {where}: {answer}"
                )
            candidates += [
                OpenTransaction(partition, producer)
                for producer in answer
                if producer.transaction_start_offset is not None and producer.last_timestamp_ms < before_ms
            ]
    return candidates


def _transactional_ids(admin: "Admin", producer_ids: set[int]) -> dict[int, str]:
    from gralha.protocol.errors import KafkaError

    try:
        answers = admin.list_transactions(producer_ids=sorted(producer_ids))
    except KafkaError as error:
        raise CommandError(
            f"Failed to list transactions for {len(producer_ids)} producers: {error}"
        ) from None
    listings = [listing for of_broker in answers.values() for listing in of_broker]
    return {one.producer_id: one.transactional_id for one in listings if one.producer_id in producer_ids}


def _descriptions(admin: "Admin", ids: Iterable[str]) -> "dict[str, TransactionDescription]":
    """What the coordinators know. An id that is gone by now has no description."""
    from gralha.protocol.errors import ErrorCode, KafkaError

    answers = admin.describe_transactions(ids)
    descriptions = {}
    for transactional_id, answer in answers.items():
        if not isinstance(answer, KafkaError):
            descriptions[transactional_id] = answer
        elif answer.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise CommandError(f"Failed to describe {len(answers)} transactions: {answer}")
    return descriptions


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
