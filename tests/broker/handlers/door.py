"""A broker made of real parts on a temporary folder, and a client that asks it through the pipeline.

Decisions, image, logs and replicas are the real ones; only the metadata log is not: `InstantController`
commits a decision in the moment it is made, so tests wait for no disk and can show a cluster of several.
"""

import asyncio
import time
from random import Random
from typing import Any

import pytest

from gralha.broker.broker import Broker
from gralha.broker.config import NodeConfig
from gralha.broker.handlers import client_apis
from gralha.broker.pipeline import Peer, Pipeline
from gralha.broker.request_meters import RequestMeters
from gralha.broker.transactions.coordination import TWO_PHASE_COMMIT_ENABLE
from gralha.metadata.config_keys import BrokerConfigLayers, effective_topic_values
from gralha.metadata.controller.decision import ControllerContext
from gralha.metadata.controller.producer_ids import allocate_producer_ids
from gralha.metadata.controller.topics import create_topics
from gralha.metadata.delta import ImageDelta
from gralha.metadata.records import decode_record, encode_record
from gralha.protocol import apis
from gralha.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from gralha.protocol.primitives import Reader, RecordBytes, Writer, in_memory
from gralha.protocol.records import Record, encode_batch
from gralha.replication.manager import ReplicaManager
from gralha.storage.config import LogConfig
from gralha.storage.manager import LogManager
from gralha.storage.real_disk import RealDisk
from gralha.transactions.producer_ids import ProducerIds
from tests.failures import fail_with
from tests.metadata.cluster import cluster

NOW_MS = 1_700_000_000_000


class InstantController:
    """Replaces ControllerService: the same interface, but every decision is committed at once."""

    is_active = True
    kraft_version = 0

    def __init__(self, image, context):
        self.image = image
        self.context = context
        self.failure = None
        self._subscribers = []

    @property
    def latest_image(self):
        return self.image

    def subscribe(self, callback):
        self._subscribers.append(callback)

    async def execute(self, decide):
        if self.failure is not None:
            raise self.failure
        decision = decide(self.image)
        self.commit(decision.records)
        return decision.response

    async def upgrade_voters(self, timeout_ms):
        self.kraft_version = 1

    def commit(self, records):
        if records:
            delta = ImageDelta(self.image)
            for record in records:
                delta.apply(decode_record(encode_record(record)))
            self.image, change = delta.finish(self.image.offset + len(records), self.image.epoch)
            for callback in self._subscribers:
                callback(change, self.image)


def make_broker(folder, brokers=1, fenced=(), disk=None, **configs):
    """Broker 1 of a cluster; settings are given with `_` for `.`."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://host1:9092,CONTROLLER://host1:9093",
        "log.dirs": str(folder),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "5",
        **{name.replace("_", "."): str(value) for name, value in configs.items()},
    }
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    config, _ = NodeConfig.parse(text, "test", lambda: "host1")
    context = ControllerContext(1, config.texts, Random(1))
    controller: Any = InstantController(cluster(brokers, fenced), context)
    logs = LogManager(disk or RealDisk(), config.log_dirs, LogConfig())
    logs.load(NOW_MS, lambda topic: {})

    def config_for(topic):
        layers = BrokerConfigLayers(
            controller.image.broker_configs(1), controller.image.default_broker_configs(), config.texts
        )
        return LogConfig(effective_topic_values(controller.image.topic_configs(topic), layers))

    async def allocate_block():
        epoch = controller.image.brokers[1].epoch
        return await controller.execute(lambda image: allocate_producer_ids(image, 1, epoch))

    replicas = ReplicaManager(1, logs, config_for, lambda: NOW_MS, fail_with)
    controller.subscribe(lambda change, image: replicas.apply(change))
    return Broker(
        config,
        "a-cluster",
        controller,
        logs,
        replicas,
        ProducerIds(allocate_block),
        lambda: NOW_MS,
        Random(2),
    )


class Client:
    """Asks a broker as a connection would: a frame goes in, a frame comes out."""

    def __init__(
        self,
        broker,
        listener="PLAINTEXT",
        max_request_bytes=1 << 20,
        principal="User:ANONYMOUS",
        host="127.0.0.1",
    ):
        self.broker = broker
        self.apis = client_apis(broker.config.flag(TWO_PHASE_COMMIT_ENABLE))
        self.principal = principal
        self.host = host
        self.listener = listener
        self.max_request_bytes = max_request_bytes

    async def ask(self, request, version=None):
        api = apis.APIS[request.API_KEY]
        served = self.apis.get(request.API_KEY, api)
        version = served.max_version if version is None else version
        answer = await self.send(frame(request, version))
        reader = Reader(answer, 8)
        if apis.response_header_version(api.key, version) == 1:
            reader.tagged_fields()
        response = api.response.decode(reader, version)
        assert reader.remaining() == 0
        return response

    async def send(self, data):
        """The bytes of the answer; fails when the connection would have been closed."""
        answered = asyncio.Event()
        broken = []

        def on_broken(reason):
            broken.append(reason)
            answered.set()

        pipeline = self._pipeline(answered.set, on_broken)
        assert pipeline.feed(data, 0, len(data)) == len(data)
        out = b"".join(in_memory(pipeline.take_out()))
        if not out:
            await answered.wait()
            out = b"".join(in_memory(pipeline.take_out()))
        assert not broken, broken
        assert len(out) == 4 + int.from_bytes(out[:4])
        return out

    def sent(self, request, version):
        """Send a request without waiting for its response. Returns the connection."""
        pipeline = self._pipeline(lambda: None, pytest.fail)
        data = frame(request, version)
        assert pipeline.feed(data, 0, len(data)) == len(data)
        return pipeline

    def _pipeline(self, on_ready, on_broken):
        peer = Peer(self.host, 50000, self.listener, self.principal, self.apis)
        meters = RequestMeters(time.monotonic)
        return Pipeline(self.broker, peer, self.max_request_bytes, on_ready, on_broken, meters)


def frame(request, version):
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(request.API_KEY)
    writer.write_int16(version)
    writer.write_int32(7)
    writer.write_nullable_string("test")
    if apis.request_header_version(request.API_KEY, version) == 2:
        writer.write_int8(0)
    request.encode(writer, version)
    writer.end_frame()
    return writer.to_bytes()


async def create_topic(broker, name, partitions=1, **configs):
    """A topic with replicas on broker 1; settings are given with `_` for `.`. Answers its id."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
            for key, value in configs.items()
        ],
    )
    request = CreateTopicsRequest(topics=[topic])
    context = broker.controller.context
    response = await broker.execute(lambda image: create_topics(image, request, context))
    assert response.topics[0].error_code == 0, response
    return response.topics[0].topic_id


def append(broker, topic, *timestamps, index=0, **options):
    """One batch with a record for each timestamp."""
    records = [Record(b"key", b"value", timestamp) for timestamp in timestamps]
    data = encode_batch(records, **options)
    leading = broker.replicas.find(topic, index).led()
    if options.get("transactional"):
        agree(leading, options["producer_id"], options["producer_epoch"])
    return leading.append(RecordBytes(data, 0, len(data)), 1, NOW_MS)


def agree(leading, producer_id, producer_epoch):
    """The coordinator has agreed that a transaction writes to a partition."""
    leading.verifications.agreed(leading.verifications.begin_at(producer_id, producer_epoch))


def agree_always(broker):
    """All coordinators agree to everything, for tests of what comes after that."""
    loop = asyncio.get_running_loop()
    broker.verifier.verify = lambda question, partition, answered: loop.call_soon(answered, 0)
