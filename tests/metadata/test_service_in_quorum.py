"""Three controllers: one decides, all follow, another takes over."""

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metadata.cluster import check_image, introduction, let_in
from tests.metadata.controller.test_topics import new_topic
from tests.raft.memory_disk import MemoryDisk
from tests.raft.memory_network import MemoryPeers, Network, directory, stop_abruptly
from tests.raft.virtual_loop import run_virtual

from gralha.metadata.controller.topics import create_topics
from gralha.metadata.features import BOOTSTRAP_FEATURES
from gralha.metadata.formatting import bootstrap_records
from gralha.metadata.image import MetadataImage
from gralha.metadata.service import ControllerService
from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages.create_topics import CreateTopicsRequest
from gralha.raft.driver import QuorumSettings
from gralha.raft.log import MetadataLogConfig

VOTERS = (1, 2, 3)


class Controller(ControllerService):
    """One of three controllers. `heard` has its images and changes of leadership."""

    def __init__(self, network, node_id, disk, snapshot_bytes=10**6):
        loop = asyncio.get_running_loop()
        self.network, self.id, self.disk = network, node_id, disk
        self.failures: list[BaseException] = []
        self.images: list[MetadataImage] = []
        self.leaderships: list[int] = []
        settings = QuorumSettings(
            node_id,
            VOTERS,
            "/d",
            disk,
            lambda: int(loop.time() * 1000),
            self.failures.append,
            directory(node_id),
            MetadataLogConfig(max_record_bytes_between_snapshots=snapshot_bytes, max_retention_bytes=1),
            peers=MemoryPeers(network, node_id),
            random=Random(network.random.random()),
        )
        super().__init__(settings, {}, bootstrap_records(BOOTSTRAP_FEATURES), Random(network.random.random()))
        self.subscribe(lambda change, image: self.images.append(image))
        self.subscribe_leadership(self.leaderships.append)

    async def start(self):
        await super().start()
        self.network.drivers[self.id] = self.driver

    def kill(self):
        del self.network.drivers[self.id]
        stop_abruptly(self.driver)
        for other in self.network.drivers.values():
            other.peer_lost(self.id)
        return self.disk.crash(self.network.random)

    async def create(self, name):
        request = CreateTopicsRequest(topics=[new_topic(name)])
        response = await self.execute(lambda image: create_topics(image, request, self.context))
        return ErrorCode(response.topics[0].error_code).name


class Cluster:
    def __init__(self, seed=0, snapshot_bytes=10**6):
        self.network = Network(seed)
        self.snapshot_bytes = snapshot_bytes
        self.controllers = {}

    async def start(self, node_id, disk=None):
        controller = Controller(self.network, node_id, disk or MemoryDisk(), self.snapshot_bytes)
        self.controllers[node_id] = controller
        await controller.start()
        return controller

    async def begin(self):
        for node_id in VOTERS:
            await self.start(node_id)
        active = await self.active()
        await let_in(active, introduction(1))
        return active

    async def active(self, apart_from=None):
        async with asyncio.timeout(20):
            while True:
                for controller in self.controllers.values():
                    if controller.is_active and controller is not apart_from:
                        return controller
                await asyncio.sleep(0.01)

    async def agree(self):
        async with asyncio.timeout(20):
            while True:
                images = [controller.image for controller in self.controllers.values()]
                watermarks = {controller.high_watermark for controller in self.controllers.values()}
                if len(watermarks) == 1 and all(image[2:] == images[0][2:] for image in images):
                    return images[0]
                await asyncio.sleep(0.01)

    async def close(self):
        self.network.heal()
        for controller in self.controllers.values():
            await controller.close()
            assert controller.failures == []


def in_cluster(test):
    def run():
        async def live():
            cluster = Cluster()
            active = await cluster.begin()
            await test(cluster, active)
            await cluster.close()

        run_virtual(live())

    run.__name__ = test.__name__
    return run


