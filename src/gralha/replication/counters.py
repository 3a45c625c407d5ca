"""Counts what happens to the partitions of each topic on this broker, in plain numbers.

The hot paths add to them. The metrics read them when somebody asks (`broker/metrics`).
"""

from mypy_extensions import i64


class TopicCounters:
    """The counters of one topic. Bytes are those of record batches."""

    def __init__(self) -> None:
        self.messages_in: i64 = 0
        self.bytes_in: i64 = 0
        self.bytes_out: i64 = 0
        self.bytes_rejected: i64 = 0
        self.replication_bytes_in: i64 = 0
        self.replication_bytes_out: i64 = 0
        # A request counts once for each of its partitions, as in Kafka.
        self.produce_requests: i64 = 0
        self.failed_produce_requests: i64 = 0
        self.fetch_requests: i64 = 0
        self.failed_fetch_requests: i64 = 0
        # Appends of this broker's followers that have failed.
        self.failed_follower_appends: i64 = 0
        # Changes of the in-sync replicas of partitions that this broker leads.
        self.isr_shrinks: i64 = 0
        self.isr_expands: i64 = 0

    def isr_changed(self, before: list[int], after: list[int]) -> None:
        """Counts a change of the in-sync replicas."""
        if len(after) < len(before):
            self.isr_shrinks += 1
        elif len(after) > len(before):
            self.isr_expands += 1

    def add(self, other: "TopicCounters") -> None:
        self.messages_in += other.messages_in
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.bytes_rejected += other.bytes_rejected
        self.replication_bytes_in += other.replication_bytes_in
        self.replication_bytes_out += other.replication_bytes_out
        self.produce_requests += other.produce_requests
        self.failed_produce_requests += other.failed_produce_requests
        self.fetch_requests += other.fetch_requests
        self.failed_fetch_requests += other.failed_fetch_requests
        self.failed_follower_appends += other.failed_follower_appends
        self.isr_shrinks += other.isr_shrinks
        self.isr_expands += other.isr_expands


class Counters:
    """The counters of all topics of which this broker has partitions, and of those that it had."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicCounters] = {}
        self._retired = TopicCounters()

    def of(self, topic: str) -> TopicCounters:
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = TopicCounters()
        return found

    def retire(self, topic: str) -> None:
        """The broker has no partition of the topic any more. The totals keep its counters."""
        counters = self.topics.pop(topic, None)
        if counters is not None:
            self._retired.add(counters)

    def total(self) -> TopicCounters:
        total = TopicCounters()
        total.add(self._retired)
        for counters in self.topics.values():
            total.add(counters)
        return total
