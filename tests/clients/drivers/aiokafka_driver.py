"""aiokafka, the asyncio client. Each call runs to its end in the driver's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import BrokerResponseError, KafkaError, KafkaTimeoutError, for_code

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
    security_for_python,
)

T = TypeVar("T")


@contextlib.contextmanager
def kafka_names() -> Iterator[None]:
    """Translate aiokafka's errors."""
    try:
        yield
    except BrokerResponseError as error:
        raise ClientError.from_code(error.errno, str(error)) from error
    except (KafkaTimeoutError, TimeoutError) as error:
        raise ClientError("TIMEOUT", str(error)) from error
    except KafkaError as error:
        raise ClientError(type(error).__name__, str(error)) from error


def check_code(code: int, message: str | None = None) -> None:
    if code != 0:
        raise for_code(code)(message)


class AiokafkaDriver(Driver):
    NAME = "aiokafka"
    CANNOT = {"offset_of_the_newest_record": "it asks ListOffsets only by time, for earliest and for latest"}

    def __init__(self, bootstrap: str, tls: Tls | None = None, login: Login | None = None) -> None:
        super().__init__(bootstrap, tls, login)
        self._connection: dict[str, Any] = {"bootstrap_servers": bootstrap, **security_for_python(tls, login)}
        if tls is not None:
            context = ssl.create_default_context(cafile=tls.authority)
            context.load_cert_chain(tls.key)
            self._connection["ssl_context"] = context
        self._runner = asyncio.Runner()
        self._admin = self._run(self._start_admin())

    async def _start_admin(self) -> AIOKafkaAdminClient:
        admin = AIOKafkaAdminClient(**self._connection)
        await admin.start()
        return admin

    def close(self) -> None:
        self._run(self._admin.close())
        self._runner.close()

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        with kafka_names():
            return self._runner.run(call)

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
        async def send() -> list[Placed]:
            producer = AIOKafkaProducer(
                **self._connection,
                acks=acks if acks == "all" else int(acks),
                compression_type=None if compression == "none" else compression,
                enable_idempotence=idempotent,
                linger_ms=20,
                max_request_size=CLIENT_MESSAGE_LIMIT_BYTES,
                request_timeout_ms=2000,
            )
            async with producer:
                sent = [
                    await producer.send(
                        topic,
                        value=record.value,
                        key=record.key,
                        headers=list(record.headers),
                        partition=partition,
                        timestamp_ms=record.timestamp_ms,
                    )
                    for record in records
                ]
                places = [await future for future in sent]
            return [Placed(place.partition, place.offset) for place in places if place is not None]

        return self._run(send())

    @contextlib.asynccontextmanager
    async def _consumer(
        self, topic: str, partition: int, reset: str = "none", max_wait_ms: int = MAX_WAIT_MS
    ) -> AsyncIterator[tuple[AIOKafkaConsumer, TopicPartition]]:
        where = TopicPartition(topic, partition)
        consumer = AIOKafkaConsumer(
            **self._connection,
            group_id=None,
            auto_offset_reset=reset,
            enable_auto_commit=False,
            fetch_max_wait_ms=max_wait_ms,
        )
        async with consumer:
            consumer.assign([where])
            yield consumer, where

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
        async def consume() -> list[Message]:
            async with self._consumer(topic, partition, reset, max_wait_ms) as (consumer, where):
                if offset == "earliest":
                    await consumer.seek_to_beginning(where)
                elif offset == "latest":
                    await consumer.seek_to_end(where)
                else:
                    consumer.seek(where, offset)
                return await read(consumer, count)

        return self._run(consume())

    def consume_seeking(
        self, topic: str, partition: int, steps: Sequence[tuple[int, int]]
    ) -> list[list[Message]]:
        async def consume() -> list[list[Message]]:
            rounds = []
            async with self._consumer(topic, partition) as (consumer, where):
                for offset, count in steps:
                    consumer.seek(where, offset)
                    rounds.append(await read(consumer, count))
            return rounds

        return self._run(consume())

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        async def ask() -> tuple[int, int]:
            async with self._consumer(topic, partition) as (consumer, where):
                first = await consumer.beginning_offsets([where])
                end = await consumer.end_offsets([where])
                return first[where], end[where]

        return self._run(ask())

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        async def ask() -> int | None:
            async with self._consumer(topic, partition) as (consumer, where):
                found = (await consumer.offsets_for_times({where: timestamp_ms}))[where]
                return None if found is None else int(found.offset)

        return self._run(ask())

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replication_factor: int = 1,
        validate_only: bool = False,
    ) -> None:
        async def create() -> None:
            new = NewTopic(topic, partitions, replication_factor, topic_configs=dict(configs or {}))
            answer = await self._admin.create_topics([new], validate_only=validate_only)
            for _, code, message, *_ in answer.topic_errors:
                check_code(code, message)

        self._run(create())

    def delete_topic(self, topic: str) -> None:
        async def delete() -> None:
            answer = await self._admin.delete_topics([topic])
            for _, code, *_ in answer.topic_error_codes:
                check_code(code)

        self._run(delete())

    def list_topics(self) -> set[str]:
        return set(self._run(self._admin.list_topics()))

    def partition_leaders(self, topic: str) -> dict[int, int]:
        async def describe() -> dict[int, int]:
            (described,) = await self._admin.describe_topics([topic])
            check_code(described["error_code"])
            return {partition["partition"]: partition["leader"] for partition in described["partitions"]}

        return self._run(describe())

    def add_partitions(self, topic: str, total: int) -> None:
        self._run(self._admin.create_partitions({topic: NewPartitions(total)}))

    def describe_configs(self, topic: str) -> dict[str, str | None]:
        async def describe() -> dict[str, str | None]:
            (answer,) = await self._admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            code, message, _, _, entries = answer.resources[0][:5]
            check_code(code, message)
            return {entry[0]: entry[1] for entry in entries}

        return self._run(describe())

    def alter_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        async def alter() -> None:
            resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(configs))
            (answer,) = await self._admin.alter_configs([resource])
            for code, message, *_ in answer.resources:
                check_code(code, message)

        self._run(alter())

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        where = TopicPartition(topic, partition)
        self._run(self._admin.delete_records({where: RecordsToDelete(before_offset)}))

    def node_ids(self) -> set[int]:
        return {broker["node_id"] for broker in self._run(self._admin.describe_cluster())["brokers"]}


async def read(consumer: AIOKafkaConsumer, count: int) -> list[Message]:
    messages: list[Message] = []
    async with asyncio.timeout(TIMEOUT_S):
        while len(messages) < count:
            record = await consumer.getone()
            messages.append(
                Message(
                    partition=record.partition,
                    offset=record.offset,
                    timestamp_ms=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=tuple(record.headers),
                )
            )
    return messages
