"""Quotas at the door: which requests are counted, what the answers say, and whose connection is muted."""

import pytest

from gralha.broker.quota_use import NO_THROTTLE
from gralha.broker.throttling import ClientThrottle
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from gralha.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.fetch import FetchRequest
from gralha.protocol.messages.metadata import MetadataRequest
from gralha.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from gralha.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from tests.broker.handlers.door import NOW_MS, Client, append, create_topic, frame, make_broker
from tests.broker.handlers.fetching import begun, fetch, fetch_request, found

START_MS = 1_000_000
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Clock:
    def __init__(self):
        self.now_ms = START_MS

    def __call__(self):
        return self.now_ms


class QuotaClient(Client):
    """A client whose connection remembers that it is muted."""

    async def ask(self, request, version=None):
        self.pipelines = []
        return await super().ask(request, version)

    def _pipeline(self, on_ready, on_broken):
        pipeline = super()._pipeline(on_ready, on_broken)
        pipeline.throttle = self.broker.throttle
        self.pipelines.append(pipeline)
        return pipeline

    def is_muted(self):
        (pipeline,) = self.pipelines
        muted = pipeline.is_muted
        assert muted == pipeline.is_full()
        pipeline.close()
        return muted


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def broker(tmp_path, clock):
    broker = make_broker(tmp_path)
    use_clock(broker, clock)
    yield broker
    broker.logs.release()


def use_clock(broker, clock):
    broker.throttle = ClientThrottle(broker.config, broker.rights.acts_as_node, clock)
    broker.controller.subscribe(broker.throttle.follow)


@pytest.fixture
def client(broker):
    return QuotaClient(broker)


async def limit(client, entity=(("client-id", "test"),), **limits):
    """Sets quotas. None removes one."""
    ops = [OpData(key, value or 0.0, value is None) for key, value in limits.items()]
    entry = EntryData(entity=[EntityData(*part) for part in entity], ops=ops)
    response = await client.ask(AlterClientQuotasRequest(entries=[entry]))
    assert [one.error_code for one in response.entries] == [0]


def produce_request(size, acks=1):
    data = encode_batch([Record(None, bytes(size), NOW_MS)])
    partition = PartitionProduceData(index=0, records=RecordBytes(data, 0, len(data)))
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[TopicProduceData("a", partition_data=[partition])]
    )


async def produce(client, size):
    response = await client.ask(produce_request(size), 12)
    assert response.responses[0].partition_responses[0].error_code == 0
    return response.throttle_time_ms


async def test_a_producer_over_its_quota_is_answered_and_muted(broker, client, clock):
    await create_topic(broker, "a")
    await limit(client, producer_byte_rate=1000)
    request_bytes = len(frame(produce_request(4000), 12)) - 4
    assert await produce(client, 4000) == 0
    assert not client.is_muted()
    assert await produce(client, 4000) == 0
    # Ten windows may have 10,000 bytes.
    assert await produce(client, 4000) == 3 * request_bytes - 10_000
    assert client.is_muted()
    clock.now_ms += 60_000
    assert await produce(client, 4000) == 0
    assert broker.throttle.quotas.produce.throttled == 1


async def test_a_producer_without_acknowledgements_is_muted_too(broker, client):
    await create_topic(broker, "a")
    await limit(client, producer_byte_rate=100)
    pipeline = client.sent(produce_request(5000, acks=0), 12)
    assert pipeline.take_out() == []
    assert pipeline.is_muted
    pipeline.close()


async def test_frames_behind_a_throttled_request_wait(broker, client, clock):
    await create_topic(broker, "a")
    await limit(client, producer_byte_rate=100)
    one = frame(produce_request(5000), 12)
    flushed: list[None] = []
    pipeline = client._pipeline(lambda: flushed.append(None), pytest.fail)
    assert pipeline.feed(one + one, 0, 2 * len(one)) == len(one)
    assert len(pipeline.take_out()) > 0
    # When the time is over, the connection is told, and handles the rest.
    pipeline._unmute()
    assert flushed == [None]
    clock.now_ms += 100_000
    assert pipeline.feed(one, 0, len(one)) == len(one)
    pipeline.close()


async def test_only_the_client_with_the_quota_is_held_back(broker, client):
    await create_topic(broker, "a")
    await limit(client, entity=(("client-id", "other"),), producer_byte_rate=1)
    assert await produce(client, 4000) == 0
    assert not client.is_muted()
    await limit(client, entity=(("user", "ANONYMOUS"),), producer_byte_rate=1)
    assert await produce(client, 4000) > 0
    assert client.is_muted()


