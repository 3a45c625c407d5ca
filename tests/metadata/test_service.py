"""The controller at work: decisions, commits, subscribers, restarts."""

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.cluster import allocate_ids, check_image, introduction, let_in
from tests.metadata.controller.test_topics import new_topic
from tests.raft.inline_loop import run_inline
from tests.raft.memory_disk import MemoryDisk

from gralha.metadata.controller.configs import incremental_alter_configs
from gralha.metadata.controller.decision import Decision
from gralha.metadata.controller.topics import create_topics, delete_topics
from gralha.metadata.features import BOOTSTRAP_FEATURES, ELIGIBLE_LEADER_REPLICAS_VERSION
from gralha.metadata.formatting import bootstrap_records
from gralha.metadata.image import TOPIC_RESOURCE, MetadataError
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import ErrorCode, InvalidRequestError, NotControllerError
from gralha.protocol.messages.cluster_records import FeatureLevelRecord, ProducerIdsRecord
from gralha.protocol.messages.create_topics import CreateTopicsRequest
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from gralha.raft.driver import QuorumSettings
from gralha.raft.log import MetadataLogConfig
from gralha.storage.disk import DiskError


class Controller(ControllerService):
    """A controller on a disk in memory. `failures` has the errors that stopped it."""

    def __init__(self, disk, seed=0, folder="/d", file=None, features=BOOTSTRAP_FEATURES, **log_config):
        self.disk = disk
        self.failures: list[BaseException] = []
        config = MetadataLogConfig(**log_config)
        quorum = QuorumSettings(1, [1], folder, disk, lambda: 1000, self.failures.append, log_config=config)
        super().__init__(quorum, file or {}, bootstrap_records(features), Random(seed))

    async def join(self):
        """Starts, and unfences broker 1."""
        await self.start()
        await let_in(self, introduction(1)._replace(incarnation_id=Random(self.epoch).randbytes(16)))
        return self

    async def create(self, *names):
        request = CreateTopicsRequest(topics=[new_topic(name) for name in names])
        response = await self.execute(lambda image: create_topics(image, request, self.context))
        return [ErrorCode(topic.error_code).name for topic in response.topics]

    async def delete(self, name):
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
        await self.execute(lambda image: delete_topics(image, request, self.context, 6))

    async def configure(self, topic, name, value):
        change = AlterConfigsResource(TOPIC_RESOURCE, topic, [AlterableConfig(name, 0, value)])
        request = IncrementalAlterConfigsRequest(resources=[change])
        await self.execute(lambda image: incremental_alter_configs(image, request, self.context))


@pytest.fixture
async def controller():
    controller = await Controller(MemoryDisk()).join()
    yield controller
    await controller.close()
    assert controller.failures == []


async def test_a_new_cluster_begins_with_its_features_and_its_broker(controller):
    assert controller.image.features == BOOTSTRAP_FEATURES
    assert controller.image.brokers[1].is_active
    assert controller.image.offset + 1 == controller.high_watermark
    assert (controller.epoch, controller.leader_id) == (1, 1)


async def test_all_brokers_have_one_min_isr_however_their_files_differ():
    """Otherwise one broker acknowledges with a single replica while another calls a second one eligible."""
    disk = MemoryDisk()
    first = await Controller(disk, file={"min.insync.replicas": "2"}).join()
    assert first.image.default_broker_configs()["min.insync.replicas"] == "2"
    offset = first.image.offset
    await first.close()
    second = Controller(disk, file={"min.insync.replicas": "3"})
    await second.start()
    assert second.image.default_broker_configs()["min.insync.replicas"] == "2"
    assert second.image.offset == offset + 1, "only the change of leader"
    await second.close()


async def test_a_cluster_that_was_made_without_a_common_min_isr_gets_one():
    disk = MemoryDisk()
    without = {**BOOTSTRAP_FEATURES, ELIGIBLE_LEADER_REPLICAS_VERSION: 0}
    first = await Controller(disk, features=without).join()
    assert first.image.default_broker_configs() == {}
    await first.execute(
        lambda image: Decision(
            None, [FeatureLevelRecord(name=ELIGIBLE_LEADER_REPLICAS_VERSION, feature_level=1)]
        )
    )
    await first.close()
    second = Controller(disk)
    await second.start()
    assert second.latest_image.default_broker_configs() == {"min.insync.replicas": "1"}
    await second.close()


async def test_an_answer_comes_with_the_commit_and_after_the_subscribers(controller):
    heard = []
    controller.subscribe(lambda change, image: heard.append((change, image)))
    assert len(heard) == 1
    assert heard[0][0].changed_brokers == [1]
    creation = asyncio.ensure_future(controller.create("a"))
    await asyncio.sleep(0)
    assert "a" in controller.latest_image.topics
    assert "a" not in controller.image.topics
    assert await creation == ["NONE"]
    change, image = heard[-1]
    assert image is controller.image
    assert [topic.name for topic in change.changed_topics] == ["a"]
    assert "a" in image.topics


async def test_decisions_on_their_way_know_of_each_other(controller):
    results = await asyncio.gather(*(controller.create("a") for _ in range(5)), controller.create("b"))
    assert results == [["NONE"], *[["TOPIC_ALREADY_EXISTS"]] * 4, ["NONE"]]
    assert list(controller.image.topics) == ["a", "b"]


