"""Clients in other languages: a program (see `program`) that runs as long as the driver.

Bytes are encoded as base64. The arguments and results are those of `Driver`, so a new language needs only a
program.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from tests.clients import access
from tests.clients.driver import (
    CLIENT_MESSAGE_LIMIT_BYTES,
    MAX_WAIT_MS,
    TIMEOUT_S,
    Driver,
    Login,
    Message,
    Outgoing,
    Placed,
    Tls,
)
from tests.clients.drivers.program import Program


def encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class RemoteDriver(Driver):
    """A driver whose client is a child process, started by `command`."""

    def __init__(self, bootstrap: str, tls: Tls | None = None, login: Login | None = None) -> None:
        super().__init__(bootstrap, tls, login)
        self._program = Program(self.NAME, [*self.command(), bootstrap, *access.arguments(tls, login)])

    @classmethod
    def command(cls) -> list[str]:
        """The program to start. It gets the bootstrap address, and then TLS and the login as JSON, if any."""
        raise NotImplementedError

    def close(self) -> None:
        self._program.close()

    def call(self, name: str, **arguments: Any) -> Any:
        return self._program.call(name, **arguments)

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
        places = self.call(
            "produce",
            topic=topic,
            records=[
                {
                    "value": encoded(record.value),
                    "key": encoded(record.key),
                    "headers": [[name, encoded(value)] for name, value in record.headers],
                    "timestamp_ms": record.timestamp_ms,
                }
                for record in records
            ],
            partition=partition,
            acks=acks,
            compression=compression,
            idempotent=idempotent,
            limit_bytes=CLIENT_MESSAGE_LIMIT_BYTES,
        )
        return [Placed(place[0], place[1]) for place in places]

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
        records = self.call(
            "consume",
            topic=topic,
            partition=partition,
            offset=offset,
            count=count,
            reset=reset,
            max_wait_ms=max_wait_ms,
            timeout_ms=int(TIMEOUT_S * 1000),
        )
        return [message(record) for record in records]

    def consume_seeking(
        self, topic: str, partition: int, steps: Sequence[tuple[int, int]]
    ) -> list[list[Message]]:
        rounds = self.call(
            "consume_seeking",
            topic=topic,
            partition=partition,
            steps=steps,
            timeout_ms=int(TIMEOUT_S * 1000),
        )
        return [[message(record) for record in records] for records in rounds]

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        first, end = self.call("offsets", topic=topic, partition=partition)
        return first, end

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        offset: int | None = self.call(
            "offset_for_time", topic=topic, partition=partition, timestamp_ms=timestamp_ms
        )
        return offset

    def offset_of_max_timestamp(self, topic: str, partition: int) -> int:
        return int(self.call("offset_of_max_timestamp", topic=topic, partition=partition))

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 1,
        validate_only: bool = False,
    ) -> None:
        self.call(
            "create_topic",
            topic=topic,
            partitions=partitions,
            configs=dict(configs or {}),
            replication_factor=replication_factor,
            validate_only=validate_only,
        )

    def delete_topic(self, topic: str) -> None:
        self.call("delete_topic", topic=topic)

    def list_topics(self) -> set[str]:
        return set(self.call("list_topics"))

    def partition_leaders(self, topic: str) -> dict[int, int]:
        return dict(self.call("partition_leaders", topic=topic))

    def add_partitions(self, topic: str, total: int) -> None:
        self.call("add_partitions", topic=topic, total=total)

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        configs: dict[str, str | None] = self.call("describe_configs", topic=topic)
        return configs

    def alter_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        self.call("alter_configs", topic=topic, configs=dict(configs))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self.call("delete_records", topic=topic, partition=partition, before_offset=before_offset)

    def node_ids(self) -> set[int]:
        return set(self.call("node_ids"))


def message(record: dict[str, Any]) -> Message:
    return Message(
        partition=record["partition"],
        offset=record["offset"],
        timestamp_ms=record["timestamp_ms"],
        key=decoded(record["key"]),
        value=decoded(record["value"]),
        headers=tuple((name, decoded(value)) for name, value in record["headers"]),
    )
