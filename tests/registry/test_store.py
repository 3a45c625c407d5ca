"""The store on its own: what fences a leader, and what is read back."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from gralha.client.settings import ClientSettings
from gralha.client.values import NewTopic
from gralha.registry import errors
from gralha.registry.records import Record, SchemaVersion, schema_record
from gralha.registry.state import RegistryState
from gralha.registry.store import FencedError, Store
from gralha.registry.topic import SchemasTopic, TopicError

NewSubject = Callable[[str], str]


def schema(number: int) -> Record:
    return schema_record(SchemaVersion(f"s{number}", 1, number, schema='"string"'))


@pytest.fixture
async def make_store(kafka: str, new_subject: NewSubject) -> AsyncIterator[Callable[[], Store]]:
    topic = new_subject("store")
    stores: list[Store] = []

    def make(**options: Any) -> Store:
        settings = ClientSettings.from_kafka({"bootstrap.servers": kafka})
        librdkafka = {"bootstrap.servers": kafka}
        store = Store(RegistryState(), settings, librdkafka, topic=topic, group_id=topic, **options)
        stores.append(store)
        return store

    yield make
    for store in stores:
        await store.close()


async def test_the_last_leader_fences_the_others(make_store: Callable[[], Store]) -> None:
    first, second = make_store(), make_store()
    await first.start()
    await second.start()
    await first.lead()
    await first.write([schema(1)])
    await second.lead()
    assert second.state.subjects.keys() == {"s1"}, "a new leader has read everything"
    with pytest.raises(FencedError):
        await first.write([schema(2)])
    with pytest.raises(FencedError):
        await first.write([schema(2)])
    await second.write([schema(3)])
    await first.catch_up()
    assert first.state.subjects.keys() == second.state.subjects.keys() == {"s1", "s3"}
    await first.lead()
    await first.write([schema(4)])
    assert first.state.subjects.keys() == {"s1", "s3", "s4"}


async def test_a_write_is_read_all_or_none(make_store: Callable[[], Store]) -> None:
    store = make_store()
    await store.start()
    await store.lead()
    too_large = Record(b'{"keytype":"SCHEMA","subject":"large","version":1,"magic":1}', b" " * (2 << 20))
    with pytest.raises(errors.RegistryError) as raised:
        await store.write([schema(1), too_large])
    assert raised.value.code == 42209
    await store.lead()
    await store.write([schema(2), schema(3)])
    assert store.state.subjects.keys() == {"s2", "s3"}


async def test_a_topic_that_would_lose_schemas_is_refused(kafka: str, new_subject: NewSubject) -> None:
    settings = ClientSettings.from_kafka({"bootstrap.servers": kafka})
    topic = SchemasTopic(settings, new_subject("unsafe"), 3)
    topic._admin.create_topics([NewTopic(topic.name, 1, 1, configs={"cleanup.policy": "delete"})])
    with pytest.raises(TopicError, match=r"cleanup.policy=delete"):
        topic.prepare()
    topic.close()
    topic = SchemasTopic(settings, new_subject("partitions"), 3)
    topic._admin.create_topics([NewTopic(topic.name, 2, 1, configs={"cleanup.policy": "compact"})])
    with pytest.raises(TopicError, match="2 partitions"):
        topic.prepare()
    topic.close()


async def test_an_instance_notices_that_the_topic_is_not_read_any_more(
    make_store: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store()
    await store.start()
    assert store._reader is not None

    class Broken:
        def poll(self, _timeout_s: float) -> None:
            raise KafkaException(KafkaError(KafkaError._FATAL))

        def close(self) -> None:
            consumer.close()

    consumer = store._reader._consumer
    monkeypatch.setattr(store._reader, "_consumer", Broken())
    with pytest.raises(errors.RegistryError) as raised:
        await store.reading()
    assert raised.value.code == 50001
