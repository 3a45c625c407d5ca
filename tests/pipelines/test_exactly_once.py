"""Pipelines with guarantee="exactly once": batches that Spark repeats, inputs with aborted transactions.

On our own brokers. With "apache" in KINDS they pass on Apache Kafka 4.3, too; the tests of the sink use both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import TopicPartition
from gralha.pipelines import Pipeline, from_topic, pipeline, starting, to_table, to_topic
from gralha.pipelines.checkpoints import SPARK
from gralha.pipelines.errors import DeclarationError
from gralha.pipelines.group_progress import GroupProgress, rides_with_decisions
from tests.client.live import eventually
from tests.pipelines.runner import Runner
from tests.pipelines.topics import create
from tests.spark.exactly_once import committed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("gralha",)
SALES = "product STRING NOT NULL, amount DOUBLE"
TIMEOUT_S = 60.0


@pytest.fixture(params=KINDS)
def bootstrap(request: pytest.FixtureRequest, cluster_of: Callable[[str], str]) -> str:
    return cluster_of(request.param)


def write_transaction(bootstrap: str, topic: str, *amounts: float, commit: bool = True) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for amount in amounts:
        producer.produce(topic, json.dumps({"product": "tea", "amount": amount}))
    # An abort would drop what was not sent.
    producer.flush(TIMEOUT_S)
    (producer.commit_transaction if commit else producer.abort_transaction)(TIMEOUT_S)


def amounts(bootstrap: str, topic: str, name: str = "amount") -> list[float]:
    return [json.loads(value)[name] for value in committed(bootstrap, topic)]


def forget_that_a_batch_is_committed(checkpoints: Path) -> None:
    """As if Spark had died before it wrote that down for the newest batch."""
    (folder,) = checkpoints.glob(f"*/{SPARK}/commits")
    newest = max(int(file.name) for file in folder.iterdir() if file.name.isdigit())
    (folder / str(newest)).unlink()
    (folder / f".{newest}.crc").unlink()


def copy(source: str, target: str, **options: str) -> Pipeline:
    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES, options=options)},
        output=to_topic(target),
        guarantee="exactly once",
        name=target,
    )
    def copied(sales: DataFrame) -> DataFrame:
        return sales

    return copied


def test_a_repeated_batch_appears_once_and_aborted_rows_never(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("copy")
    create(bootstrap, source)
    write_transaction(bootstrap, source, 1.0, 2.0)
    write_transaction(bootstrap, source, 100.0, commit=False)
    assert [outcome.error for outcome in runner(copy(source, target))] == [None]
    forget_that_a_batch_is_committed(runner.checkpoints)
    write_transaction(bootstrap, source, 3.0)
    assert [outcome.error for outcome in runner(copy(source, target))] == [None]
    assert amounts(bootstrap, target) == [1.0, 2.0, 3.0]


def test_uncommitted_records_can_be_asked_for(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    source, target = new_name("sales"), new_name("copy")
    create(bootstrap, source)
    write_transaction(bootstrap, source, 100.0, commit=False)
    uncommitted = copy(source, target, isolationLevel="read_uncommitted")
    assert [outcome.error for outcome in runner(uncommitted)] == [None]
    assert amounts(bootstrap, target) == [100.0]


def test_several_outputs_of_one_batch(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    source, target = new_name("sales"), new_name("totals")
    create(bootstrap, source)
    write_transaction(bootstrap, source, 1.0, 2.0)

    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES)},
        output=[to_topic(target), to_topic(target, key="product"), to_table(str(tmp_path / "table"))],
        guarantee="exactly once",
        name=target,
    )
    def totals(sales: DataFrame) -> DataFrame:
        return sales.select("product", "amount")

    for _ in range(2):
        assert [outcome.error for outcome in runner(totals)] == [None]
        forget_that_a_batch_is_committed(runner.checkpoints)
    assert amounts(bootstrap, target) == [1.0, 1.0, 2.0, 2.0]
    assert runner.spark.read.parquet(str(tmp_path / "table")).count() == 2


def test_a_stream_waits_where_a_transaction_is_open(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    """It has read uncommitted records before, so it is further than readers of committed records may be."""
    source, target = new_name("sales"), new_name("copy")
    create(bootstrap, source)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": source})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(source, json.dumps({"product": "tea", "amount": 1.0}))
    producer.flush(TIMEOUT_S)
    for level in ("read_uncommitted", "read_committed"):
        assert [outcome.error for outcome in runner(copy(source, target, isolationLevel=level))] == [None]
    producer.commit_transaction(TIMEOUT_S)
    write_transaction(bootstrap, source, 2.0)
    assert [outcome.error for outcome in runner(copy(source, target))] == [None]
    assert amounts(bootstrap, target) == [1.0, 2.0]


def group_offset(bootstrap: str, group: str, topic: str) -> int | None:
    """The offset that Kafka's tools show."""
    with Admin(Cluster(bootstrap)) as admin:
        found = admin.group_offsets([group])[group]
    assert isinstance(found, dict)
    place = TopicPartition(topic, 0)
    return found[place].offset if place in found else None


