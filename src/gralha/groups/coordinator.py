"""The group coordinator of a broker: one runtime for each partition of `__consumer_offsets` that it leads.

A group's id picks the partition, and with it the broker that coordinates the group. When a partition's leader
changes, its groups move along: the new leader loads what the old one wrote.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, TypeVar

from gralha.groups.outcome import Outcome
from gralha.groups.runtime import Decide, Runtime
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import CoordinatorNotAvailableError, KafkaError, NotCoordinatorError
from gralha.protocol.message import Struct
from gralha.replication.partition import Partition

if TYPE_CHECKING:
    from gralha.groups.shard import Shard

Answer = TypeVar("Answer", bound=Struct)


class GroupCoordinator:
    def __init__(
        self,
        new_shard: "Callable[[], Shard]",
        partition_count: Callable[[], int],
        clock: Callable[[], int],
        readers: Executor,
        commit_timeout_ms: int,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`partition_count` tells how many partitions `__consumer_offsets` has, 0 before it is made."""
        self._new_shard = new_shard
        self._partition_count = partition_count
        self._clock = clock
        self._readers = readers
        self._commit_timeout_ms = commit_timeout_ms
        self._on_failure = on_failure
        self._loading_turn = asyncio.Semaphore(1)
        self._runtimes: dict[int, Runtime] = {}

    def leader_changed(self, partition: Partition) -> None:
        """Follow a partition of `__consumer_offsets` that has a new leader epoch."""
        before = self._runtimes.pop(partition.index, None)
        if before is not None:
            before.close()
        if partition.is_leader():
            self._runtimes[partition.index] = Runtime(
                partition,
                self._new_shard,
                self._clock,
                self._readers,
                self._loading_turn,
                self._commit_timeout_ms,
                self._on_failure,
            )

    def call(
        self, group_id: str, decide: Decide, failed: Callable[[KafkaError], Answer]
    ) -> Answer | Awaitable[Answer]:
        """Have a request to a group decided by its shard. `failed` makes the answer that carries an error."""
        partition_count = self._partition_count()
        if partition_count == 0:
            return failed(CoordinatorNotAvailableError())
        runtime = self._runtimes.get(partition_for(group_id, partition_count))
        if runtime is None:
            return failed(NotCoordinatorError())
        return runtime.call(decide, failed)

    def call_all(
        self, decide: Decide, failed: Callable[[KafkaError], Answer]
    ) -> list[Answer | Awaitable[Answer]]:
        """Ask every shard that this broker has."""
        return [runtime.call(decide, failed) for runtime in self._runtimes.values() if runtime.is_open]

    def run_all(self, decide: "Callable[[Shard, int], Outcome]") -> None:
        """Have every shard decide on something that happened; nobody waits for it."""
        for runtime in self._runtimes.values():
            runtime.run(decide)

    def close(self) -> None:
        """Forget all groups; whoever waits is sent away."""
        for runtime in self._runtimes.values():
            runtime.close()
        self._runtimes.clear()
