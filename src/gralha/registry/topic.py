"""The topic of the registry: created with one partition and compaction, and checked if it exists."""

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError, ErrorCode, KafkaError
from gralha.client.settings import ClientSettings
from gralha.client.values import ConfigResource, NewTopic, ResourceType, TopicPartition

LATEST_OFFSET: Final = -1
API_TIMEOUT_MS: Final = 30_000
PATIENCE_S: Final = 30.0
PAUSE_S: Final = 0.1
Result = TypeVar("Result")
_log: Final = logging.getLogger(__name__)


class TopicError(ClientError):
    """The topic cannot hold schemas."""


class SchemasTopic:
    """Admin calls about one topic. Each of them blocks."""

    def __init__(self, settings: ClientSettings, name: str, replication_factor: int) -> None:
        self.name = name
        self._settings = settings
        self._replication_factor = replication_factor
        self._partition = TopicPartition(name, 0)
        self._admin = Admin(self.cluster())

    def cluster(self) -> Cluster:
        """New connections to the cluster, for another thread."""
        return Cluster.of(self._settings, api_timeout_ms=API_TIMEOUT_MS, waits_for_first_answer=True)

    def cluster_id(self) -> str:
        return self._admin.describe_cluster().cluster_id

    def prepare(self) -> None:
        """Creates the topic, or checks it. Raises TopicError, KafkaError or ClientError."""
        if not self._exists():
            self._create()
        described = _patiently(lambda: self._admin.describe_topics([self.name])[self.name])
        if len(described.partitions) != 1:
            raise TopicError(
                f"The topic {self.name} has {len(described.partitions)} partitions, but must have one, "
                "because the order of its records counts"
            )
        self._check_policy()

    def end_offset(self) -> int:
        """The offset after the last record that is committed."""
        wanted = {self._partition: LATEST_OFFSET}
        return _patiently(
            lambda: self._admin.list_offsets(wanted, read_committed=True)[self._partition]
        ).offset

    def close(self) -> None:
        self._admin.close()

    def _exists(self) -> bool:
        """Asks once. `describe_topics` would wait a while for a topic that somebody is creating."""
        cluster = self._admin.cluster
        topics = cluster.once(lambda: cluster.metadata([self.name])).topics
        return all(topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for topic in topics)

    def _create(self) -> None:
        brokers = len(self._admin.describe_cluster().broker_ids)
        replicas = min(self._replication_factor, brokers)
        if replicas < self._replication_factor:
            _log.warning(
                "The cluster has %d brokers, so the topic %s has %d replicas instead of %d",
                *(brokers, self.name, replicas, self._replication_factor),
            )
        topic = NewTopic(self.name, 1, replicas, configs={"cleanup.policy": "compact"})
        error = self._admin.create_topics([topic])[self.name]
        if error is not None and error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise error

    def _check_policy(self) -> None:
        resource = ConfigResource(ResourceType.TOPIC, self.name)
        configs = self._admin.describe_configs([resource])[resource]
        if isinstance(configs, KafkaError):
            _log.warning("The settings of the topic %s are not known: %s", self.name, configs)
            return
        policy = next((config.value for config in configs if config.name == "cleanup.policy"), None)
        if policy is not None and policy != "compact":
            raise TopicError(
                f"The topic {self.name} has cleanup.policy={policy}, so it would lose schemas. Use "
                f"kafka-configs --alter --entity-type topics --entity-name {self.name} "
                "--add-config cleanup.policy=compact"
            )


def _patiently(ask: Callable[[], Result | KafkaError]) -> Result:
    """The answer about a topic that exists. A broker learns of a new topic a moment after its creation."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = ask()
        if not isinstance(answer, KafkaError):
            return answer
        is_new = answer.code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)
        if not is_new or time.monotonic() > deadline:
            raise answer
        time.sleep(PAUSE_S)
