"""The options of the source, with the same names, meanings and defaults as in Spark's Kafka source.

Two options are new: `groupId` (progress is committed to this consumer group, so that its lag is visible) and
`targetBatchDuration` (batches are sized to take about this long). `kafka.*` are settings of the client. They
may refer to secrets, so they stay unresolved until a connection is made.
"""

import difflib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gralha.client.settings import READ_COMMITTED, READ_UNCOMMITTED, ClientSettings
from gralha.spark.bounds import Bound, ending_bound, starting_bound, timestamp_strategy
from gralha.spark.option_values import OptionError, Options, boolean, duration_ms, integer
from gralha.spark.secrets import client_settings
from gralha.spark.subscription import STRATEGIES, Subscription, subscription

logger = logging.getLogger(__name__)

KAFKA_PREFIX: Final = "kafka."
BOOTSTRAP_SERVERS: Final = "kafka.bootstrap.servers"
DEFAULT_MAX_TRIGGER_DELAY_MS: Final = 15 * 60_000
DEFAULT_FETCH_OFFSET_RETRIES: Final = 3
DEFAULT_FETCH_OFFSET_RETRY_INTERVAL_MS: Final = 1_000

# Consumer settings that the source decides, and what to set instead.
_REFUSED: Final = {
    "auto.offset.reset": "Spark keeps the offsets: set the option startingOffsets to earliest or latest.",
    "key.deserializer": "keys are binary: convert them with DataFrame operations.",
    "value.deserializer": "values are binary: convert them with DataFrame operations.",
    "enable.auto.commit": "the source commits what Spark has processed: set the option groupId for that.",
    "interceptor.classes": "interceptors are Java classes, and this source is Python.",
}
# The options that limit a batch. The first one that is set is named in a warning.
BATCH_LIMITS: Final = ("maxOffsetsPerTrigger", "targetBatchDuration")
_STREAM_ONLY: Final = (
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "targetBatchDuration",
)
# Options that Spark's source has and that have no effect here, because this source has no consumer pool.
_IGNORED: Final = (
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "path",
    "topic",
)
_KNOWN: Final = (
    *STRATEGIES,
    *_STREAM_ONLY,
    *_IGNORED,
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
    "startingOffsetsByTimestampStrategy",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "endingOffsets",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "isolationLevel",
    "groupId",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)


@dataclass(frozen=True)
class SourceOptions:
    """The checked options of a query."""

    streaming: bool
    subscription: Subscription
    starting: Bound
    ending: Bound
    timestamp_strategy: str
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    target_batch_duration_ms: int | None
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    include_headers: bool
    group_id: str | None
    fetch_offset_retries: int
    fetch_offset_retry_interval_ms: int
    kafka: dict[str, str]

    def client_settings(self) -> ClientSettings:
        """The client's settings with their secrets. Call it only in the process that connects."""
        return client_settings(self.kafka)

    @property
    def batch_limit(self) -> str | None:
        """The name of the option that limits batches, if there is one."""
        if self.max_offsets_per_trigger is not None:
            return "maxOffsetsPerTrigger"
        return None if self.target_batch_duration_ms is None else "targetBatchDuration"

    @property
    def bootstrap_servers(self) -> str:
        """The address of the cluster, for messages."""
        return self.kafka["bootstrap.servers"]


