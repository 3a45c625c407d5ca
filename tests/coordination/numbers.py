"""A coordinator of numbers: a toy shard with all that a shard may do, and a partition for it to live in.

async def scenario(room):
    room.set("a", 1)            # a Told, or a future of one
    room.lead(2)                # what the metadata would do: the next leader epoch

play(folder, scenario)                      # in virtual time, with one replica
play(folder, scenario, follower=True)       # a second replica lags behind until `room.fetch`
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.raft.virtual_loop import run_virtual
from tests.storage.disks import QuietDisk

from gralha.coordination.coordinator import Coordinator
from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.coordination.producer import EndMarker, Producer
from gralha.coordination.runtime import CoordinatorPorts, Runtime, State
from gralha.coordination.shard import Codec
from gralha.coordination.timers import Timers
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Struct
from gralha.protocol.primitives import ProtocolError
from gralha.replication.partition import Partition
from gralha.storage.config import LogConfig
from gralha.storage.opening import open_log

BROKER, FOLLOWER = 1, 2
TOPIC = "__numbers"
TOPIC_ID = bytes(range(16))
START_MS = 1_700_000_000_000
COMMIT_TIMEOUT_MS = 5_000
UNREADABLE = b"unreadable"


class Number(NamedTuple):
    """The only record: a key and its number, None if it has none."""

    key: str
    value: int | None


class Told(Struct):
    """The only response."""

    FIELDS = ("value", "error_code")

    def __init__(self, value: int | None = None, error_code: int = 0) -> None:
        super().__init__()
        self.value = value
        self.error_code = error_code


def encode(record: Number) -> tuple[bytes, bytes | None]:
    if len(record.key) > 100:
        raise ProtocolError("the key is too long")
    return record.key.encode(), None if record.value is None else str(record.value).encode()


def decode(key: bytes, value: bytes | None) -> Number | None:
    if value == UNREADABLE:
        raise ProtocolError("the value is damaged")
    return None if key.startswith(b"?") else Number(key.decode(), None if value is None else int(value))


class NumberShard:
    codec = Codec(encode, decode)
    counts_loads = False

    def __init__(self) -> None:
        self.timers = Timers()
        self.numbers: dict[str, int] = {}
        self.pending: dict[int, list[Number]] = {}  # of transactions, by producer id
        self.waiting: dict[str, list[Reply]] = {}
        self.failures: list[KafkaError] = []

    def set(self, key: str, value: int | None) -> Decision[Number]:
        """Write a number, and tell everybody that waits for it."""
        return Decision(Told(value), [Number(key, value)], partial(self._announce, key), self.failures.append)

    def _announce(self, key: str) -> None:
        for reply in self.waiting.pop(key, []):
            reply.send(Told(self.numbers.get(key)))

    def set_many(self, keys: list[str], value: int) -> Decision[Number]:
        """Write many numbers, which need not be one batch."""
        return Decision(Told(value), [Number(key, value) for key in keys], is_atomic=False)

    def set_in_transaction(self, producer: Producer, keys: list[str], value: int) -> Decision[Number]:
        """Write numbers that count when the producer's transaction is committed."""
        records = [Number(key, value) for key in keys]
        return Decision(Told(value), records, on_failed=self.failures.append, producer=producer)

    def get(self, key: str) -> Decision[Number]:
        """Read a number."""
        return Decision(Told(self.numbers.get(key)))

    def get_newest(self, key: str) -> Decision[Number]:
        """Read a number that no other coordinator has changed."""
        return Decision(Told(self.numbers.get(key)), proof=Number("proof", None))

    def wait_for(self, key: str, reply: Reply) -> Decision[Number]:
        """Answer when somebody sets the number."""
        self.waiting.setdefault(key, []).append(reply)
        return NOTHING

    def set_at(self, deadline_ms: int, key: str, value: int) -> Decision[Number]:
        """Write a number when a timer is due."""
        self.timers.schedule(key, deadline_ms, lambda _now_ms: Decision(records=[Number(key, value)]))
        return Decision(Told())

    # The log

    def replay(self, record: Number, producer: Producer | None = None) -> None:
        if producer is not None:
            self.pending.setdefault(producer.id, []).append(record)
        elif record.value is None:
            self.numbers.pop(record.key, None)
        else:
            self.numbers[record.key] = record.value

    def replay_end_of_transaction(self, producer: Producer, is_commit: bool) -> None:
        for record in self.pending.pop(producer.id, []):
            if is_commit:
                self.replay(record)

    def on_loaded(self, now_ms: int) -> None:
        """Count the loads, in memory and, by a timer, in the log."""
        if self.counts_loads:
            self.timers.schedule("loads", now_ms, lambda _now_ms: self.set("loads", self.loads + 1))

    @property
    def loads(self) -> int:
        return self.numbers.get("loads", 0)


