"""The consumer group of an exactly-once stream: its offsets ride in the transactions of decisions.

On our own brokers and on Apache Kafka 4.3, with transactions v1 and v2.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ConfluentPartition

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import TopicPartition
from gralha.spark.decisions import ExactlyOnceError, transactions_of
from gralha.spark.task_writers import nothing
from tests.client.live import eventually
from tests.spark.exactly_once import Died, Run, dies_when, newest_decision, rows_of
from tests.spark.protocol_stage import POINTS, NewRun, cluster, new_program, new_run, seen

__all__ = ["cluster", "new_program", "new_run"]


def with_offsets(run: Run, folder: Path, *ends: int) -> Run:
    """The run of a stream with a group, whose checkpoint has the offsets of these batches."""
    (folder / "offsets").mkdir(exist_ok=True)
    for batch, end in enumerate(ends):
        source = {"input": {"0": end}, **({"@from": {"input": {"0": 3}}} if batch == 0 else {})}
        text = "v1\n{}\n" + json.dumps(source).replace("input", f"{run.topic}")
        (folder / "offsets" / str(batch)).write_text(text)
    run.options = {"groupId": f"group-{run.topic}", "checkpointLocation": str(folder)}
    return run


def group_offset(run: Run) -> int | None:
    """The committed offset of the run's group, once no transaction is pending on it."""
    group, place = f"group-{run.topic}", TopicPartition(run.topic, 0)
    consumer = Consumer({"bootstrap.servers": run.bootstrap, "group.id": group})
    found: list[ConfluentPartition] = []

    def ask() -> bool:
        try:
            # This client asks for stable offsets: it waits for the end of transactions.
            found[:] = consumer.committed([ConfluentPartition(*place)], timeout=30.0)
        except KafkaException as error:
            # The first question creates the topic of offsets.
            if error.args[0].code() != KafkaError.NOT_COORDINATOR:
                raise
        return bool(found)

    try:
        assert eventually(ask, 60.0)
    finally:
        consumer.close()
    return None if found[0].offset < 0 else found[0].offset


def test_the_group_moves_with_each_decision(new_run: NewRun, tmp_path: Path) -> None:
    run = with_offsets(new_run(), tmp_path, 10, 20)
    assert group_offset(run) is None
    for batch, end in enumerate((10, 20)):
        run.batch(batch)
        assert group_offset(run) == end


@pytest.mark.parametrize("point", POINTS)
def test_the_group_is_where_the_newest_decision_is(new_run: NewRun, tmp_path: Path, point: str) -> None:
    first = with_offsets(new_run(), tmp_path, 10, 20)
    first.batch(0)
    first.reached = dies_when(point)
    with pytest.raises(Died):
        first.batch(1)
    # Becomes the owner, as the next driver does: that ends what was not committed.
    second = with_offsets(new_run(dies_when("has read the log")), tmp_path, 10, 20)
    with pytest.raises(Died):
        second.commit(1, second.tasks(1))
    newest = newest_decision(second)
    assert newest is not None
    assert group_offset(second) == (20 if newest.batch == 1 else 10)
    second.reached = nothing
    second.batch(1)
    assert group_offset(second) == 20
    assert seen(second) == rows_of(0) + rows_of(1)


def test_a_repeated_batch_does_not_move_the_group_back(new_run: NewRun, tmp_path: Path) -> None:
    runs = [with_offsets(new_run(), tmp_path, 10, 20) for _ in range(2)]
    runs[0].batch(0)
    runs[0].batch(1)
    runs[1].batch(1)
    with pytest.raises(ExactlyOnceError, match="Batch 0 was written already, and later ones, too"):
        with_offsets(new_run(), tmp_path, 10, 20).batch(0)
    assert group_offset(runs[1]) == 20


def test_the_group_goes_back_with_a_revoked_decision(new_run: NewRun, tmp_path: Path) -> None:
    first = with_offsets(new_run(dies_when("has decided")), tmp_path, 10, 20)
    second, third = (with_offsets(new_run(), tmp_path, 10, 20) for _ in range(2))
    written = first.tasks(0)
    with pytest.raises(Died):
        first.commit(0, written)
    assert group_offset(first) == 10
    with Admin(Cluster(first.bootstrap)) as admin:
        for one in transactions_of(written):
            admin.fence_producer(one.handle.transactional_id)
    with pytest.raises(ExactlyOnceError, match="The decision is revoked"):
        second.batch(0)
    assert group_offset(second) == 3
    third.batch(0)
    assert group_offset(third) == 10


def test_a_batch_whose_offsets_are_not_in_the_checkpoint_is_not_decided(
    new_run: NewRun, tmp_path: Path
) -> None:
    run = with_offsets(new_run(), tmp_path, 10)
    run.batch(0)
    with pytest.raises(ExactlyOnceError, match=r"The offsets of batch 1 .* has no file offsets/1"):
        run.batch(1)
    assert group_offset(run) == 10
    assert seen(run) == rows_of(0)


def test_offsets_of_a_topic_that_is_gone_are_left_out(
    new_run: NewRun, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = with_offsets(new_run(), tmp_path, 10)
    text = (tmp_path / "offsets" / "0").read_text()
    (tmp_path / "offsets" / "0").write_text(f'{text}\n{{"gone-{run.topic}": {{"0": 5}}}}')
    run.batch(0)
    assert group_offset(run) == 10
    assert "refuses the offsets of batch 0" in caplog.text
    assert seen(run) == rows_of(0)


def test_a_batch_write_names_its_offsets(new_program: NewRun) -> None:
    program = new_program()
    program.options = {
        "groupId": f"group-{program.topic}",
        "groupOffsets": f'{{"{program.topic}": {{"0": 7}}}}',
    }
    program.batch(1)
    assert group_offset(program) == 7
