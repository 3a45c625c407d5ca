"""The traffic of topics: Kafka's BrokerTopicMetrics. Samples without a topic are those of the broker."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gralha.broker.metrics.exposition import Family, Pieces, Sample, counter, family_text, labels, single
from gralha.replication.counters import TopicCounters
from gralha.replication.manager import ReplicaManager


class _Traffic(NamedTuple):
    family: Family
    value: Callable[[TopicCounters], int]


def _traffic(name: str, meaning: str, value: Callable[[TopicCounters], int]) -> _Traffic:
    return _Traffic(counter(f"kafka_server_brokertopicmetrics_{name}_total", meaning), value)


OF_TOPICS: Final = [
    _traffic("messagesin", "Records that were appended by producers.", lambda one: one.messages_in),
    _traffic("bytesin", "Bytes that were appended by producers.", lambda one: one.bytes_in),
    _traffic("bytesout", "Bytes of records that were sent to consumers.", lambda one: one.bytes_out),
    _traffic("bytesrejected", "Bytes of batches that were too large.", lambda one: one.bytes_rejected),
    _traffic("totalproducerequests", "Produce requests, per partition.", lambda one: one.produce_requests),
    _traffic(
        "failedproducerequests",
        "Produce requests that failed for a reason a client does not expect, per partition.",
        lambda one: one.failed_produce_requests,
    ),
    _traffic("totalfetchrequests", "Fetch requests, per partition.", lambda one: one.fetch_requests),
    _traffic(
        "failedfetchrequests",
        "Fetch requests that failed for a reason a client does not expect, per partition.",
        lambda one: one.failed_fetch_requests,
    ),
]
OF_BROKER: Final = [
    _traffic(
        "replicationbytesin", "Bytes that followers have appended.", lambda one: one.replication_bytes_in
    ),
    _traffic(
        "replicationbytesout",
        "Bytes of records that were sent to followers.",
        lambda one: one.replication_bytes_out,
    ),
]
ISR_SHRINKS: Final = counter(
    "kafka_server_replicamanager_isrshrinks_total", "Replicas that left the ISR of partitions led here."
)
ISR_EXPANDS: Final = counter(
    "kafka_server_replicamanager_isrexpands_total", "Replicas that joined the ISR of partitions led here."
)
FAILED_ISR_UPDATES: Final = counter(
    "kafka_server_replicamanager_failedisrupdates_total",
    "Changes of an ISR that the controller has refused.",
)
FAILED_APPENDS: Final = counter(
    "gralha_replica_failed_appends_total", "Appends of records from leaders that have failed."
)


def topic_metrics(replicas: ReplicaManager) -> Pieces:
    counters = list(replicas.counters.topics.items())
    named = [(labels(topic=topic), one) for topic, one in counters]
    total = replicas.counters.total()
    for family, value in OF_TOPICS:
        yield from family_text(family, _samples(value, total, named))
    for family, value in OF_BROKER:
        yield from single(family, value(total))
    yield from single(ISR_SHRINKS, int(total.isr_shrinks))
    yield from single(ISR_EXPANDS, int(total.isr_expands))
    yield from single(FAILED_ISR_UPDATES, replicas.failed_isr_updates)
    yield from single(FAILED_APPENDS, int(total.failed_follower_appends))


def _samples(
    value: Callable[[TopicCounters], int], total: TopicCounters, named: list[tuple[str, TopicCounters]]
) -> Iterator[Sample]:
    yield "", value(total)
    for topic_labels, counters in named:
        yield topic_labels, value(counters)
