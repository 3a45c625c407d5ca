"""Looks up the topics of a pipeline in the cluster, and creates missing ones."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.denials import how_to_allow
from gralha.client.errors import ClientError, ErrorCode, KafkaError, UnsupportedApiError
from gralha.client.values import NewTopic, TopicDescription
from gralha.pipelines.errors import PipelineError
from gralha.spark.secrets import client_settings

# A person waits at a terminal for the start.
PATIENCE_MS: Final = 15_000


class Topics:
    """The topics of a cluster."""

    def __init__(self, admin: Admin, bootstrap_servers: str) -> None:
        self._admin = admin
        self._bootstrap_servers = bootstrap_servers

    def cluster_id(self) -> str:
        """The id of the cluster. "" if it is not known."""
        try:
            return self._admin.describe_cluster().cluster_id
        except (UnsupportedApiError, KafkaError):
            return ""

    def partitions(self, names: Iterable[str], operation: str = "DESCRIBE") -> dict[str, int | None]:
        """The number of partitions of each topic. None if it does not exist.

        Raises PipelineError if the user may not know that. `operation` is the right that the user needs.
        """
        wanted = list(dict.fromkeys(names))
        described = self._admin.describe_topics(wanted) if wanted else {}
        found: dict[str, int | None] = {}
        for name in wanted:
            topic = described.get(name)
            if isinstance(topic, KafkaError) and topic.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                advice = how_to_allow(topic.code, name, operation, self._admin.cluster.security)
                raise PipelineError(f"The topic {name} cannot be used: {topic.message}{advice}")
            found[name] = len(topic.partitions) if isinstance(topic, TopicDescription) else None
        return found

    def has_group(self, name: str) -> bool:
        """Returns True if the cluster has a consumer group with this name. False if that is not known."""
        try:
            return any(group.group_id == name for group in self._admin.list_groups())
        except (ClientError, KafkaError):
            return False

    def missing(self, name: str) -> str:
        """A sentence about a missing topic, with the command to create it."""
        known = [topic.name for topic in self._admin.list_topics() if not topic.is_internal]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        return (
            f"There is no topic {name} on {self._bootstrap_servers}. {hint}Create it with: "
            f"kafka-topics --bootstrap-server {self._bootstrap_servers} --create --topic {name}"
        )

    def create(self, topics: Iterable[NewTopic]) -> None:
        """Creates topics. Another process may have created them meanwhile."""
        wanted = {topic.name: topic for topic in topics}
        for name, error in self._admin.create_topics(wanted.values()).items():
            if error is not None and self.partitions([name])[name] is None:
                advice = how_to_allow(error.code, name, "CREATE", self._admin.cluster.security)
                raise PipelineError(f"The topic {name} cannot be created: {error}{advice}")


@contextmanager
def topics_of(kafka: Mapping[str, str]) -> Iterator[Topics]:
    """The topics of a cluster. Raises PipelineError, as a sentence, if it does not answer."""
    servers = kafka.get("bootstrap.servers", "")
    try:
        settings = client_settings(kafka).hurried(PATIENCE_MS)
        with Admin(Cluster.of(settings, api_timeout_ms=PATIENCE_MS)) as admin:
            yield Topics(admin, servers)
    except (ClientError, KafkaError) as error:
        raise PipelineError(str(error)) from error