def test_the_group_is_committed_with_the_decision(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else commits it, neither the source nor the run."""
    source, target = new_name("sales"), new_name("copy")
    create(bootstrap, source)
    write_transaction(bootstrap, source, 1.0, 2.0)
    monkeypatch.setattr(GroupProgress, "_commit", None)
    assert [outcome.error for outcome in runner(copy(source, target))] == [None]
    assert eventually(lambda: group_offset(bootstrap, target, source) == 3)
    forget_that_a_batch_is_committed(runner.checkpoints)
    write_transaction(bootstrap, source, 3.0)
    assert [outcome.error for outcome in runner(copy(source, target))] == [None]
    assert eventually(lambda: group_offset(bootstrap, target, source) == 5)
    assert amounts(bootstrap, target) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("is_empty", [False, True])
def test_the_group_is_committed_after_all_outputs(
    runner: Runner,
    bootstrap: str,
    new_name: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_empty: bool,
) -> None:
    """Also if no row of the batch is written."""
    source, target = new_name("sales"), new_name("totals")
    create(bootstrap, source)
    write_transaction(bootstrap, source, 1.0, 2.0)
    table = to_table(str(tmp_path / "table"))
    monkeypatch.setattr(GroupProgress, "_commit", None)

    @pipeline(
        inputs={"sales": from_topic(source, schema=SALES)},
        output=[to_topic(target), table],
        guarantee="exactly once",
        name=target,
    )
    def totals(sales: DataFrame) -> DataFrame:
        return sales.select("product", "amount").filter("amount > 5" if is_empty else "amount > 0")

    assert [outcome.error for outcome in runner(totals)] == [None]
    assert eventually(lambda: group_offset(bootstrap, target, source) == 3)
    assert amounts(bootstrap, target) == ([] if is_empty else [1.0, 2.0])


def test_a_checkpoint_that_only_spark_can_read(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = new_name("sales"), new_name("copy")
    create(bootstrap, source)
    write_transaction(bootstrap, source, 1.0)
    monkeypatch.setattr(starting, "is_on_this_machine", lambda path: False)
    for _ in range(2):
        assert [outcome.error for outcome in runner(copy(source, target))] == [None]
        forget_that_a_batch_is_committed(runner.checkpoints)
    assert eventually(lambda: group_offset(bootstrap, target, source) == 2)
    assert amounts(bootstrap, target) == [1.0]


def test_a_checkpoint_may_be_named_in_another_way(
    runner: Runner, bootstrap: str, new_name: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First by a path of this machine, then by an address, for example that of a file system which is mounted
    here. The query is the same, so a repeated batch must find its decision.
    """
    source, target = new_name("sales"), new_name("copy")
    create(bootstrap, source)
    for is_here in (True, False, True):
        write_transaction(bootstrap, source, 1.0)
        monkeypatch.setattr(starting, "is_on_this_machine", lambda path, is_here=is_here: is_here)
        assert [outcome.error for outcome in runner(copy(source, target))] == [None]
        forget_that_a_batch_is_committed(runner.checkpoints)
    assert [outcome.error for outcome in runner(copy(source, target))] == [None]
    assert amounts(bootstrap, target) == [1.0, 1.0, 1.0]


def test_an_input_in_another_cluster_is_committed_as_before() -> None:
    there = {"kafka.bootstrap.servers": "elsewhere:9092"}
    assert rides_with_decisions(copy("sales", "copy"))
    assert not rides_with_decisions(copy("sales", "copy", **there))
    assert not rides_with_decisions(replace(copy("sales", "copy"), guarantee="at least once"))


def test_another_guarantee() -> None:
    with pytest.raises(DeclarationError, match="guarantee is 'twice'; it can be 'at least once' or 'exactly"):

        @pipeline(inputs={"sales": from_topic("sales")}, output=to_topic("t"), guarantee="twice")
        def wrong(sales: DataFrame) -> DataFrame:
            return sales