@in_cluster
async def test_one_decides_and_all_follow(cluster, active):
    assert await active.create("a") == "NONE"
    image = await cluster.agree()
    assert "a" in image.topics
    assert image.features == BOOTSTRAP_FEATURES
    for controller in cluster.controllers.values():
        assert controller.leader_id == active.id
        assert controller.is_active is (controller is active)
        assert "a" in controller.images[-1].topics
        assert controller.leaderships == ([True] if controller is active else [])
        if controller is not active:
            with pytest.raises(NotControllerError):
                await controller.create("b")


@in_cluster
async def test_another_takes_over_and_decides_on_what_was_committed(cluster, active):
    await active.create("a")
    disk = active.kill()
    second = await cluster.active(apart_from=active)
    assert await second.create("a") == "TOPIC_ALREADY_EXISTS"
    assert await second.create("b") == "NONE"
    await cluster.start(active.id, disk)
    image = await cluster.agree()
    assert list(image.topics) == ["a", "b"]


@in_cluster
async def test_what_was_not_committed_fails_with_not_controller(cluster, active):
    await active.create("a")
    cluster.network.isolate(active.id)
    undecided = [asyncio.ensure_future(active.create(name)) for name in ("b", "b", "c")]
    await asyncio.sleep(0)
    assert "b" in active.latest_image.topics
    second = await cluster.active(apart_from=active)
    await second.create("d")
    while active.leaderships != [True, False]:
        await asyncio.sleep(0.1)
    assert active.latest_image is active.image
    assert not any(one.done() for one in undecided), "nobody knows what becomes of them"
    cluster.network.heal()
    for one in undecided:
        with pytest.raises(NotControllerError):
            await one
    image = await cluster.agree()
    assert list(image.topics) == ["a", "d"]


@in_cluster
async def test_the_answer_tells_what_became_of_a_decision(cluster, active):
    """All are silent for a while, and the controller resigns. The next leader may have the record."""
    for node_id in VOTERS:
        cluster.network.isolate(node_id)
    names = ("b", "c", "b")
    undecided = [asyncio.ensure_future(active.create(name)) for name in names]
    while active.leaderships != [True, False]:
        await asyncio.sleep(0.1)
    cluster.network.heal()
    answers = await asyncio.gather(*undecided, return_exceptions=True)
    image = await cluster.agree()
    for name, answer in zip(names, answers, strict=True):
        assert isinstance(answer, NotControllerError) == (name not in image.topics)


@in_cluster
async def test_who_follows_copies_the_image_once_for_many_batches(cluster, active):
    follower = next(one for one in cluster.controllers.values() if one is not active)
    disk = follower.kill()
    for number in range(30):
        await active.create(f"t{number}")
    behind = await cluster.start(follower.id, disk)
    await cluster.agree()
    assert len(behind.images) < 10


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([200, 10**6]))
def test_no_answer_is_taken_back(seed, snapshot_bytes):
    async def live():
        random = Random(seed)
        cluster = Cluster(seed, snapshot_bytes)
        await cluster.begin()
        created = set()
        down: dict[int, MemoryDisk] = {}

        async def create(controller, name):
            try:
                if await controller.create(name) in ("NONE", "TOPIC_ALREADY_EXISTS"):
                    created.add(name)
            except NotControllerError:
                pass

        tasks = []
        for number in range(60):
            await asyncio.sleep(random.expovariate(8))
            match random.randrange(8):
                case 0 if not down:
                    node_id = random.choice(VOTERS)
                    down[node_id] = cluster.controllers.pop(node_id).kill()
                case 1:
                    cluster.network.isolate(random.choice(VOTERS))
                case 2:
                    cluster.network.heal()
                    for node_id, disk in down.items():
                        await cluster.start(node_id, disk)
                    down.clear()
                case _:
                    name = f"t{random.randrange(number + 1)}"
                    tasks += [
                        asyncio.ensure_future(create(one, name)) for one in cluster.controllers.values()
                    ]
        cluster.network.heal()
        for node_id, disk in down.items():
            await cluster.start(node_id, disk)
        await create(await cluster.active(), "last")
        await asyncio.gather(*tasks)
        image = await cluster.agree()
        assert created <= set(image.topics)
        check_image(image)
        for controller in cluster.controllers.values():
            check_image(controller.image)
        await cluster.close()

    run_virtual(live())
