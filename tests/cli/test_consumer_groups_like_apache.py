"""kafka-consumer-groups beside Apache Kafka's own, on the same groups: the same words in the same columns.

Kafka lists groups and new offsets in no order, so these lines are compared as sets. It names Java classes in
errors, and ends with exit code 0 where ours ends with 1.
"""

import os
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.apache.kafka import run_tool
from tests.cli.commands import written
from tests.cli.group_members import commit, create_topic, members

PREFIX = f"like-apache-{os.getpid()}"
TOPIC = f"{PREFIX}-orders"
LONG_TOPIC = f"{PREFIX}-a-name-that-makes-the-column-of-topics-wider"
EMPTY, CLASSIC, CONSUMER = (f"{PREFIX}-{kind}" for kind in ("empty", "classic", "consumer"))


@pytest.fixture(scope="module")
def address(bootstrap: str) -> Iterator[str]:
    """The broker, with a group without members, and a group with two members of each protocol."""
    create_topic(bootstrap, TOPIC)
    create_topic(bootstrap, LONG_TOPIC, partitions=1)
    commit(bootstrap, EMPTY, TOPIC, [4, 10, None])
    commit(bootstrap, EMPTY, LONG_TOPIC, [1])
    configs = [{"client.id": "one"}, {"client.id": "two", "group.instance.id": "second"}]
    topics = [TOPIC, LONG_TOPIC]
    quiet = [{**config, "enable.auto.commit": False} for config in configs]
    with members(bootstrap, CLASSIC, topics, quiet), members(bootstrap, CONSUMER, topics, quiet, "consumer"):
        yield bootstrap


def both(
    capfd: pytest.CaptureFixture[str], address: str, *arguments: str
) -> tuple[tuple[str, str], tuple[str, str], int]:
    """The standard output and error of both commands, and our exit code."""
    theirs = run_tool("kafka-consumer-groups", "--bootstrap-server", address, *arguments, check=False)
    code = import_module("gralha.cli.consumer_groups").main(["--bootstrap-server", address, *arguments])
    ours = written(capfd)
    return (ours.out, ours.err), (theirs.stdout, theirs.stderr), code


DESCRIBE = ["--describe", "--group", EMPTY, "--group", CLASSIC, "--group", CONSUMER]


@pytest.mark.parametrize(
    "view",
    [[], ["--offsets", "--verbose"], ["--members", "--verbose"], ["--state", "--verbose"]],
    ids=" ".join,
)
def test_descriptions(address: str, capfd: pytest.CaptureFixture[str], view: list[str]) -> None:
    ours, theirs, code = both(capfd, address, *DESCRIBE, *view)
    assert ours == theirs
    assert code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--list", "--state", "--type"],
        [
            "--reset-offsets",
            "--group",
            EMPTY,
            "--topic",
            f"{TOPIC}:0,2",
            "--topic",
            LONG_TOPIC,
            "--to-latest",
        ],
        ["--reset-offsets", "--group", EMPTY, "--all-topics", "--shift-by", "-1", "--dry-run", "--export"],
        ["--reset-offsets", "--group", EMPTY, "--topic", TOPIC, "--by-duration", "PT0S", "--dry-run"],
    ],
    ids=lambda words: " ".join(words).replace(PREFIX, ""),
)
def test_lines_in_any_order(address: str, capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    ours, theirs, code = both(capfd, address, *arguments)
    assert sorted(ours[0].splitlines()) == sorted(theirs[0].splitlines())
    assert ours[1] == theirs[1]
    assert code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--describe", "--group", "no-such-group"],
        ["--reset-offsets", "--group", CLASSIC, "--topic", TOPIC, "--to-latest", "--dry-run"],
        ["--reset-offsets", "--group", EMPTY, "--topic", f"{TOPIC}:9", "--to-latest", "--dry-run"],
        ["--delete", "--group", CONSUMER],
        ["--delete-offsets", "--group", CLASSIC, "--topic", f"{TOPIC}:0"],
    ],
    ids=lambda words: " ".join(words).replace(PREFIX, ""),
)
def test_failures(address: str, capfd: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    ours, theirs, code = both(capfd, address, *arguments)
    assert code == 1
    assert shape(ours[0] + ours[1]) == shape(theirs[0])


def shape(text: str) -> list[str]:
    """The lines of a failure, without Java classes and without the reasons, which have our own words."""
    text = re.sub(r"org\.apache\.kafka\.common\.errors\.\w+: ", "", text)
    text = re.sub(r"(could not be deleted due to: |\d +Error: ).*", r"\1", text)
    return [line for line in text.splitlines() if line]
