"""The look-ups of how a sink's transactions have ended."""

import threading
from typing import Any

import pytest

from gralha.client.settings import ClientSettings
from gralha.client.transaction_outcomes import LoggedOutcome
from gralha.client.transaction_state import TransactionHandle
from gralha.client.values import TopicPartition
from gralha.spark import sink_transactions as module
from gralha.spark.decisions import FirstRecord, TaskTransaction
from gralha.spark.sink_transactions import CommitResult, SinkTransactions
from gralha.spark.transactional_ids import SinkKey

TASKS = 4
PATIENCE_S = 30.0


def test_transactions_are_looked_up_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look-up may wait for a marker. One after the other, they would take minutes for a large batch."""
    all_look = threading.Barrier(TASKS)
    clusters: set[int] = set()
    deadlines: set[float] = set()

    class Reader:
        def __init__(self, cluster: Any, _settings: ClientSettings, deadline: float) -> None:
            clusters.add(id(cluster))
            deadlines.add(deadline)

        def __enter__(self) -> "Reader":
            return self

        def __exit__(self, *_exception: object) -> None:
            """Nothing is open."""

        def outcome(self, handle: TransactionHandle, *_record: object) -> LoggedOutcome:
            all_look.wait(PATIENCE_S)
            return LoggedOutcome.ABORTED if handle.producer_id == 2 else LoggedOutcome.COMMITTED

    monkeypatch.setattr(module, "OutcomeReader", Reader)
    tasks = [
        TaskTransaction(
            TransactionHandle(f"t{number}", number, 0, True),
            number,
            0,
            first_records=(FirstRecord(TopicPartition("t", number), 0),),
        )
        for number in range(TASKS)
    ]
    found = SinkTransactions(ClientSettings("localhost:1"), SinkKey("query", "t"))._looked_up(tasks)
    assert [found[one] for one in tasks] == [
        CommitResult.ABORTED if one.task == 2 else CommitResult.COMMITTED for one in tasks
    ]
    assert len(clusters) == TASKS, "a cluster belongs to one thread"
    assert len(deadlines) == 1, "all wait for the same time"
