"""Our commands beside Apache Kafka's own, on the same broker: the same words and the same exit code.

An Apache command needs a second or two to start Java, so there are few of them and each shows much. If a
command fails, Kafka prints a Java stack trace after its message, and sometimes prints the message on standard
output. Ours prints only the message, on standard error.
"""

import re
from importlib import import_module

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic
from tests.apache.kafka import run_tool
from tests.cli.commands import written
from tests.client.live import eventually

TOPIC = "like.apache"


@pytest.fixture(scope="module")
def address(bootstrap: str) -> str:
    """The broker, with one topic that has settings of its own."""
    with Admin(Cluster(bootstrap)) as admin:
        admin.create_topics([NewTopic(TOPIC, partitions=3, configs={"max.message.bytes": "5000"})])
        assert eventually(lambda: TOPIC in [listing.name for listing in admin.list_topics()])
    return bootstrap


def ours(capfd: pytest.CaptureFixture[str], command: str, *arguments: str) -> tuple[int, str, str]:
    module = import_module(f"gralha.cli.{command.removeprefix('kafka-').replace('-', '_')}")
    code: int = module.main(list(arguments))
    output = written(capfd)
    return code, output.out, output.err


SUCCESSES = (
    ("kafka-topics", "--describe", "--topic", TOPIC),
    ("kafka-configs", "--describe", "--topic", TOPIC, "--all"),
    ("kafka-configs", "--describe", "--entity-type", "brokers", "--all"),
    ("kafka-get-offsets", "--topic-partitions", f"{TOPIC}:1-", "--time", "earliest"),
    ("kafka-broker-api-versions",),
)


@pytest.mark.parametrize("line", SUCCESSES, ids=" ".join)
def test_the_same_output(address: str, line: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    command, *arguments = line
    theirs = run_tool(command, "--bootstrap-server", address, *arguments)
    code, output, errors = ours(capfd, command, "--bootstrap-server", address, *arguments)
    assert (code, in_order(output), errors) == (0, in_order(theirs.stdout), "")


def in_order(output: str) -> str:
    """The output with a topic's settings in order, because Kafka prints them in the order of a hash table."""
    return re.sub(
        r"Configs: (\S+)", lambda found: "Configs: " + ",".join(sorted(found[1].split(","))), output
    )


FAILURES = (
    ("kafka-topics", "--create", "--topic", TOPIC),
    ("kafka-configs", "--describe", "--entity-type", "trees"),
    ("kafka-get-offsets", "--topic", "no-such-topic"),
)


@pytest.mark.parametrize("line", FAILURES, ids=" ".join)
def test_the_same_failure(address: str, line: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    command, *arguments = line
    theirs = run_tool(command, "--bootstrap-server", address, *arguments, check=False)
    code, _, message = ours(capfd, command, "--bootstrap-server", address, *arguments)
    assert code == theirs.returncode == 1
    assert message.count("\n") == 1
    assert message in theirs.stdout + theirs.stderr
