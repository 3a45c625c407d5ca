"""The topic of decisions: one compacted partition, one key for each query and sink.

The driver writes a decision in a transaction of its own. `own` fences all earlier drivers: they cannot commit
a decision any more, and what they have committed is in the log. So a decision that is read after `own` stays
the newest one until this driver commits another, or is fenced itself.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pyarrow as pa

from gralha.client.bulk_writer import BulkWriter
from gralha.client.cluster import Cluster
from gralha.client.config_calls import ConfigCalls
from gralha.client.denials import how_to_allow
from gralha.client.errors import ClientError, ErrorCode, KafkaError
from gralha.client.fetching import PartitionFetcher
from gralha.client.newest_value import KeyReader, NewestValue
from gralha.client.settings import READ_UNCOMMITTED, ClientSettings
from gralha.client.topic_calls import TopicCalls
from gralha.client.transactional_offsets import TransactionalOffsets
from gralha.client.values import ConfigResource, NewTopic, ResourceType, TopicPartition
from gralha.spark.decisions import Decision, key_to_json
from gralha.spark.transactional_ids import SinkKey

logger = logging.getLogger(__name__)

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
MIN_IN_SYNC: Final = "min.insync.replicas"
_COUNTS: Final = ("default.replication.factor", MIN_IN_SYNC)
# A driver's transaction takes milliseconds. A driver that dies in it should not be waited for.
DRIVER_TIMEOUT_MS: Final = 60_000
# How long to wait for the end of such a transaction: its timeout, and the broker's look at timeouts.
OPEN_PATIENCE_MS: Final = DRIVER_TIMEOUT_MS + 20_000
_POLL_S: Final = 0.05

# Spark uses its processes for many batches, so each one remembers how far it has read.
_known: dict[tuple[str, str, SinkKey], NewestValue] = {}


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
        where = TopicPartition(topic, PARTITION)
        self._reader = KeyReader(self._fetcher, where, settings.default_api_timeout_ms, sleep)
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

    def peek(self) -> Decision | None:
        """The newest decision that is visible now, for a task. There may be a newer one."""
        return _decision(self._newest()) if self._exists() else None

    def read(self) -> Decision | None:
        """The newest decision, for the owner of the log. Creates the topic if it does not exist."""
        if not self._exists():
            self._create()
        deadline = time.monotonic() + OPEN_PATIENCE_MS / 1000
        while (newest := self._newest()).has_open:
            if time.monotonic() > deadline:
                raise ClientError(f"A driver's transaction in the topic {self._topic} does not end.")
            self._sleep(_POLL_S)
        return _decision(newest)

    def prepare(self, decision: Decision, after: Decision | None) -> None:
        """Writes a decision, without committing it. Raises if `after` is not the newest one before it.

        A broker that has lost the leadership without knowing it may have answered `read`. But now the record
        has an offset, acknowledged by all in-sync replicas, and everything before that can be read.
        """
        assert self._writer is not None
        columns = {
            "key": pa.array([key_to_json(self._key)], pa.binary()),
            "value": pa.array([decision.to_json()], pa.binary()),
            "partition": pa.array([PARTITION], pa.int32()),
        }
        self._writer.write(pa.record_batch(columns))
        self._writer.flush()
        written = self._writer.report.offsets[TopicPartition(self._topic, PARTITION)].last
        try:
            if _decision(self._newest(up_to=written + 1)) != after:
                raise ClientError(
                    f"The log of decisions ({self._topic}) was not up to date when batch {decision.batch} "
                    "was about to be decided: repeat the batch."
                )
            self._move_group(decision)
        except BaseException:
            # If this fails, the next owner ends the transaction.
            with contextlib.suppress(ClientError, KafkaError, OSError):
                self._writer.abort()
            raise

    def _move_group(self, decision: Decision) -> None:
        """Adds the group's offsets to the transaction. A group that refuses them stays where it is."""
        assert self._writer is not None
        handle, offsets = self._writer.transaction, decision.group_offsets
        if decision.progress is None or handle is None or not offsets:
            return
        group = decision.progress.group
        refused = TransactionalOffsets(self._cluster).commit_offsets(handle, group, offsets)
        if refused:
            partition, error = next(iter(sorted(refused.items())))
            logger.warning(
                "The consumer group %s refuses the offsets of batch %d, so its lag is not up to date: %s: %s",
                group,
                decision.batch,
                partition,
                error.message + how_to_allow(error.code, group, "READ", self._settings.security),
            )

    def commit(self) -> None:
        """Commits the prepared decision. Raises if a newer driver owns the log.

        After another error the decision may or may not be committed. Only the next owner knows.
        """
        assert self._writer is not None
        self._writer.commit()

    def close(self) -> None:
        """Closes the connections."""
        self._fetcher.close()
        self._cluster.close()
        if self._writer is not None:
            self._writer.close()

    def _exists(self) -> bool:
        """Returns False if a broker does not know the topic. It may be too new for that broker."""
        if _known.get(self._name) is not None:
            return True
        answer = self._cluster.once(lambda: self._cluster.metadata([self._topic]))
        return all(topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for topic in answer.topics)

    def _create(self) -> None:
        """Creates the topic. Only the controller knows for sure that it does not exist."""
        new = NewTopic(self._topic, partitions=1, configs={**TOPIC_CONFIGS, **self._in_sync_replicas()})
        error = TopicCalls(self._cluster).create_topics([new])[self._topic]
        if error is not None and error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            advice = how_to_allow(error.code, self._topic, "CREATE", self._settings.security)
            raise ClientError(
                f"The topic {self._topic}, in which exactly-once sinks store their decisions, could not be "
                f"created: {error}{advice or ' Create it with one partition and cleanup.policy=compact.'}"
            ) from error

    def _in_sync_replicas(self) -> dict[str, str]:
        """The setting of a new topic. If the brokers do not tell their settings, it is the cluster's."""
        broker = min(self._cluster.once(self._cluster.brokers))
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        found = ConfigCalls(self._cluster).describe_configs([resource])[resource]
        if isinstance(found, KafkaError):
            return {}
        settings = {entry.name: int(entry.value) for entry in found if entry.name in _COUNTS and entry.value}
        return in_sync_setting(*(settings.get(name, 1) for name in _COUNTS))

    @property
    def _name(self) -> tuple[str, str, SinkKey]:
        return self._settings.bootstrap_servers, self._topic, self._key

    def _newest(self, up_to: int = 0) -> NewestValue:
        """Reads to the end that the log has now, and at least up to an offset."""
        # If reading fails in the middle, the next reader begins anew.
        newest = _known.pop(self._name, None) or NewestValue(key_to_json(self._key))
        newest = _known[self._name] = self._reader.read(newest, up_to)
        return newest


def in_sync_setting(replicas: int, in_sync: int) -> dict[str, str]:
    """With three replicas, two must have a decision. Then it survives the loss of any broker.

    With two, the loss of either broker would stop all sinks, so the cluster's setting stays.
    """
    return {MIN_IN_SYNC: "2"} if replicas > 2 > in_sync else {}


def _decision(newest: NewestValue) -> Decision | None:
    if newest.value is None:
        return None
    try:
        return Decision.from_json(newest.value)
    except (ValueError, KeyError, TypeError) as error:
        raise ClientError(
            f"The decision of {newest.key.decode()} before offset {newest.next_offset} cannot be read: "
            f"{error!r}. A newer version of Gralha may have written it."
        ) from error
