"""Mistakes of people who type commands for the first time, on a terminal: each answer names the way out."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import ConfigResource, NewTopic, ResourceType
from tests.pipelines.terminal import Terminal

SCRIPTS = Path(sys.executable).parent
TIMEOUT_S = 30.0


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> Iterator[str]:
    """A topic whose setting retention.ms is set, and a group of the same name."""
    name = new_name("meutopico")
    with Admin(Cluster(bootstrap)) as admin:
        assert admin.create_topics([NewTopic(name, partitions=2)]) == {name: None}
        admin.alter_configs(ConfigResource(ResourceType.TOPIC, name), set_values={"retention.ms": "9000"})
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": name})
        consumer.commit(offsets=[TopicPartition(name, 0, 0)], asynchronous=False)
        consumer.close()
        yield name


@pytest.fixture
def answer(tmp_path: Path) -> Callable[..., tuple[str, int]]:
    """What a person sees who types the words and these lines, with the exit code. Ctrl-D ends the lines."""

    def answer(command: str, *words: str, lines: str = "") -> tuple[str, int]:
        line = [str(SCRIPTS / command), *words]
        with Terminal(line, cwd=tmp_path, columns=80, environment={"NO_COLOR": "1"}) as terminal:
            if lines:
                terminal.press(lines.encode() + b"\x04")
            code = terminal.end()
            return terminal.screen, code

    return answer


Answer = Callable[..., tuple[str, int]]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("kafka-topics --create orders", "--topic orders"),
        ("kafka-console-producer orders", "--topic orders"),
        ("kafka-dump-log 00000000000000000000.log", "--files 00000000000000000000.log"),
        ("gralha server server.properties", "--config server.properties"),
        ("gralha up 3", "--brokers 3"),
    ],
)
def test_a_value_without_its_option(answer: Answer, line: str, meant: str) -> None:
    said, code = answer(*line.split())
    assert f"is one argument too many. Did you mean {meant}?" in said
    assert code == 1


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("gralha start", "gralha up"),
        ("gralha produce", "gralha console-producer"),
        ("gralha consume", "gralha console-consumer"),
        ("gralha pipeline start shop.py", "run"),
        ("gralha pipeline ps", "status"),
    ],
)
def test_a_command_by_the_name_that_other_systems_have(answer: Answer, line: str, meant: str) -> None:
    said, code = answer(*line.split())
    assert f"Did you mean {meant}?" in said
    assert code == 1


def test_a_number_with_a_unit(answer: Answer, bootstrap: str, topic: str) -> None:
    create = ["--bootstrap-server", bootstrap, "--create", "--topic", f"{topic}-2", "--config"]
    said, code = answer("kafka-topics", *create, "retention.ms=7d")
    assert said == (
        "Error while executing topic command : Invalid value 7d for configuration retention.ms: "
        "Not a number of type LONG. 7d is 604800000 ms.\n"
    )
    assert code == 1
    said, _ = answer("kafka-topics", *create, "segment.bytes=1GB")
    assert said.endswith("Not a number of type INT. 1GB is 1073741824 bytes.\n")
    said, code = answer("gralha", "up", "--port", "0", "--override", "log.retention.ms=2 weeks")
    assert said.endswith("allowed: a whole number of 64 bits; 2 weeks is 1209600000 ms\n")
    assert code == 1


def test_a_misspelt_setting(answer: Answer, bootstrap: str, topic: str) -> None:
    of_topic = ["--bootstrap-server", bootstrap, "--alter", "--topic", topic]
    said, code = answer("kafka-configs", *of_topic, "--add-config", "retention.msec=5")
    assert said.endswith("Unknown topic config name: retention.msec. Did you mean retention.ms?\n")
    assert code == 1


def test_a_setting_that_was_not_set_is_not_deleted(answer: Answer, bootstrap: str, topic: str) -> None:
    of_topic = ["--bootstrap-server", bootstrap, "--alter", "--topic", topic]
    said, code = answer("kafka-configs", *of_topic, "--delete-config", "retention.mss")
    assert f"WARN retention.mss was not set for topic {topic}. Did you mean retention.ms?\n" in said
    assert code == 0
    said, _ = answer("kafka-configs", *of_topic, "--delete-config", "retention.ms")
    assert "WARN" not in said


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("kafka-configs", ["--alter", "--add-config", "retention.ms=5", "--topic"]),
        ("kafka-configs", ["--describe", "--topic"]),
        ("kafka-get-offsets", ["--topic"]),
        ("kafka-consumer-groups", ["--describe", "--group"]),
    ],
)
def test_a_misspelt_topic_or_group(
    answer: Answer, bootstrap: str, topic: str, command: str, words: list[str]
) -> None:
    wrong = topic.replace("meutopico", "meutopicoo")
    said, _ = answer(command, "--bootstrap-server", bootstrap, *words, wrong)
    assert f"Did you mean '{topic}'?" in said


def test_misspelt_properties_of_the_console_commands(answer: Answer, bootstrap: str, topic: str) -> None:
    of_topic = ["--bootstrap-server", bootstrap, "--topic", topic]
    said, code = answer("kafka-console-producer", *of_topic, "--property", "parse.keys=true", lines="a\n")
    assert "WARN Ignoring the property parse.keys. Did you mean parse.key?\n" in said
    said, code = answer("kafka-console-producer", *of_topic, "--producer-property", "ack=1", lines="b\n")
    assert "librdkafka does not know it. Did you mean acks?\n" in said
    said, code = answer(
        *("kafka-console-consumer", *of_topic, "--from-beginning", "--max-messages", "2"),
        *("--property", "print.keys=true", "--property", "schema.registry.url=http://localhost"),
    )
    assert re.findall("WARN .*", said) == ["WARN Ignoring the property print.keys. Did you mean print.key?"]
    assert code == 0


def test_a_separator_without_keys(answer: Answer, bootstrap: str, topic: str) -> None:
    words = ["--bootstrap-server", bootstrap, "--topic", topic, "--property", "key.separator=:"]
    said, code = answer("kafka-console-producer", *words, lines="k:v\n")
    assert "WARN key.separator has no effect without --reader-property parse.key=true" in said
    said, code = answer("kafka-console-producer", *words, "--property", "parse.key=true", lines="k:v\n")
    assert ("WARN" in said, code) == (False, 0)