async def test_a_fetch_over_the_quota_has_no_records_and_is_not_counted(broker, client, clock):
    await create_topic(broker, "a")
    for _ in range(4):
        append(broker, "a", *[NOW_MS] * 50)
    size = broker.replicas.find("a", 0).log.read(0, 1 << 20, 200, True, False, False).size()
    # Ten windows have room for two answers.
    await limit(client, consumer_byte_rate=(size + 200) // 5)
    answers = [await fetch(client, {0: 0}, session_epoch=0) for _ in range(3)]
    assert [answer.throttle_time_ms > 0 for answer in answers] == [False, False, True]
    first = answers[0]
    assert found(first)
    assert answers[-1].responses == []
    # A new session would have begun with an answer about all partitions.
    assert answers[-1].session_id == 0
    assert len(broker.fetch_sessions) == 2
    assert client.is_muted()
    clock.now_ms += 11_000
    again = await fetch(client, {0: 0})
    assert again.throttle_time_ms == 0
    assert found(again) == found(first)


async def test_a_session_goes_on_after_a_throttled_fetch(broker, client, clock):
    await create_topic(broker, "a")
    append(broker, "a", *[NOW_MS] * 100)
    first = await fetch(client, {0: 0}, session_epoch=0)
    await limit(client, consumer_byte_rate=10)
    # The client has rested, so it gets one batch, although that is over the quota.
    batch = await fetch(client, {0: 0}, session_id=first.session_id, session_epoch=1)
    assert found(batch) == found(first)
    throttled = await fetch(client, {0: 0}, session_id=first.session_id, session_epoch=2)
    assert throttled.throttle_time_ms > 0
    assert throttled.session_id == first.session_id
    assert throttled.responses == []
    clock.now_ms += 60_000
    after = await fetch(client, {}, session_id=first.session_id, session_epoch=3)
    assert found(after) == found(first)


async def test_a_long_poll_is_throttled_when_it_has_records(broker, client):
    await create_topic(broker, "a")
    append(broker, "a", *[NOW_MS] * 100)
    await limit(client, consumer_byte_rate=10)
    await fetch(client, {0: 0})
    waiting = await begun(fetch(client, {0: 100}, max_wait_ms=600_000))
    append(broker, "a", *[NOW_MS] * 100)
    answer = await waiting
    assert answer.throttle_time_ms > 0
    assert answer.responses == []


async def test_followers_have_no_quota(broker, client):
    await create_topic(broker, "a")
    append(broker, "a", *[NOW_MS] * 100)
    await limit(client, entity=(("client-id", None),), consumer_byte_rate=1, request_percentage=0.0001)
    request = fetch_request({0: 0})
    request.replica_id = 1
    for _ in range(3):
        response = await client.ask(request, 12)
        assert response.throttle_time_ms == 0
        assert not client.is_muted()


async def test_a_client_that_claims_to_be_a_follower_has_its_quota(tmp_path, clock):
    broker = make_broker(tmp_path, authorizer_class_name=AUTHORIZER, super_users="User:node;User:admin")
    use_clock(broker, clock)
    await limit(QuotaClient(broker, principal="User:admin"), request_percentage=1e-9)
    fetch = fetch_request({0: 0})
    fetch.replica_id = 1
    markers = WriteTxnMarkersRequest(markers=[])
    for principal, is_held_back in (("User:mallory", True), ("User:node", False)):
        client = QuotaClient(broker, principal=principal)
        for request in (fetch, markers):
            await client.ask(request, 12 if request is fetch else None)
            assert client.is_muted() == is_held_back, (principal, request)
    broker.logs.release()


async def test_request_time_holds_back_with_any_request(broker, client):
    await limit(client, request_percentage=1e-9)
    response = await client.ask(MetadataRequest(topics=[]))
    # The least time of the event loop is too much, but a second is the longest delay.
    assert response.throttle_time_ms == 1000
    assert client.is_muted()
    assert broker.throttle.quotas.request.throttled == 1


async def test_the_steps_of_a_request_that_waits_count_as_its_time(broker, client):
    await limit(client, request_percentage=1e-9)
    topic = CreatableTopic(name="a", num_partitions=1, replication_factor=1)
    response = await client.ask(CreateTopicsRequest(topics=[topic]))
    assert response.topics[0].error_code == 0
    assert response.throttle_time_ms == 1000


async def created(client, name, partitions, version=7):
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    response = await client.ask(CreateTopicsRequest(topics=[topic]), version)
    return ErrorCode(response.topics[0].error_code).name, response.throttle_time_ms


async def test_a_strict_quota_refuses_changes_of_partitions(broker, client, clock):
    await limit(client, controller_mutation_rate=1)
    assert await created(client, "a", 20) == ("NONE", 0)
    assert await created(client, "b", 1) == ("THROTTLING_QUOTA_EXCEEDED", 9_000)
    assert client.is_muted()
    assert "b" not in broker.image.topics
    grown = await client.ask(CreatePartitionsRequest([CreatePartitionsTopic("a", 21, None)]))
    assert (grown.results[0].error_code, grown.throttle_time_ms) == (
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        9_000,
    )
    assert grown.results[0].error_message == "The throttling quota has been exceeded."
    deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name="a")])
    deleted = await client.ask(deletion)
    assert (deleted.responses[0].error_code, deleted.throttle_time_ms) == (
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        9_000,
    )
    clock.now_ms += 9_000
    assert (await client.ask(deletion)).responses[0].error_code == 0
    # The deletion of 20 partitions has overdrawn the bucket again.
    assert await created(client, "b", 1) == ("THROTTLING_QUOTA_EXCEEDED", 20_000)


