"""kcat, the command line client on librdkafka: one process for each call."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.clients.driver import (
    CLIENT_MESSAGE_LIMIT_BYTES,
    MAX_WAIT_MS,
    TIMEOUT_S,
    ClientError,
    Driver,
    Login,
    Message,
    Outgoing,
    Placed,
    Tls,
    security_for_librdkafka,
)

RECORD_SEPARATOR = b"\x1e"
KEY_SEPARATOR = b"\x1f"
# kcat's error messages, and Kafka's names for them.
ERRORS = {
    "Message size too large": "MESSAGE_TOO_LARGE",
    "Unknown topic": "UNKNOWN_TOPIC_OR_PARTITION",
    "Offset out of range": "OFFSET_OUT_OF_RANGE",
}
NO_ADMIN = "kcat has no administrative calls"


class KcatDriver(Driver):
    NAME = "kcat"
    CANNOT = {
        "learns_where_records_went": "its producer does not print offsets",
        "any_bytes": "its headers are command line arguments, which hold no zero byte",
        "null_headers": "a header without a value is an empty one to it",
        "create_time": "it cannot give a record a timestamp",
        "seek": "it starts at one offset and reads on",
        "offset_of_the_newest_record": "it asks for offsets only by time",
        **dict.fromkeys(
            [
                "topic_is_created",
                "topic_is_only_validated",
                "topic_exists_already",
                "invalid_topic_name",
                "names_that_collide",
                "too_many_replicas",
                "topic_is_deleted",
                "deleted_topic_comes_back_empty",
                "partitions_are_added",
                "partitions_are_never_removed",
                "topic_is_created_with_configs",
                "configs_have_defaults",
                "configs_are_altered",
                "invalid_config",
                "records_are_deleted",
                "records_past_the_end_are_not_deleted",
            ],
            NO_ADMIN,
        ),
    }

    def __init__(self, bootstrap: str, tls: Tls | None = None, login: Login | None = None) -> None:
        super().__init__(bootstrap, tls, login)
        settings = security_for_librdkafka(tls, login)
        self._connection = [part for name, value in settings.items() for part in ("-X", f"{name}={value}")]
        if shutil.which("kcat") is None:
            raise RuntimeError("kcat not found; run scripts/setup_system")

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        command = ["kcat", "-b", self.bootstrap, *self._connection, *arguments]
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise ClientError("TIMEOUT", f"{' '.join(command)}: {error.stderr!r}") from error
        said = done.stderr.decode("utf-8", "replace")
        if done.returncode != 0 or "% ERROR" in said or "Delivery failed" in said:
            raise ClientError(kafka_name(said), said)
        return done.stdout

    def produce(
        self,
        topic: str,
        records: Sequence[Outgoing],
        *,
        partition: int | None = None,
        acks: str = "all",
        compression: str = "none",
        idempotent: bool = False,
    ) -> list[Placed]:
        settings = [
            f"acks={acks}",
            f"compression.codec={compression}",
            f"enable.idempotence={str(idempotent).lower()}",
            "partitioner=murmur2_random",
            "linger.ms=20",
            f"message.max.bytes={CLIENT_MESSAGE_LIMIT_BYTES}",
            f"message.timeout.ms={int(TIMEOUT_S * 1000)}",
            "topic.metadata.propagation.max.ms=500",
        ]
        common = ["-P", "-t", topic, "-p", str(-1 if partition is None else partition)]
        common += [part for setting in settings for part in ("-X", setting)]
        # Headers, and the meaning of an empty value, are the same for a whole run of kcat.
        for (keyed, null, headers), group in itertools.groupby(
            records, lambda record: (record.key is not None, record.value is None, record.headers)
        ):
            options = ["-D", "\\x1e"]
            options += ["-K", "\\x1f"] if keyed else []
            options += ["-Z"] if null else []
            for name, value in headers:
                options += ["-H", f"{name}={(value or b'').decode()}"]
            self._run(*common, *options, stdin=RECORD_SEPARATOR.join(map(line, group)))
        return []

    def consume(
        self,
        topic: str,
        partition: int,
        offset: int | str,
        count: int,
        *,
        reset: str = "none",
        max_wait_ms: int = MAX_WAIT_MS,
    ) -> list[Message]:
        start = {"earliest": "beginning", "latest": "end"}.get(str(offset), str(offset))
        policy = "error" if reset == "none" else reset
        options = ["-t", topic, "-p", str(partition), "-o", start, "-c", str(count)]
        settings = ["-X", f"auto.offset.reset={policy}", "-X", f"fetch.wait.max.ms={max_wait_ms}"]
        lines = self._run("-C", "-J", "-q", *options, *settings)
        return [message(json.loads(entry)) for entry in lines.splitlines()]

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        return self._query(topic, partition, -2), self._query(topic, partition, -1)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        offset = self._query(topic, partition, timestamp_ms)
        return None if offset < 0 else offset

    def _query(self, topic: str, partition: int, timestamp_ms: int) -> int:
        """The offset at a time. -2 means the first and -1 the end, as in the protocol."""
        answer = self._run("-Q", "-t", f"{topic}:{partition}:{timestamp_ms}").decode()
        return int(answer.rpartition("offset ")[2])

    def list_topics(self) -> set[str]:
        return {topic["topic"] for topic in self._metadata()["topics"]}

    def partition_leaders(self, topic: str) -> dict[int, int]:
        (described,) = self._metadata("-t", topic)["topics"]
        if "error" in described:
            raise ClientError(kafka_name(described["error"]), described["error"])
        return {partition["partition"]: partition["leader"] for partition in described["partitions"]}

    def node_ids(self) -> set[int]:
        return {broker["id"] for broker in self._metadata()["brokers"]}

    def _metadata(self, *options: str) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(self._run("-L", "-J", *options))
        return metadata


def kafka_name(said: str) -> str:
    return next((name for text, name in ERRORS.items() if text in said), "unknown error")


def line(record: Outgoing) -> bytes:
    value = record.value or b""
    return value if record.key is None else record.key + KEY_SEPARATOR + value


def message(envelope: dict[str, Any]) -> Message:
    def data(text: str | None) -> bytes | None:
        return None if text is None else text.encode()

    headers = envelope.get("headers") or []
    return Message(
        partition=envelope["partition"],
        offset=envelope["offset"],
        timestamp_ms=envelope["ts"],
        key=data(envelope["key"]),
        value=data(envelope["payload"]),
        headers=tuple((name, data(value)) for name, value in zip(headers[::2], headers[1::2], strict=True)),
    )