async def test_an_answer_without_records_waits_for_what_it_rests_on(controller):
    order = []

    async def note(name):
        order.append((name, *await controller.create("a")))

    first = asyncio.ensure_future(note("first"))
    second = asyncio.ensure_future(note("second"))
    await asyncio.sleep(0)
    assert order == []
    await asyncio.gather(first, second)
    assert order == [("first", "NONE"), ("second", "TOPIC_ALREADY_EXISTS")]


async def test_what_a_decision_raises_reaches_the_caller(controller):
    def refuse(image):
        raise InvalidRequestError("no")

    with pytest.raises(InvalidRequestError):
        await controller.execute(refuse)
    before = controller.image
    with pytest.raises(MetadataError):
        await controller.execute(lambda image: Decision(None, [ProducerIdsRecord(next_producer_id=0)]))
    assert controller.image is before
    assert await controller.create("a") == ["NONE"]


async def test_a_client_that_leaves_does_not_take_its_topic_along(controller):
    creation = asyncio.ensure_future(controller.create("a"))
    waiting = asyncio.ensure_future(controller.create("a"))
    await asyncio.sleep(0)
    creation.cancel()
    assert await waiting == ["TOPIC_ALREADY_EXISTS"]
    assert "a" in controller.image.topics


async def test_producer_ids_come_in_blocks(controller):
    blocks = await asyncio.gather(*(allocate_ids(controller, 1) for _ in range(3)))
    assert [block.first for block in blocks] == [0, 1000, 2000]
    assert controller.image.next_producer_id == 3000


async def test_only_the_active_controller_decides():
    controller = Controller(MemoryDisk())
    with pytest.raises(NotControllerError):
        await controller.create("a")
    await controller.join()
    await controller.close()
    with pytest.raises(NotControllerError):
        await controller.create("a")


async def test_a_topics_settings_include_what_it_inherits(controller):
    await controller.create("a")
    await controller.configure("a", "retention.ms", "5")
    values = controller.topic_config_values("a")
    assert values["retention.ms"] == "5"
    assert values["segment.bytes"] == "1073741824"


async def test_a_restart_brings_everything_back_in_one_change():
    disk = MemoryDisk()
    first = await Controller(disk).join()
    await first.create("a", "b")
    await first.configure("a", "retention.ms", "5")
    await first.delete("b")
    await allocate_ids(first, 1)
    image = first.image
    await first.close()
    second = Controller(disk)
    heard = []
    second.subscribe(lambda change, image: heard.append((change, image)))
    await second.start()
    assert second.image[2:] == image[2:]
    assert second.epoch == 2
    assert len(heard) == 1
    assert [topic.name for topic in heard[0][0].changed_topics] == ["a"]
    assert heard[0][1] is second.image
    await second.close()


async def test_a_disk_error_fails_those_who_wait_and_stops_the_controller():
    controller = await Controller(MemoryDisk()).join()
    controller.disk.fail_at = len(controller.disk.operations) + 2
    creations = [asyncio.ensure_future(controller.create(name)) for name in "ab"]
    for creation in creations:
        with pytest.raises(DiskError):
            await creation
    assert len(controller.failures) == 1
    assert "a" not in controller.image.topics
    await controller.close()


async def test_a_subscriber_that_fails_stops_the_controller():
    controller = await Controller(MemoryDisk()).join()

    def fail(change, image):
        if change.changed_topics:
            raise RuntimeError("no")

    controller.subscribe(fail)
    with pytest.raises(RuntimeError):
        await controller.create("a")
    assert len(controller.failures) == 1
    await controller.close()


NAMES = st.sampled_from(["a", "b", "c.d", "c_d"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.lists(NAMES, min_size=1, max_size=3, unique=True)),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("configure"), NAMES),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 150), st.sampled_from([1, 300, 10**6]), st.integers(0, 2**32))
def test_after_a_crash_the_image_is_one_that_was_or_would_have_been(steps, fail_at, snapshot_bytes, seed):
    """The last acknowledged image, or that with the step under way."""

    async def run():
        disk = MemoryDisk()
        controller = await Controller(disk, seed, max_record_bytes_between_snapshots=snapshot_bytes).join()
        disk.fail_at = len(disk.operations) + fail_at
        images = [controller.image]
        try:
            for number, (action, argument) in enumerate(steps):
                if action == "create":
                    work = controller.create(*argument)
                elif action == "delete":
                    work = controller.delete(argument)
                else:
                    work = controller.configure(argument, "retention.ms", str(number))
                task = asyncio.ensure_future(work)
                await asyncio.sleep(0)
                images = [controller.image, controller.latest_image]
                await task
                images = [controller.image]
            await controller.close()
        except (DiskError, NotControllerError):
            await controller.close()
        random = Random(seed)
        restarted = Controller(disk.crash(random), max_record_bytes_between_snapshots=snapshot_bytes)
        await restarted.start()
        assert restarted.image[2:] in [image[2:] for image in images]
        check_image(restarted.image)
        await restarted.close()

    run_inline(run())
