"""Drivers that reach each other through memory: every message is encoded and decoded, links can be cut."""

import asyncio
from collections.abc import Awaitable
from random import Random

from tests.raft.memory_disk import MemoryDisk

from gralha.protocol import apis
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from gralha.protocol.peers import PeerError
from gralha.protocol.primitives import Reader, Writer
from gralha.raft.driver import NotLeaderError, QuorumSettings, RaftDriver, RecordCodec
from gralha.raft.log import MetadataLogConfig
from gralha.raft.voters import VoterEndpoint

# Records are plain texts here: the quorum does not look into them.
CODEC = RecordCodec(str.encode, bytes.decode)  # type: ignore[arg-type]


def directory(node_id):
    return bytes([node_id]) * 16


def over_the_wire(message_type, message, version):
    writer = Writer()
    message.encode(writer, version)
    return message_type.decode(Reader(writer.to_bytes()), version)


class Network:
    """The running nodes, and the links that are cut."""

    def __init__(self, seed=0):
        self.random = Random(seed)
        self.drivers = {}
        self.cut = set()
        self.delay_s = 0.001
        # Which levels of kraft.version each node says it can.
        self.kraft_versions = {}

    def isolate(self, node_id):
        others = set(self.drivers) - {node_id}
        self.cut |= {(node_id, other) for other in others} | {(other, node_id) for other in others}

    def heal(self):
        self.cut.clear()


class MemoryPeers:
    def __init__(self, network, node_id):
        self.network, self.node_id = network, node_id

    async def ask(self, node_id, request, *, timeout_ms, lane=""):
        target = -2 - node_id if node_id < 0 else node_id
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await self._ask(target, request)
        except TimeoutError:
            raise PeerError("no answer") from None

    async def _ask(self, target, request):
        network = self.network
        await self.travel(self.node_id, target)
        driver = network.drivers.get(target)
        if driver is None:
            raise PeerError("nobody is there")
        api = apis.APIS[request.API_KEY]
        version = request.MAX_VERSION
        answer: Message | Awaitable[Message]
        if isinstance(request, ApiVersionsRequest):
            levels = SupportedFeatureKey("kraft.version", *network.kraft_versions.get(target, (0, 1)))
            answer = ApiVersionsResponse(supported_features=[levels])
        elif isinstance(request, DescribeClusterRequest):
            answer = DescribeClusterResponse(cluster_id=driver._settings.cluster_id)
        else:
            answer = driver.handle(over_the_wire(type(request), request, version), version)
        if asyncio.isfuture(answer):
            answer = await answer
        await self.travel(target, self.node_id)
        if network.drivers.get(target) is not driver:
            raise PeerError("the connection was lost")
        return over_the_wire(api.response, answer, version)

    async def travel(self, source, target):
        await asyncio.sleep(self.network.random.uniform(0, 2) * self.network.delay_s)
        if (source, target) in self.network.cut:
            await asyncio.sleep(3600)


class Listener:
    """Keeps all records, and what it was told."""

    def __init__(self):
        self.records = []
        self.calls = []
        self.next_offset = 0
        self.leads = False
        self.caught_up_at = 0

    def on_snapshot(self, end_offset, epoch, records):
        self.calls.append("snapshot")
        self.records = list(records)
        self.next_offset = end_offset

    def on_commit(self, base_offset, next_offset, epoch, records):
        assert base_offset == self.next_offset
        self.records += records
        self.next_offset = next_offset

    def on_caught_up(self):
        self.calls.append("caught up")
        self.caught_up_at = self.next_offset

    def on_leader(self, epoch):
        assert not self.leads
        self.leads = True
        self.calls.append("leader")

    def on_resigned(self):
        assert self.leads
        self.leads = False
        self.calls.append("resigned")

    def snapshot_records(self):
        assert self.caught_up_at == self.next_offset
        return list(self.records)


class Member:
    """A node of the quorum: its disk outlives its driver."""

    def __init__(self, network, node_id, voters, disk=None, **options):
        self.network, self.id, self.voters = network, node_id, voters
        self.disk = disk or MemoryDisk()
        self.log_config = options.pop("log_config", MetadataLogConfig())
        self.options = options
        self.driver: RaftDriver | None = None
        self.listener: Listener | None = None
        self.failures: list[BaseException] = []

    @property
    def up_driver(self) -> RaftDriver:
        """The driver of a member that is up."""
        assert self.driver is not None
        return self.driver

    async def start(self):
        self.listener = Listener()
        self.driver = RaftDriver(self.settings(), CODEC, self.listener)
        await self.driver.start()
        self.network.drivers[self.id] = self.driver
        return self

    def settings(self):
        loop = asyncio.get_running_loop()
        return QuorumSettings(
            self.id,
            self.voters,
            "/d",
            self.disk,
            lambda: int(loop.time() * 1000),
            self.failures.append,
            directory(self.id),
            self.log_config,
            peers=MemoryPeers(self.network, self.id),
            random=Random(self.network.random.random()),
            endpoints=(VoterEndpoint("CONTROLLER", f"host{self.id}", 9093),),
            **self.options,
        )

    async def close(self):
        if self.driver is not None:
            driver, self.driver = self.driver, None
            await driver.close()
            self.network.drivers.pop(self.id, None)

    def kill(self, *, noticed=True):
        """Ends it at once; its disk keeps what was synced, and perhaps more. The others lose a connection."""
        driver, self.driver = self.driver, None
        self.network.drivers.pop(self.id, None)
        stop_abruptly(driver)
        self.disk = self.disk.crash(self.network.random)
        if noticed:
            for other in self.network.drivers.values():
                other.peer_lost(self.id)


def stop_abruptly(driver):
    driver._stopped = driver._closed = True
    driver._failure = driver._failure or asyncio.CancelledError()
    driver._delivery.fail_all(NotLeaderError())
    driver._correspondence.fail_questions()
    if driver._timer is not None:
        driver._timer.cancel()
    for task in driver._correspondence._tasks:
        task.cancel()


class Quorum:
    """Some members, for tests."""

    def __init__(self, ids=(1, 2, 3), seed=0, **options):
        self.network = Network(seed)
        voters = {node_id: (f"host{node_id}", 9093) for node_id in ids}
        self.members = {node_id: Member(self.network, node_id, voters, **options) for node_id in ids}

    async def __aenter__(self):
        for member in self.members.values():
            await member.start()
        return self

    async def __aexit__(self, *_):
        self.network.heal()
        for member in self.members.values():
            await member.close()
        assert [member.failures for member in self.members.values() if member.failures] == []

    def up(self):
        return [member for member in self.members.values() if member.driver is not None]

    async def leader(self, timeout_s=10, apart_from=()):
        """The member that leads and may append, once there is one."""
        async with asyncio.timeout(timeout_s):
            while True:
                for member in self.up():
                    if member.listener.leads and member.id not in apart_from:
                        return member
                await asyncio.sleep(0.005)

    async def agree(self, timeout_s=10):
        """Waits until all that are up have the same records."""
        async with asyncio.timeout(timeout_s):
            while True:
                offsets = {member.listener.next_offset for member in self.up()}
                ends = {member.driver.end_offset for member in self.up()}
                if len(offsets | ends) == 1:
                    break
                await asyncio.sleep(0.01)
        (first, *others) = self.up()
        for other in others:
            assert other.listener.records == first.listener.records
        return first.listener.records
