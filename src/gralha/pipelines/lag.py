"""The current lag of a pipeline: the ends of its topics, less the offsets of its last batch.

Spark's report has the ends from the start of the batch. A batch that takes a minute, or never ends, would
show no lag. So the brokers are asked whenever the lag is shown.
"""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.errors import ClientError
from gralha.client.values import LATEST, ListedOffset, TopicPartition
from gralha.pipelines.progress import Progress
from gralha.spark.secrets import client_settings

# The caller does not wait long: an unknown lag is better than a terminal that does not react.
PATIENCE_MS: Final = 2_000


class LagMeter:
    """Asks the brokers, from any thread. An unknown lag is None."""

    def __init__(self, bootstrap_servers: str, kafka: Mapping[str, str]) -> None:
        self._kafka = {**kafka, "bootstrap.servers": bootstrap_servers}
        self._lock = threading.Lock()
        self._admin: Admin | None = None

    def lag(self, progress: Progress) -> int | None:
        """The number of records after the end of the pipeline's last batch."""
        read_to = {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in progress.read_to.items()
            for partition, offset in partitions.items()
        }
        if not read_to:
            return progress.lag
        with self._lock:
            ends = self._ends(list(read_to))
        known = [max(0, ends[one] - offset) for one, offset in read_to.items() if one in ends]
        return sum(known) if len(known) == len(read_to) else None

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            self._forget()

    def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        try:
            answers = self._connected().list_offsets(dict.fromkeys(partitions, LATEST))
        except ClientError:
            self._forget()
            return {}
        return {one: answer.offset for one, answer in answers.items() if isinstance(answer, ListedOffset)}

    def _connected(self) -> Admin:
        if self._admin is None:
            settings = replace(client_settings(self._kafka), client_id="gralha-pipeline-lag")
            self._admin = Admin(Cluster.of(settings.hurried(PATIENCE_MS), api_timeout_ms=PATIENCE_MS))
        return self._admin

    def _forget(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None


class LagMeters:
    """The meters of the pipelines of a run, by name. Pipelines with the same settings share one."""

    def __init__(self, kafka: Mapping[str, Mapping[str, str]]) -> None:
        shared: dict[tuple[tuple[str, str], ...], LagMeter] = {}
        self._meters = {
            name: shared.setdefault(
                tuple(sorted(one.items())), LagMeter(one.get("bootstrap.servers", ""), one)
            )
            for name, one in kafka.items()
        }

    def lag(self, progress: Progress) -> int | None:
        """The number of records after the end of the pipeline's last batch."""
        return self._meters[progress.pipeline].lag(progress)

    def close(self) -> None:
        """Closes the connections."""
        for meter in self._meters.values():
            meter.close()
