"""The admin calls against a running broker."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ListedOffset,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicDescription,
    TopicPartition,
)
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode, KafkaError
from tests.client.live import eventually


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(Cluster(bootstrap, client_id="test-admin")) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin, new_name: Callable[[str], str]) -> str:
    """A topic with three partitions."""
    name = new_name("admin")
    assert admin.create_topics([NewTopic(name, partitions=3, replication_factor=1)]) == {name: None}
    assert eventually(lambda: partition_count(admin, name) == 3)
    return name


def code_of(result: object) -> int:
    assert isinstance(result, KafkaError)
    return result.code


def described(admin: Admin, name: str) -> TopicDescription:
    result = admin.describe_topics([name])[name]
    assert isinstance(result, TopicDescription)
    return result


def partition_count(admin: Admin, name: str) -> int:
    result = admin.describe_topics([name])[name]
    return len(result.partitions) if isinstance(result, TopicDescription) else 0


def entries(admin: Admin, resource: ConfigResource) -> dict[str, ConfigEntry]:
    result = admin.describe_configs([resource], include_synonyms=True)[resource]
    assert isinstance(result, list)
    return {entry.name: entry for entry in result}


def produce(bootstrap: str, topic: str, partition: int, timestamps_ms: list[int]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for timestamp_ms in timestamps_ms:
        producer.produce(topic, b"value", partition=partition, timestamp=timestamp_ms)
    assert producer.flush(10) == 0


def test_a_topic_is_created_listed_described_and_deleted(admin: Admin, topic: str) -> None:
    (listing,) = [listing for listing in admin.list_topics() if listing.name == topic]
    description = described(admin, topic)
    assert description.topic_id == listing.topic_id != bytes(16)
    assert [partition.partition for partition in description.partitions] == [0, 1, 2]
    for partition in description.partitions:
        assert partition.leader in partition.in_sync_replicas == partition.replicas
    assert admin.delete_topics([topic]) == {topic: None}
    assert eventually(lambda: topic not in [listing.name for listing in admin.list_topics()])


def test_topics_are_described_by_id(admin: Admin, topic: str) -> None:
    topic_id = described(admin, topic).topic_id
    by_id = admin.describe_topics_by_id([topic_id])[topic_id]
    assert isinstance(by_id, TopicDescription)
    assert (by_id.name, len(by_id.partitions)) == (topic, 3)


def test_many_partitions_come_in_pages(admin: Admin, topic: str, new_name: Callable[[str], str]) -> None:
    other = new_name("admin")
    admin.create_topics([NewTopic(other, partitions=4)])
    assert eventually(lambda: partition_count(admin, other) == 4)
    whole = admin.describe_topics([topic, other])
    assert admin.describe_topics([topic, other], page_partitions=1) == whole
    assert admin.describe_topics([topic, other], page_partitions=2) == whole


def test_no_names_describe_no_topics(admin: Admin, topic: str) -> None:
    assert admin.describe_topics([]) == {}


def test_each_of_many_topics_has_its_own_result(
    admin: Admin, topic: str, new_name: Callable[[str], str]
) -> None:
    good = new_name("admin")
    results = admin.create_topics([NewTopic(good), NewTopic(topic), NewTopic("not a name")])
    assert results[good] is None
    assert code_of(results[topic]) == ErrorCode.TOPIC_ALREADY_EXISTS
    assert str(results[topic]) == f"Topic '{topic}' already exists."
    assert code_of(results["not a name"]) == ErrorCode.INVALID_TOPIC_EXCEPTION
    deleted = admin.delete_topics([good, f"{good}-2"])
    assert deleted[good] is None
    assert code_of(deleted[f"{good}-2"]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_validate_only_creates_nothing(admin: Admin, new_name: Callable[[str], str]) -> None:
    name = new_name("admin")
    assert admin.create_topics([NewTopic(name)], validate_only=True) == {name: None}
    assert name not in [listing.name for listing in admin.list_topics()]


def test_replicas_can_be_assigned_by_hand(admin: Admin, new_name: Callable[[str], str]) -> None:
    name = new_name("admin")
    broker = admin.describe_cluster().broker_ids[0]
    assert admin.create_topics([NewTopic(name, assignments={0: [broker], 1: [broker]})]) == {name: None}
    assert eventually(lambda: partition_count(admin, name) == 2)
    assert [partition.replicas for partition in described(admin, name).partitions] == [[broker], [broker]]
    more = {name: NewPartitions(3, [[broker]])}
    assert admin.create_partitions(more) == {name: None}
    assert eventually(lambda: partition_count(admin, name) == 3)


def test_a_topic_gets_more_partitions_but_never_fewer(admin: Admin, topic: str) -> None:
    assert admin.create_partitions({topic: NewPartitions(5)}) == {topic: None}
    assert eventually(lambda: partition_count(admin, topic) == 5)
    refused = admin.create_partitions({topic: NewPartitions(2)})[topic]
    assert code_of(refused) == ErrorCode.INVALID_PARTITIONS


def test_settings_are_set_shown_with_their_sources_and_deleted(admin: Admin, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    assert entries(admin, resource)["retention.ms"].is_default
    admin.alter_configs(resource, set_values={"retention.ms": "1234567", "segment.bytes": "2097152"})
    assert eventually(lambda: not entries(admin, resource)["retention.ms"].is_default)
    changed = entries(admin, resource)["retention.ms"]
    assert (changed.value, changed.source) == ("1234567", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert changed.synonyms[0].source == ConfigSource.DYNAMIC_TOPIC_CONFIG
    admin.alter_configs(resource, delete=["retention.ms"])
    assert eventually(lambda: entries(admin, resource)["retention.ms"].is_default)
    assert entries(admin, resource)["segment.bytes"].value == "2097152"


def test_a_wrong_setting_is_refused_with_the_brokers_reason(admin: Admin, topic: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    with pytest.raises(KafkaError, match=r"Unknown topic config name: no\.such") as refused:
        admin.alter_configs(resource, set_values={"no.such": "1"})
    assert refused.value.code == ErrorCode.INVALID_CONFIG


def test_a_broker_describes_its_own_settings(admin: Admin) -> None:
    broker = admin.describe_cluster().broker_ids[0]
    settings = entries(admin, ConfigResource(ResourceType.BROKER, str(broker)))
    assert settings["node.id"].value == str(broker)
    assert settings["log.retention.ms"].is_sensitive is False


def test_offsets_are_found_at_both_ends_and_by_time(admin: Admin, bootstrap: str, topic: str) -> None:
    now_ms = 1_700_000_000_000
    produce(bootstrap, topic, 1, [now_ms, now_ms + 2000, now_ms + 1000])
    one, empty = TopicPartition(topic, 1), TopicPartition(topic, 0)

    def offset(question: int, partition: TopicPartition = one) -> int:
        found = admin.list_offsets({partition: question})[partition]
        assert isinstance(found, ListedOffset)
        return found.offset

    assert (offset(EARLIEST), offset(LATEST)) == (0, 3)
    assert (offset(EARLIEST, empty), offset(LATEST, empty)) == (0, 0)
    assert offset(now_ms + 1) == 1
    assert offset(now_ms + 5000) == -1
    assert offset(MAX_TIMESTAMP) == 1


def test_records_are_deleted_up_to_an_offset(admin: Admin, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 0, [1_700_000_000_000] * 5)
    partition = TopicPartition(topic, 0)
    assert admin.delete_records({partition: 2}) == {partition: 2}
    assert admin.list_offsets({partition: EARLIEST}) == {partition: ListedOffset(2, -1, 0)}
    assert code_of(admin.delete_records({partition: 9})[partition]) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert admin.delete_records({partition: -1}) == {partition: 5}


def test_a_partition_that_does_not_exist_is_an_error_of_its_own(admin: Admin, topic: str) -> None:
    here, nowhere = TopicPartition(topic, 0), TopicPartition(topic, 77)
    admin.cluster.api_timeout_ms = 100
    found = admin.list_offsets({here: LATEST, nowhere: LATEST})
    assert found[here] == ListedOffset(0, -1, 0)
    assert code_of(found[nowhere]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_broker_describes_its_folders(admin: Admin, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 2, [1_700_000_000_000])
    broker = admin.describe_cluster().broker_ids[0]
    (folder,) = admin.describe_log_dirs(broker)
    sizes = {replica.partition: replica.size_bytes for replica in folder.replicas}
    assert folder.error_code == 0
    assert sizes[TopicPartition(topic, 0)] == 0
    assert sizes[TopicPartition(topic, 2)] > 60
    assert folder.total_bytes > folder.usable_bytes > 0


def test_the_cluster_describes_itself(admin: Admin) -> None:
    cluster = admin.describe_cluster()
    assert len(cluster.cluster_id) == 22
    assert cluster.broker_ids == sorted(admin.cluster.brokers())
    served = {api.api_key for api in admin.api_versions(cluster.broker_ids[0]).api_keys}
    assert {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.API_VERSIONS} <= served


def test_resources_with_settings_are_listed(admin: Admin, topic: str) -> None:
    assert topic in admin.list_config_resources(ResourceType.TOPIC)
    assert admin.list_config_resources(ResourceType.CLIENT_METRICS) == []