async def test_an_older_client_is_only_held_back(broker, client):
    await limit(client, controller_mutation_rate=1)
    assert await created(client, "a", 20, version=5) == ("NONE", 9_000)
    assert await created(client, "b", 1, version=5) == ("NONE", 10_000)
    assert client.is_muted()


async def test_a_node_without_quotas_does_not_count(broker, client):
    assert not broker.throttle.is_on
    await limit(client, producer_byte_rate=1)
    assert broker.throttle.is_on
    await limit(client, producer_byte_rate=None)
    assert not broker.throttle.is_on
    await limit(client, entity=(("ip", None),), connection_creation_rate=1)
    assert not broker.throttle.is_on
    assert not NO_THROTTLE.is_on


async def test_a_refused_fetch_session_is_no_reason_to_count(broker, client):
    await limit(client, consumer_byte_rate=1)
    response = await client.ask(FetchRequest(session_id=5, session_epoch=5, topics=[]), 12)
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert response.throttle_time_ms == 0


async def test_new_connections_of_an_address_are_refused_above_its_rate(broker, client):
    await limit(client, entity=(("ip", "127.0.0.1"),), connection_creation_rate=1)
    connected = broker.throttle.connected
    assert [connected("127.0.0.1", "PLAINTEXT") for _ in range(10)] == [(0, True)] * 10
    assert connected("127.0.0.1", "PLAINTEXT") == (1000, False)
    assert connected("::ffff:127.0.0.1", "PLAINTEXT") == (1000, False)
    assert connected("127.0.0.2", "PLAINTEXT") == (0, True)
    # The quorum does not depend on it.
    assert connected("127.0.0.1", "CONTROLLER") == (0, True)
    assert broker.throttle.refused_connections == 2


async def test_new_connections_wait_above_the_rate_of_the_broker(broker, clock):
    broker.throttle.max_connection_rate = 1
    delays = [broker.throttle.connected(f"10.0.0.{number}", "PLAINTEXT") for number in range(20)]
    # Ten windows have room for ten. Those behind wait in line.
    in_line = [(number * 1000, True) for number in range(1, 7)]
    # Behind five seconds nobody else waits, and those who are refused do not count.
    assert delays == [(0, True)] * 10 + in_line + [(0, False)] * 4
    assert broker.throttle.delayed_connections == 6
    assert broker.throttle.refused_connections == 4


async def test_new_connections_wait_above_the_rate_of_their_listener(broker, clock):
    broker.throttle.listener_rates = {"EXTERNAL": 1, "CONTROLLER": 1}
    connected = broker.throttle.connected
    for listener in ("EXTERNAL", "CONTROLLER"):
        delays = [connected("127.0.0.1", listener) for _ in range(11)]
        assert delays == [(0, True)] * 10 + [(1000, True)]
    # The longer wait counts.
    broker.throttle.max_connection_rate = 100
    assert connected("127.0.0.1", "EXTERNAL") == (2000, True)
    assert connected("127.0.0.1", "PLAINTEXT") == (0, True)
