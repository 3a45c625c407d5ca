"""kafka-verifiable-producer and kafka-verifiable-consumer: the same events as Apache Kafka's own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gralha.cli import verifiable_consumer, verifiable_producer
from gralha.cli.verifiable_events import StopSignal
from gralha.cli.verifiable_producer import exception_name
from tests.apache.kafka import run_tool

SCRIPTS = Path(sys.executable).parent
Events = list[dict[str, Any]]


def events(output: str) -> Events:
    """The events without what differs from run to run."""
    found = []
    for line in output.splitlines():
        event = json.loads(line)
        assert event.pop("timestamp") > 1_700_000_000_000
        if "avg_throughput" in event:
            event["avg_throughput"] = event["avg_throughput"] > 0
        found.append(event)
    return found


def without_offsets(found: Events) -> list[list[tuple[str, Any]]]:
    """The fields. Java has no fixed order of them. Different partitions may acknowledge in any order."""
    return sorted(sorted((key, value) for key, value in event.items() if key != "offset") for event in found)


@pytest.fixture
def topic(bootstrap: str, new_name: Callable[[str], str]) -> str:
    name = new_name("verifiable")
    create = [str(SCRIPTS / "kafka-topics"), "--bootstrap-server", bootstrap, "--create", "--topic", name]
    subprocess.run([*create, "--partitions", "3"], check=True, capture_output=True, timeout=30)
    return name


def ours(tool: str, *arguments: str) -> Events:
    done = subprocess.run(
        [str(SCRIPTS / tool), *arguments], check=True, capture_output=True, text=True, timeout=30
    )
    assert done.stderr == ""
    return events(done.stdout)


def test_the_producer_announces_what_apache_kafkas_does(bootstrap: str, topic: str) -> None:
    options = ["--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", "6"]
    options += ["--repeating-keys", "4", "--value-prefix", "7", "--message-create-time", "5000"]
    theirs = events(run_tool("kafka-verifiable-producer", *options).stdout)
    found = ours("kafka-verifiable-producer", *options)
    assert without_offsets(found) == without_offsets(theirs)
    assert [event["name"] for event in found[-2:]] == ["shutdown_complete", "tool_data"]
    successes = [event for event in found if event["name"] == "producer_send_success"]
    assert [list(event) for event in successes] == [
        ["name", "key", "value", "offset", "topic", "partition"] for _ in range(6)
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_consumer_announces_what_apache_kafkas_does(
    protocol: str, bootstrap: str, topic: str, new_name: Callable[[str], str]
) -> None:
    ours(
        "kafka-verifiable-producer", "--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", "6"
    )
    options = ["--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", "6", "--verbose"]
    options += ["--group-protocol", protocol]
    theirs = run_tool("kafka-verifiable-consumer", *options, "--group-id", new_name("theirs"))
    found = ours("kafka-verifiable-consumer", *options, "--group-id", new_name("ours"))
    assert summary(found) == summary(events(theirs.stdout))


def summary(found: Events) -> dict[str, Any]:
    """What happened, apart from how many polls it took and the order of the partitions."""
    records = [event for event in found if event["name"] == "record_data"]
    counted = [part for event in found if event["name"] == "records_consumed" for part in event["partitions"]]
    committed = [part for event in found if event["name"] == "offsets_committed" for part in event["offsets"]]
    return {
        "names": list(dict.fromkeys(event["name"] for event in found)),
        "fields": sorted({(event["name"], *event) for event in found}),
        "records": sorted((one["partition"], one["offset"], one["key"], one["value"]) for one in records),
        "counted": sorted(tuple(one) for one in counted)[0],
        "count": sum(one["count"] for one in counted),
        "committed": {one["partition"]: one["offset"] for one in committed},
        "rebalances": [event for event in found if event["name"].startswith("partitions_")],
    }


def test_signals_end_them_after_their_last_events(
    bootstrap: str, topic: str, new_name: Callable[[str], str]
) -> None:
    server = ["--bootstrap-server", bootstrap, "--topic", topic]
    consumer = ["kafka-verifiable-consumer", *server, "--group-id", new_name("stopped")]
    code, found = stopped(signal.SIGTERM, "partitions_assigned", *consumer)
    assert (code, found) == (
        143,
        [
            *("startup_complete", "partitions_assigned", "shutdown_requested", "partitions_revoked"),
            "shutdown_complete",
        ],
    )
    # At this rate the second record would be due in some hours.
    producer = ["kafka-verifiable-producer", *server, "--throughput", "0"]
    code, found = stopped(signal.SIGINT, "producer_send_success", *producer)
    assert (code, found) == (
        130,
        ["startup_complete", "producer_send_success", "shutdown_complete", "tool_data"],
    )


def stopped(number: signal.Signals, event: str, tool: str, *arguments: str) -> tuple[int, list[str]]:
    """Sends a signal after an event. Returns the exit code and the names of all events."""
    with subprocess.Popen([str(SCRIPTS / tool), *arguments], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        lines = []
        for line in command.stdout:
            lines.append(json.loads(line)["name"])
            if lines[-1] == event:
                command.send_signal(number)
        return command.wait(10), lines


def test_a_second_signal_ends_a_command_at_once() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        stop = StopSignal()
        assert not stop
        os.kill(os.getpid(), signal.SIGTERM)
        assert (bool(stop), stop.exit_code) == (True, 143)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop.exit_code == 143
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_record_that_is_refused(bootstrap: str) -> None:
    options = ["--bootstrap-server", bootstrap, "--topic", "bad topic", "--max-messages", "1"]
    _, failure, _, totals = ours("kafka-verifiable-producer", *options)
    assert list(failure) == ["name", "topic", "key", "value", "exception", "message"]
    assert failure["exception"] == "class org.apache.kafka.common.errors.InvalidTopicException"
    assert (totals["sent"], totals["acked"]) == (1, 0)


def test_a_consumer_without_an_offset_says_so_and_ends_with_zero(
    bootstrap: str, topic: str, new_name: Callable[[str], str]
) -> None:
    options = ["--bootstrap-server", bootstrap, "--topic", topic, "--reset-policy", "none"]
    line = [str(SCRIPTS / "kafka-verifiable-consumer"), *options, "--group-id", new_name("none")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert done.stderr.startswith("Error during processing, terminating consumer process: ")
    assert [event["name"] for event in events(done.stdout)][-2:] == [
        "shutdown_complete",
        "shutdown_requested",
    ]


def test_exceptions_have_the_names_of_the_java_client() -> None:
    assert exception_name(19) == "org.apache.kafka.common.errors.NotEnoughReplicasException"
    assert exception_name(12345) == "org.apache.kafka.common.KafkaException"


def parsed_producer(*arguments: str) -> dict[str, str]:
    options = ["--bootstrap-server", "b:1", "--topic", "t", *arguments]
    return verifiable_producer.producer_properties(verifiable_producer._parser().parse_args(options))


def parsed_consumer(*arguments: str) -> dict[str, str]:
    options = ["--bootstrap-server", "b:1", "--topic", "t", "--group-id", "g", *arguments]
    return verifiable_consumer.consumer_properties(verifiable_consumer._parser().parse_args(options))


def test_the_file_overrides_the_producers_options_and_not_the_consumers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("acks=1\nauto.offset.reset=latest\nclient.id=mine\n")
    assert parsed_producer("--acks", "0")["acks"] == "0"
    assert parsed_producer("--acks", "0", "--command-config", str(path))["acks"] == "1"
    consumer = parsed_consumer("--command-config", str(path))
    assert (consumer["auto.offset.reset"], consumer["client.id"]) == ("earliest", "mine")
    assert capsys.readouterr().out == ""
    assert parsed_producer("--producer.config", str(path))["client.id"] == "mine"
    assert parsed_consumer("--consumer.config", str(path))["client.id"] == "mine"
    assert capsys.readouterr().out.count("has been deprecated and will be removed") == 2


def test_each_group_protocol_has_its_own_assignor() -> None:
    both = ["--assignment-strategy", "RoundRobinAssignor", "--group-remote-assignor", "uniform"]
    classic = parsed_consumer(*both, "--session-timeout", "9000", "--group-instance-id", "i")
    assert classic["partition.assignment.strategy"] == "RoundRobinAssignor"
    assert (classic["session.timeout.ms"], classic["group.instance.id"]) == ("9000", "i")
    assert "group.remote.assignor" not in classic
    consumer = parsed_consumer(*both, "--group-protocol", "CONSUMER")
    assert (consumer["group.protocol"], consumer["group.remote.assignor"]) == ("consumer", "uniform")
    assert "partition.assignment.strategy" not in consumer


def test_wrong_calls(capsys: pytest.CaptureFixture[str]) -> None:
    assert verifiable_consumer.main([]) == verifiable_producer.main([]) == 0
    assert capsys.readouterr().out.count("\n  --bootstrap-server") == 2
    assert verifiable_producer.main(["--topic", "t"]) == 1
    assert "arguments are required: --bootstrap-server" in capsys.readouterr().err
    both = ["--command-config", "a", "--producer.config", "b"]
    assert verifiable_producer.main(["--bootstrap-server", "b", "--topic", "t", *both]) == 1
    assert "--producer.config: not allowed with argument --command-config" in capsys.readouterr().err
