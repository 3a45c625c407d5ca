"""The log of a running broker: its lines, and its levels as `kafka-configs` changes them."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from gralha.testing import GralhaCluster

TIMEOUT_S = 60.0
LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?:FATAL|ERROR|WARN|INFO|DEBUG|TRACE) (?:gralha|asyncio)[\w.]*: .+"
)
LOGGER = "gralha.coordination"


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster() as cluster:
        yield cluster


def kafka_configs(cluster: GralhaCluster, *arguments: str, broker: str = "1") -> str:
    command = Path(sys.executable).with_name("kafka-configs")
    entity = ["--entity-type", "broker-loggers", "--entity-name", broker]
    done = subprocess.run(
        [str(command), "--bootstrap-server", cluster.bootstrap, *entity, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return done.stdout + done.stderr


def lines_of(cluster: GralhaCluster) -> list[str]:
    return cluster.process().log_file.read_text().splitlines()


def read_in_a_group(cluster: GralhaCluster) -> None:
    """The first group makes the coordinator load its partition."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce("read", b"x")
    assert producer.flush(TIMEOUT_S) == 0
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe(["read"])
    assert consumer.consume(1, TIMEOUT_S)
    consumer.close()


def test_a_level_changes_while_the_broker_runs(cluster: GralhaCluster) -> None:
    described = kafka_configs(cluster, "--describe")
    assert f"  {LOGGER}=INFO sensitive=false synonyms={{}}" in described
    assert "  root=INFO sensitive=false synonyms={}" in described
    changed = kafka_configs(cluster, "--alter", "--add-config", f"{LOGGER}=DEBUG")
    assert changed == "Completed updating config for broker-logger 1.\n"
    assert f"  {LOGGER}=DEBUG " in kafka_configs(cluster, "--describe")

    read_in_a_group(cluster)
    debug = [line for line in lines_of(cluster) if " DEBUG " in line]
    assert any(re.search(rf" DEBUG {LOGGER}: __consumer_offsets-\d+ is loaded$", line) for line in debug)
    assert all(f" DEBUG {LOGGER}: " in line for line in debug)

    kafka_configs(cluster, "--alter", "--delete-config", LOGGER)
    assert f"  {LOGGER}=INFO " in kafka_configs(cluster, "--describe")
    said = [line.partition(" WARN gralha.broker: ")[2] for line in lines_of(cluster)]
    assert f"Updated the log level of {LOGGER} to DEBUG" in said
    assert f"Unset the log level of {LOGGER}" in said


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (["--add-config", "gralha.nowhere=INFO"], "Invalid broker logger(s): gralha.nowhere"),
        (
            ["--add-config", "gralha.raft=LOUD"],
            "Cannot set the log level of gralha.raft to LOUD as it is not",
        ),
        (["--delete-config", "root"], "Removing the log level of the root logger is not allowed"),
    ],
)
def test_changes_that_are_refused(cluster: GralhaCluster, change: list[str], complaint: str) -> None:
    assert complaint in kafka_configs(cluster, "--alter", *change)


def test_every_event_is_one_line(cluster: GralhaCluster) -> None:
    lines = lines_of(cluster)
    strange = [line for line in lines if not LINE.fullmatch(line) and not line.startswith("ready: ")]
    assert strange == []
    assert len(lines) > 3