def source_options(options: Options, *, streaming: bool) -> SourceOptions:
    """Checks all options of a query. Raises OptionError with what to write instead."""
    kafka = kafka_options(options)
    lowest, highest = integer(options, "minOffsetsPerTrigger"), integer(options, "maxOffsetsPerTrigger")
    if lowest is not None and highest is not None and lowest > highest:
        raise OptionError(
            f"Option 'minOffsetsPerTrigger' ({lowest}) is larger than 'maxOffsetsPerTrigger' ({highest})."
        )
    max_delay_ms = duration_ms(options, "maxTriggerDelay")
    retries = integer(options, "fetchOffset.numRetries", lowest=0)
    interval_ms = integer(options, "fetchOffset.retryIntervalMs", lowest=0)
    return SourceOptions(
        streaming=streaming,
        subscription=subscription(options),
        starting=starting_bound(options, streaming=streaming),
        ending=ending_bound(options, streaming=streaming),
        timestamp_strategy=timestamp_strategy(options),
        max_offsets_per_trigger=highest,
        min_offsets_per_trigger=lowest,
        max_trigger_delay_ms=DEFAULT_MAX_TRIGGER_DELAY_MS if max_delay_ms is None else max_delay_ms,
        target_batch_duration_ms=_target_ms(options),
        min_partitions=integer(options, "minPartitions"),
        max_records_per_partition=integer(options, "maxRecordsPerPartition"),
        fail_on_data_loss=boolean(options, "failOnDataLoss", True),
        include_headers=include_headers(options),
        group_id=_group_id(options),
        fetch_offset_retries=DEFAULT_FETCH_OFFSET_RETRIES if retries is None else retries,
        fetch_offset_retry_interval_ms=(
            DEFAULT_FETCH_OFFSET_RETRY_INTERVAL_MS if interval_ms is None else interval_ms
        ),
        kafka=kafka,
    )


def include_headers(options: Options) -> bool:
    """Returns True if rows have a column of headers."""
    return boolean(options, "includeHeaders", False)


def kafka_options(options: Options) -> dict[str, str]:
    """The client's settings, with Kafka's names. References to secrets stay references."""
    if not options.get(BOOTSTRAP_SERVERS, "").strip():
        raise OptionError(
            f"Option '{BOOTSTRAP_SERVERS}' is not set: write the address of a broker, "
            "for example localhost:9092."
        )
    kafka = {
        name.lower().removeprefix(KAFKA_PREFIX): value
        for name, value in options.items()
        if name.lower().startswith(KAFKA_PREFIX)
    }
    for name, reason in _REFUSED.items():
        if name in kafka:
            raise OptionError(f"Option 'kafka.{name}' cannot be set: {reason}")
    isolation_level = _isolation_level(options, kafka)
    return kafka if isolation_level is None else {**kafka, "isolation.level": isolation_level}


def _isolation_level(options: Options, kafka: Mapping[str, str]) -> str | None:
    """The option of this source, or Spark's spelling of it."""
    ours, sparks = options.get("isolationLevel"), kafka.get("isolation.level")
    if ours is None:
        return sparks
    level = ours.strip().lower()
    if level not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise OptionError(
            f"Option 'isolationLevel' is '{ours}': write {READ_COMMITTED} or {READ_UNCOMMITTED}."
        )
    if sparks is not None and sparks.strip().lower() != level:
        raise OptionError(
            f"Options 'isolationLevel' ({level}) and 'kafka.isolation.level' ({sparks}) differ: set one."
        )
    return level


def warnings(options: Options, *, streaming: bool) -> Iterable[str]:
    """Warnings about options without effect: misspelt ones, and those of the other kind of query."""
    known = {name.lower(): name for name in _KNOWN}
    for name in options:
        if name.lower() in known or name.lower().startswith(KAFKA_PREFIX):
            continue
        close = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f": did you mean '{known[close[0]]}'?" if close else "."
        yield f"Option '{name}' is not known and has no effect{hint}"
    if not streaming:
        for name in (*_STREAM_ONLY, "groupId"):
            if name in options:
                yield f"Option '{name}' is for streaming queries and has no effect in a batch query."


def _group_id(options: Options) -> str | None:
    group_id = options.get("groupId")
    if group_id is not None and not group_id.strip():
        raise OptionError("Option 'groupId' is empty: name a consumer group, or remove it.")
    return group_id


def _target_ms(options: Options) -> int | None:
    target_ms = duration_ms(options, "targetBatchDuration")
    if target_ms is not None and target_ms < 1:
        raise OptionError("Option 'targetBatchDuration' must be longer than 0: write 10s, for example.")
    return target_ms
