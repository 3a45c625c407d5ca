"""A coordinator in a broker: it has a runtime for each partition of its topic that this broker leads.

The hash of a key (a group id, a transactional id) is the partition of that key. The leader of the partition
is the key's coordinator. When the leader changes, the new leader loads what the old one has written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from typing import Any, Final, Generic

from gralha.coordination.appending import answer_to_marker
from gralha.coordination.decision import Decision, Reply
from gralha.coordination.producer import EndMarker
from gralha.coordination.runtime import Answer, AnyShard, CoordinatorPorts, Decide, Runtime, State
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import CoordinatorNotAvailableError, KafkaError, NotCoordinatorError
from gralha.replication.partition import Partition

# To hash a key takes longer than the rest of a heartbeat's way to its shard, and the same keys come again and
# again. So the coordinator remembers the partitions of the last keys, except for very long keys.
KNOWN_KEYS: Final = 10_000
KNOWN_KEY_LENGTH: Final = 200
_known_partition = lru_cache(KNOWN_KEYS)(partition_for)


class _Walk(Generic[AnyShard]):
    """A decision of one shard that takes several steps."""

    def __init__(self, begin: Callable[[AnyShard, int], Iterator[tuple[Any, bool]]]) -> None:
        self._begin = begin
        self._steps: Iterator[tuple[Any, bool]] | None = None
        self.has_more = True

    def step(self, shard: AnyShard, _reply: Reply, now_ms: int) -> Decision[Any]:
        if self._steps is None:
            self._steps = self._begin(shard, now_ms)
        answer, self.has_more = next(self._steps)
        return Decision(answer)


class Coordinator(Generic[AnyShard]):
    def __init__(self, ports: CoordinatorPorts[AnyShard], partition_count: Callable[[], int]) -> None:
        """`partition_count` returns the number of partitions of the topic, 0 before it is created."""
        self._ports = ports
        self._partition_count = partition_count
        self._loading_turn = asyncio.Semaphore(1)
        self._runtimes: dict[int, Runtime[AnyShard]] = {}

    def leader_changed(self, partition: Partition) -> None:
        """A partition of the topic has a new leader epoch."""
        before = self._runtimes.pop(partition.index, None)
        if before is not None:
            before.close()
        if partition.is_leader():
            self._runtimes[partition.index] = Runtime(partition, self._ports, self._loading_turn)

    def call(
        self, key: str, decide: Decide[AnyShard], failed: Callable[[KafkaError], Answer]
    ) -> Answer | Awaitable[Answer]:
        """Let the shard of a key decide on a request. `failed` makes the answer that carries an error."""
        partition_count = self._partition_count()
        if partition_count == 0:
            return failed(CoordinatorNotAvailableError())
        partition = _known_partition if len(key) <= KNOWN_KEY_LENGTH else partition_for
        runtime = self._runtimes.get(partition(key, partition_count))
        if runtime is None:
            return failed(NotCoordinatorError())
        return runtime.call(decide, failed)

    def write_marker(
        self,
        partition_index: int,
        marker: EndMarker,
        failed: Callable[[KafkaError], Answer],
        response: Answer,
    ) -> Answer | Awaitable[Answer]:
        """End a producer's transaction in a partition. The answer comes when the marker is committed.

        `failed` gets the errors of a partition, not those of a coordinator, because the transaction
        coordinator tries again after NOT_LEADER_OR_FOLLOWER. A marker without a transaction is written, too.
        """

        def refused(error: KafkaError) -> Answer:
            return failed(answer_to_marker(error))

        runtime = self._runtimes.get(partition_index)
        if runtime is None:
            return refused(NotCoordinatorError())
        return runtime.call(lambda _shard, _reply, _now_ms: Decision(response, marker=marker), refused)

    def call_all(
        self, decide: Decide[AnyShard], failed: Callable[[KafkaError], Answer]
    ) -> list[Answer | Awaitable[Answer]]:
        """Let every shard of this broker decide on a request."""
        return [runtime.call(decide, failed) for runtime in self._runtimes.values() if runtime.is_open]

    async def call_in_turns(
        self,
        begin: Callable[[AnyShard, int], Iterator[tuple[Answer, bool]]],
        failed: Callable[[KafkaError], Answer],
    ) -> list[Answer]:
        """The same for decisions that take long. Other requests have their turn between two steps.

        `begin` returns the steps of a shard: each is an answer, and whether there are more steps.
        """
        answers: list[Answer] = []
        for runtime in list(self._runtimes.values()):
            walk = _Walk(begin)
            walk.has_more = runtime.is_open
            while walk.has_more:
                walk.has_more = False  # also if the shard is lost meanwhile
                answer = runtime.call(walk.step, failed)
                answers.append(await answer if isinstance(answer, Awaitable) else answer)
                await asyncio.sleep(0)
        return answers

    def is_active(self, key: str) -> bool:
        """Whether this broker coordinates the key, and has loaded its partition."""
        partition_count = self._partition_count()
        runtime = self._runtimes.get(partition_for(key, partition_count)) if partition_count else None
        return runtime is not None and runtime.state is State.ACTIVE

    def run(self, key: str, decide: Callable[[AnyShard, int], Decision[Any]]) -> None:
        """Let the shard of a key decide on something that nobody waits for, if this broker has the shard."""
        partition_count = self._partition_count()
        runtime = self._runtimes.get(partition_for(key, partition_count)) if partition_count else None
        if runtime is not None:
            runtime.run(decide)

    def run_all(self, decide: Callable[[AnyShard, int], Decision[Any]]) -> None:
        """Let every shard decide on something that nobody waits for."""
        for runtime in self._runtimes.values():
            runtime.run(decide)

    @property
    def shards(self) -> list[AnyShard]:
        """The shards that this broker coordinates and has loaded."""
        return [runtime.shard for runtime in self._runtimes.values() if runtime.state is State.ACTIVE]

    def close(self) -> None:
        """Forget all state, and answer all clients that wait with NOT_COORDINATOR."""
        for runtime in self._runtimes.values():
            runtime.close()
        self._runtimes.clear()
