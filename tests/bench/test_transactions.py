"""The loads of `make bench PART=transactions`, with few transactions, on our broker."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from bench.committed import Counted, count_records
from bench.report import TRANSACTION_MEASURES
from bench.transaction_load import ABORTED_ONE_IN, RECORDS, Run, Turns, this_many

from bench import load, transactions
from gralha.testing import GralhaCluster

EACH = 2 * ABORTED_ONE_IN
PRODUCERS = 2


@pytest.mark.parametrize("kind", transactions.LOADS)
def test_transactions_are_counted_and_read_back(gralha_cluster: GralhaCluster, kind: str) -> None:
    with transactions.subjects({"gralha": gralha_cluster}, f"bench-{kind}", PRODUCERS, 1, kind) as made:
        subject = made["gralha"]
        for _ in range(2):
            run = subject.run(this_many(EACH))
            assert run.committed == [EACH - 2] * PRODUCERS
            assert run.aborted == [2] * PRODUCERS
            assert len(run.commit_s) == len(run.whole_s) == PRODUCERS * (EACH - 2)
            assert all(whole > commit > 0 for whole, commit in zip(run.whole_s, run.commit_s, strict=True))
        with socket.create_connection(("127.0.0.1", subject.leaders[0])) as connection:
            counted = count_records(connection, subject.topic, 0)
    first = transactions.FIRST_RECORDS
    # Each transaction has a marker, and the batches have all been read.
    assert counted == Counted(
        committed=first + 2 * (EACH - 2) * RECORDS,
        aborted=2 * 2 * RECORDS,
        end=first + 2 * EACH * (RECORDS + 1),
    )


def test_lost_and_doubled_records_are_noticed(gralha_cluster: GralhaCluster) -> None:
    clusters = {"gralha": gralha_cluster}
    with transactions.subjects(clusters, "bench-lost", 1, 1, "v2") as made:
        subject = made["gralha"]
        run = subject.run(this_many(2 * ABORTED_ONE_IN))
        subject.check()
        for wrong in (Run(committed=[17], aborted=[2]), Run(committed=[18], aborted=[1])):
            subject.expected[:] = [wrong]
            with pytest.raises(RuntimeError, match=r"1,801 committed records, .* and 200 aborted ones"):
                subject.check()
        subject.expected[:] = [run]


def say_nothing(text: str, on_page: bool = False) -> None:
    """These brokers need not become warm."""


def test_fetches_of_both_isolation_levels(
    gralha_cluster: GralhaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "PROGRAMS", tmp_path)
    taken = transactions.fetches(
        say_nothing, {"gralha": gralha_cluster}, 0.5, log_transactions=300, fetch_count=40
    )
    results = taken["gralha"]
    assert set(results) == {"read_uncommitted_gb_s", "read_committed_gb_s", "read_committed_share"}
    assert all(value > 0 for value in results.values())


def test_every_tenth_transaction_is_aborted() -> None:
    turns = Turns()
    commits = [turns.commits() for _ in range(3 * ABORTED_ONE_IN)]
    assert [number for number, one in enumerate(commits, 1) if not one] == [10, 20, 30]


def test_the_page_has_a_line_for_each_measure() -> None:
    names = {measure.name for measure in TRANSACTION_MEASURES}
    for brokers in (1, 3):
        for kind in transactions.LOADS:
            for producers in transactions.PRODUCERS:
                prefix = f"transactions_{brokers}_{kind}_{producers}"
                for what in ("per_s", "commit_p99_ms", "whole_p99_ms", "cpu_ms"):
                    assert f"{prefix}_{what}" in names
