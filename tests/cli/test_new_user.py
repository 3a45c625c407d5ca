"""What a new user meets, one session for each line of a list: real processes in a terminal of 80 columns.

tests/pipelines/test_new_user_spark.py has the sessions that need Spark (lines 1, 2 and 7).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic
from gralha.testing import GralhaCluster
from gralha.testing.process import free_ports
from tests.pipelines.terminal import CTRL_C, Terminal

SCRIPTS = Path(sys.executable).parent
FIVE_RECORDS = "--num-records 5 --record-size 5 --throughput -1"
COLOURED = {"NO_COLOR": "", "TERM": "xterm"}

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


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    """A topic with five records."""
    name = new_name("pedidos")
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name, partitions=1)]) == {name: None}
    producer = [str(SCRIPTS / "kafka-console-producer"), "--bootstrap-server", bootstrap, "--topic", name]
    subprocess.run(producer, input=b"1\n2\n3\n4\n5\n", check=True, timeout=60)
    return name


# Line 5: a topic that does not exist is created by the console tools without a word.


@pytest.mark.parametrize(
    ("line", "wrong"),
    [("kafka-console-producer", "pedido"), ("kafka-console-consumer --timeout-ms 1", "peddidos")],
)
def test_a_topic_that_the_broker_creates_is_a_warning(
    tmp_path: Path, bootstrap: str, topic: str, line: str, wrong: str
) -> None:
    misspelt = topic.replace("pedidos", wrong)
    words = line.split()
    command = [str(SCRIPTS / words[0]), *words[1:], "--bootstrap-server", bootstrap, "--topic", misspelt]
    with Terminal(command, cwd=tmp_path, columns=80, environment=COLOURED) as terminal:
        terminal.press(b"\x04")
        assert terminal.end() == 0
        warning = next(line for line in terminal.written.splitlines() if "did not exist" in line)
    assert f"Topic '{misspelt}' did not exist, and the broker has created it." in warning
    assert f"Did you mean '{topic}'?" in warning
    assert warning.startswith("\x1b[33mWARN ")


# Line 6: `gralha up` takes settings, and its errors speak of its own flags.


def test_gralha_up_takes_settings_and_names_its_own_flags(session: Session, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    words = ["--port", str(port), "--data", "data", "--override", "num.partitions=4", "--host", "127.0.0.1"]
    line = [str(SCRIPTS / "gralha"), "up", *words, "--no-auto-create", "--no-registry", "--verbose"]
    brokers = f"--bootstrap-server 127.0.0.1:{port}"
    with Terminal(line, cwd=tmp_path, columns=80) as terminal:
        terminal.wait_for(rf"Gralha is up\n  broker    127\.0\.0\.1:{port}\n")
        assert session(f"kafka-topics {brokers} --create --topic four") == ("Created topic four.\n", 0)
        assert "PartitionCount: 4" in session(f"kafka-topics {brokers} --describe --topic four")[0]
        said, code = session(f"kafka-console-producer {brokers} --topic five --max-block-ms 1")
        assert (code, "Topic 'five' does not exist, and the broker has not created it." in said) == (1, True)
        other, code = session(f"gralha up --port {port + 1} --data data")
        assert other.endswith(" Stop that one, or choose another folder with --data.\n")
        other, code = session(f"gralha up --host 127.0.0.1 --port {port} --data data-2")
        assert other.endswith(" Stop the program that uses the port, or choose another one with --port.\n")
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert " INFO " in terminal.screen


# Line 7: abbreviated flags hit the wrong option, and --print-metrics does nothing.


def test_an_abbreviated_flag_never_hits_another_option(session: Session, bootstrap: str, topic: str) -> None:
    line = f"kafka-topics --bootstrap-server {bootstrap} --describe"
    for flag in ("--topics", "--top"):
        said, code = session(f"{line} {flag} {topic}")
        assert said == f"{flag} is not a recognized option. Did you mean --topic? (see kafka-topics --help)\n"
        assert code == 1
    assert f"Topic: {topic}" in session(f"{line} --topic {topic}")[0]


def test_the_metrics_of_a_performance_test_are_printed(session: Session, bootstrap: str, topic: str) -> None:
    line = f"kafka-consumer-perf-test --bootstrap-server {bootstrap} --topic {topic} --num-records 5"
    said, code = session(f"{line} --print-metrics")
    assert code == 0
    assert re.search(
        r"-metrics:bytes-consumed-total:\{client-id=perf-consumer-client\} +: 5\.000$", said, re.M
    )


# Line 8: a request that cannot be served yet is answered at once with a sentence.


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


# Line 9: errors that name the wrong flag or the wrong place.


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (
            "kafka-transactions describe --bootstrap-server b:1 --transactional-id x",
            "--bootstrap-server must come before describe: kafka-transactions --bootstrap-server ... ",
        ),
        (
            "kafka-transactions --bootstrap-server b:1 --transactional-id x describe",
            "--transactional-id must come after describe: kafka-transactions describe --transactional-id",
        ),
        (
            "gralha up --port 60000 --brokers 3",
            "--port 60000: 3 brokers need a port from 1 to 45534, because",
        ),
        (
            "gralha pipeline run --bootstrap-servers b:1 pipelines.py",
            "--bootstrap-servers is not a recognized option. Did you mean --bootstrap-server?",
        ),
        ("gralha pipeline run", "FILE"),
    ],
)
def test_an_error_names_the_flag_and_its_place(session: Session, line: str, answer: str) -> None:
    said, code = session(line)
    assert answer in said.replace("\n", " ")
    assert (said.count("Traceback"), code) == (0, 1)
