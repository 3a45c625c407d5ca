"""What a new user meets, one session for each line of a list: real processes in a terminal of 80 columns.

tests/pipelines/test_new_user.py has the sessions that need Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gralha.testing import GralhaCluster
from tests.pipelines.terminal import Terminal

SCRIPTS = Path(sys.executable).parent
FIVE_RECORDS = "--num-records 5 --record-size 5 --throughput -1"

Session = Callable[[str], tuple[str, int]]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """What a person sees who types a line, with the exit code."""

    def session(line: str) -> tuple[str, int]:
        name, *words = line.split()
        command = [str(SCRIPTS / name), *words]
        with Terminal(command, cwd=tmp_path, columns=80, environment={"NO_COLOR": "1"}) as terminal:
            code = terminal.end()
            return terminal.screen, code

    return session


@pytest.fixture(scope="module")
def default_replication() -> Iterator[GralhaCluster]:
    """A single broker with the defaults of Kafka, which need three: `gralha server` with a short file."""
    replicas = {"offsets.topic.replication.factor": "3", "transaction.state.log.replication.factor": "3"}
    with GralhaCluster(config=replicas) as cluster:
        yield cluster


def refusals(cluster: GralhaCluster) -> list[str]:
    """The lines of the broker's log about topics of coordinators: one for each request that it refused."""
    log = (cluster.folder / "node-1" / "server.log").read_text().splitlines()
    return [line for line in log if "was not created automatically" in line and "Topic __" in line]


@pytest.mark.parametrize(
    "line",
    [
        "kafka-console-consumer BROKER --topic a --group g",
        "kafka-console-consumer BROKER --topic a --from-beginning",
        "kafka-consumer-perf-test BROKER --topic a --group g --messages 5",
        "kafka-verifiable-consumer BROKER --topic a --group-id g",
        "kafka-consumer-groups BROKER --describe --group g",
        "gralha pipeline replay-dead-letters sums --dry-run --topic a BROKER",
    ],
)
def test_groups_that_the_cluster_cannot_have_are_refused_at_once(
    session: Session, default_replication: GralhaCluster, line: str
) -> None:
    before = refusals(default_replication)
    said, code = session(line.replace("BROKER", f"--bootstrap-server {default_replication.bootstrap}"))
    assert code == 1
    # A second request would get the same answer.
    assert len(refusals(default_replication)) - len(before) == 1
    assert "__consumer_offsets cannot be created: Unable to replicate the partition 3 time(s): " in said
    assert "Start more brokers, or set offsets.topic.replication.factor=1 in the file of each broker." in said


@pytest.mark.parametrize(
    "line",
    [
        f"kafka-producer-perf-test BROKER --topic a {FIVE_RECORDS} --transactional-id x",
        "kafka-transactions BROKER describe --transactional-id x",
        "kafka-transactions BROKER force-terminate --transactional-id x",
    ],
)
def test_transactions_that_the_cluster_cannot_have_are_refused_at_once(
    session: Session, default_replication: GralhaCluster, line: str
) -> None:
    before = refusals(default_replication)
    said, code = session(line.replace("BROKER", f"--bootstrap-server {default_replication.bootstrap}"))
    assert code == 1
    # One request for the description, and one for the change.
    assert len(refusals(default_replication)) - len(before) <= 2
    assert "__transaction_state cannot be created: Unable to replicate the partition 3 time(s): " in said
    assert (
        "transaction.state.log.replication.factor=1 and transaction.state.log.min.isr=1 in the file" in said
    )


def test_the_broker_warns_once_of_a_topic_that_it_cannot_create(
    session: Session, default_replication: GralhaCluster
) -> None:
    for _ in range(2):
        session(
            f"kafka-consumer-groups --bootstrap-server {default_replication.bootstrap} --describe --group g"
        )
    lines = [line for line in refusals(default_replication) if "Topic __consumer_offsets " in line]
    assert len(lines) >= 2
    assert [" WARN " in line for line in lines] == [True] + [False] * (len(lines) - 1)
