"""The topic of decisions: one compacted partition, one key for each query and sink.

The driver writes a decision in a transaction of its own. `own` fences all earlier drivers: they cannot commit
a decision any more, and what they have committed is in the log. So a decision that is read after `own` stays
the newest one until this driver writes another, or is fenced itself.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa

from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError, ErrorCode, OffsetsLostError, TopicDeletedError
from gralha.client.fetching import PartitionFetcher
from gralha.client.settings import READ_UNCOMMITTED, ClientSettings
from gralha.client.topic_calls import TopicCalls
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import NewTopic, TopicPartition
from gralha.spark.decision_scan import DecisionScan
from gralha.spark.decisions import Decision, key_to_json
from gralha.spark.transactional_ids import SinkKey

DEFAULT_TOPIC: Final = "_gralha_decisions"
# Readers always use this partition, so it does not matter if somebody adds others.
PARTITION: Final = 0
TOPIC_CONFIGS: Final = {
    "cleanup.policy": "compact",
    # Only closed segments are compacted, and a new reader reads what is not.
    "segment.bytes": str(4 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.2",
    "max.message.bytes": str(16 * 1024 * 1024),
}
# A driver's transaction takes milliseconds. A driver that dies in it should not be waited for.
DRIVER_TIMEOUT_MS: Final = 60_000
# How long to wait for the end of such a transaction: its timeout, and the broker's look at timeouts.
OPEN_PATIENCE_MS: Final = DRIVER_TIMEOUT_MS + 20_000
_POLL_S: Final = 0.05

# What this process has read already: Spark uses its processes for many batches.
_scans: dict[tuple[str, str, SinkKey], DecisionScan] = {}


class DecisionLog:
    """The decisions of one sink."""

    def __init__(
        self,
        settings: ClientSettings,
        key: SinkKey,
        topic: str = DEFAULT_TOPIC,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._key = key
        self._topic = topic
        self._settings = settings
        self._sleep = sleep
        quick = replace(settings, isolation_level=READ_UNCOMMITTED, fetch_min_bytes=0, fetch_max_wait_ms=0)
        self._cluster = Cluster.of(
            quick, api_timeout_ms=settings.default_api_timeout_ms, waits_for_first_answer=True
        )
        self._fetcher = PartitionFetcher(self._cluster, quick, sleep)
        self._writer: BulkWriter | None = None

    def own(self) -> None:
        """Fences all earlier drivers of the sink."""
        self._writer = BulkWriter(
            replace(self._settings, compression_type="lz4", compression_level=None, max_request_size=2**24),
            topic=self._topic,
            transactional_id=self._key.driver_id,
            transaction_timeout_ms=DRIVER_TIMEOUT_MS,
            waits_for_first_answer=True,
        )
        self._writer.begin()

    @property
    def owner(self) -> TransactionHandle:
        """The identity with which this driver writes. Another driver that owns the log has a newer one."""
        assert self._writer is not None
        return self._writer.identity

    def write(self, decision: Decision) -> None:
        """Commits a decision. Raises if a newer driver owns the log.

        After another error the decision may or may not be committed. Only the next reader knows.
        """
        assert self._writer is not None
        columns = {
            "key": pa.array([key_to_json(self._key)], pa.binary()),
            "value": pa.array([decision.to_json()], pa.binary()),
            "partition": pa.array([PARTITION], pa.int32()),
        }
        self._writer.write(pa.record_batch(columns))
        self._writer.commit()

    def read(self) -> Decision | None:
        """The newest decision that is committed now. It may be an older one than that of `settled`."""
        return self._scanned().newest

    def settled(self) -> Decision | None:
        """The newest decision, after the end of the driver's transaction if one is open."""
        deadline = time.monotonic() + OPEN_PATIENCE_MS / 1000
        while (scan := self._scanned()).has_open:
            if time.monotonic() > deadline:
                raise ClientError(f"A driver's transaction in the topic {self._topic} does not end.")
            self._sleep(_POLL_S)
        return scan.newest

    def create(self) -> None:
        """Creates the topic unless it exists."""
        new = NewTopic(self._topic, partitions=1, configs=TOPIC_CONFIGS)
        error = TopicCalls(self._cluster).create_topics([new])[self._topic]
        if error is not None and error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise ClientError(
                f"The topic {self._topic}, in which exactly-once sinks store their decisions, could not be "
                f"created: {error} Create it with one partition and cleanup.policy=compact."
            ) from error

    def close(self) -> None:
        """Closes the connections."""
        self._fetcher.close()
        self._cluster.close()
        if self._writer is not None:
            self._writer.close()

    def _scanned(self) -> DecisionScan:
        """Reads to the end that the log has now."""
        name = (self._settings.bootstrap_servers, self._topic, self._key)
        scan = _scans.get(name)
        if scan is None:
            scan = DecisionScan(key_to_json(self._key))
        # If the scan fails in the middle, the next one begins anew.
        _scans.pop(name, None)
        try:
            self._scan(scan)
        except OffsetsLostError as lost:
            # The topic was created again, or its beginning was deleted.
            scan = DecisionScan(key_to_json(self._key))
            scan.next_offset = lost.log_start_offset
            self._scan(scan)
        except TopicDeletedError:
            return DecisionScan(key_to_json(self._key))
        _scans[name] = scan
        return scan

    def _scan(self, scan: DecisionScan) -> None:
        where = TopicPartition(self._topic, PARTITION)
        end: int | None = None
        while end is None or scan.next_offset < end:
            answer = self._fetcher.fetch(where, scan.next_offset)
            end = answer.high_watermark if end is None else end
            if scan.next_offset >= end:
                return
            if answer.records is None or answer.records.start == answer.records.end:
                self._sleep(_POLL_S)
            else:
                scan.feed(answer.records.data, answer.records.start, answer.records.end)