class Room:
    """One partition, its coordinator, and the clock."""

    def __init__(self, folder: Path, follower: bool = False, **config: str) -> None:
        self.disk = QuietDisk()
        settings = {name.replace("_", "."): value for name, value in config.items()}
        log = open_log(
            self.disk,
            f"{folder}/{TOPIC}-0",
            TOPIC,
            0,
            LogConfig(settings),
            now_ms=START_MS,
            topic_id=TOPIC_ID,
        )
        self.partition = Partition(TOPIC, TOPIC_ID, 0, log, BROKER)
        self.replicas = [BROKER, FOLLOWER] if follower else [BROKER]
        self.loop = asyncio.get_running_loop()
        self.clock_ahead_ms = 0
        self.failures: list[BaseException] = []
        ports = CoordinatorPorts(
            NumberShard, self.now_ms, ThreadPoolExecutor(1), COMMIT_TIMEOUT_MS, self.failures.append
        )
        self.coordinator = Coordinator(ports, lambda: 1)
        self.lead(1)

    def now_ms(self) -> int:
        return START_MS + int(self.loop.time() * 1000) + self.clock_ahead_ms

    @property
    def runtime(self) -> Runtime[NumberShard]:
        return self.coordinator._runtimes[0]

    @property
    def shard(self) -> NumberShard:
        return self.runtime.shard

    def lead(self, epoch: int, leader: int = BROKER) -> None:
        """Let a leader epoch begin."""
        self.partition.change_leader(leader, epoch, self.replicas, self.replicas)
        self.coordinator.leader_changed(self.partition)

    def fetch(self, offset: int) -> None:
        """Let the follower fetch from an offset on: it has everything before."""
        self.partition.led().follower_fetched(FOLLOWER, -1, -1, offset, -1, 0)

    async def load(self) -> None:
        """Wait until the coordinator is loaded."""
        while self.runtime.state is State.LOADING:
            await asyncio.sleep(0.001)

    def ask(self, decide: Callable[[NumberShard, Reply, int], Decision[Any]]) -> Told | Awaitable[Told]:
        return self.coordinator.call("any", decide, lambda error: Told(error_code=error.code))

    def set(self, key: str, value: int | None) -> Told | Awaitable[Told]:
        return self.ask(lambda shard, _reply, _now_ms: shard.set(key, value))

    def set_in_transaction(self, producer: Producer, keys: list[str], value: int) -> Told | Awaitable[Told]:
        return self.ask(lambda shard, _reply, _now_ms: shard.set_in_transaction(producer, keys, value))

    def end(
        self, producer: Producer, is_commit: bool, coordinator_epoch: int = 0, partition_index: int = 0
    ) -> Told | Awaitable[Told]:
        """Write the marker of a producer."""
        marker = EndMarker(producer, coordinator_epoch, is_commit)
        return self.coordinator.write_marker(
            partition_index, marker, lambda error: Told(error_code=error.code), Told()
        )

    def get(self, key: str) -> Told | Awaitable[Told]:
        return self.ask(lambda shard, _reply, _now_ms: shard.get(key))

    def get_newest(self, key: str) -> Told | Awaitable[Told]:
        return self.ask(lambda shard, _reply, _now_ms: shard.get_newest(key))

    def wait_for(self, key: str) -> Told | Awaitable[Told]:
        return self.ask(lambda shard, reply, _now_ms: shard.wait_for(key, reply))


Scenario = Callable[[Room], Awaitable[None]]


def play(folder: Path, scenario: Scenario, follower: bool = False, **config: str) -> None:
    """Run a scenario with a loaded coordinator, in virtual time."""

    async def run() -> None:
        room = Room(folder, follower, **config)
        await room.load()
        await scenario(room)
        room.coordinator.close()

    run_virtual(run())


async def reloaded(room: Room) -> dict[str, int]:
    """The numbers that the next coordinator knows."""
    room.lead(room.partition.leader_epoch + 1)
    await room.load()
    return room.shard.numbers
