"""The stage of a scenario of transactions: the client's producers and readers, and a group of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients import transactions
from tests.clients.driver import TIMEOUT_S, ClientError
from tests.clients.groups import Partition
from tests.clients.probe import has_open_transaction
from tests.clients.scenarios.group_stage import GroupStage
from tests.clients.scenarios.stage import eventually
from tests.clients.transactions import (
    COMMITTED,
    TRANSACTION_TIMEOUT_MS,
    UNCOMMITTED,
    Producer,
    Reading,
    TransactionClient,
)


class TransactionStage:
    def __init__(self, client: TransactionClient, group: GroupStage) -> None:
        self.client = client
        self.group = group
        # The group's name is a new one for each scenario.
        self.transactional_id = group.group

    def topic(self, partitions: int = 1) -> str:
        return self.group.topic(partitions)

    def partition(self, **configs: str) -> Partition:
        """The only partition of a new topic. `_` in a config's name stands for `.`."""
        dotted = {config.replace("_", "."): value for config, value in configs.items()}
        return self.group.topic(configs=dotted), 0

    def producer(
        self, timeout_ms: int = TRANSACTION_TIMEOUT_MS, transactional_id: str | None = None
    ) -> Producer:
        return Producer(self.group.program(), transactional_id or self.transactional_id, timeout_ms)

    def idempotent_producer(self) -> Producer:
        return Producer(self.group.program(), None, TRANSACTION_TIMEOUT_MS)

    def producer_elsewhere(self) -> Producer:
        """A producer in its own process, so that it can crash."""
        return Producer(self.group.program_elsewhere(), self.transactional_id, TRANSACTION_TIMEOUT_MS)

    def crash(self, producer: Producer) -> None:
        self.group.crash_program(producer.program)

    def read(
        self, partition: Partition, level: str = COMMITTED, start: int = 0, limit: int | None = None
    ) -> Reading:
        """Reads to the end, when no transaction is open.

        A commit is answered when it is decided. A moment later it is written to the partitions.
        """
        eventually(lambda: not has_open_transaction(self.group.bootstrap, *partition), TIMEOUT_S)
        return self.read_now(partition, level, start, limit)

    def read_now(
        self, partition: Partition, level: str = COMMITTED, start: int = 0, limit: int | None = None
    ) -> Reading:
        """Reads to the end, which is that of the committed records if a transaction is open."""
        return transactions.read(self.group.program(), partition, level, start, limit)

    def read_uncommitted(self, partition: Partition) -> Reading:
        return self.read_now(partition, UNCOMMITTED)

    def ends(self, partition: Partition) -> tuple[int, int]:
        """The last stable offset and the high watermark, as the client's consumers see them."""
        program = self.group.program()
        return (
            transactions.end_offset(program, partition, COMMITTED),
            transactions.end_offset(program, partition, UNCOMMITTED),
        )

    def fails(self, kinds: frozenset[str], *calls: Callable[[], object]) -> None:
        """Asserts that one of these calls ends in one of these errors: clients differ in which."""

        def call_all() -> None:
            for call in calls:
                call()

        with pytest.raises(ClientError) as caught:
            call_all()
        assert caught.value.kind in kinds, str(caught.value)


TransactionScenario = Callable[[TransactionStage], None]
