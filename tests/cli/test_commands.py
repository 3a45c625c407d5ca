"""Kafka's commands against a running broker: what they print, and how they end."""

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.commands import Outcome, Run, written
from tests.client.live import eventually


@pytest.fixture
def topic(run: Run, new_name: Callable[[str], str]) -> str:
    """A topic with two partitions."""
    name = new_name("cli")
    assert run("topics", "--create", "--topic", name, "--partitions", "2").code == 0
    assert eventually(lambda: run("topics", "--describe", "--topic", name).out.count("\n") == 3)
    return name


def test_a_topic_from_its_creation_to_its_end(run: Run, new_name: Callable[[str], str]) -> None:
    name = new_name("cli")
    created = run(
        "topics", "--create", "--topic", name, "--partitions", "3", "--config", "retention.ms=100000"
    )
    assert created == Outcome(0, f"Created topic {name}.\n", "")
    assert eventually(lambda: name in run("topics", "--list").out.splitlines())
    assert run("topics", "--alter", "--topic", name, "--partitions", "4") == Outcome(0, "", "")
    assert eventually(lambda: run("topics", "--describe", "--topic", name).out.count("Partition: ") == 4)
    assert run("topics", "--delete", "--topic", name) == Outcome(0, "", "")
    assert eventually(lambda: run("topics", "--list", "--topic", name).out == "\n")


def test_a_topic_is_described_in_kafkas_words(run: Run, new_name: Callable[[str], str]) -> None:
    name = new_name("cli")
    run("topics", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=100000")
    assert eventually(lambda: run("topics", "--describe", "--topic", name).out.count("\n") == 3)
    first, *partitions = run("topics", "--describe", "--topic", name).out.splitlines()
    columns = first.split("\t")
    assert columns[0] == f"Topic: {name}"
    assert len(columns[1].removeprefix("TopicId: ")) == 22
    assert columns[2:4] == ["PartitionCount: 2", "ReplicationFactor: 1"]
    assert "retention.ms=100000" in columns[4].removeprefix("Configs: ").split(",")
    for number, line in enumerate(partitions):
        columns = line.split("\t")
        assert columns[:3] == ["", f"Topic: {name}", f"Partition: {number}"]
        leader = columns[3].removeprefix("Leader: ")
        assert columns[4:6] == [f"Replicas: {leader}", f"Isr: {leader}"]
        assert [column.split(":")[0] for column in columns[6:]] == ["Elr", "LastKnownElr"]


def test_topics_are_described_by_id_and_by_what_is_wrong_with_them(run: Run, topic: str) -> None:
    by_name = run("topics", "--describe", "--topic", topic).out
    topic_id = by_name.split("TopicId: ")[1].split("\t")[0]
    assert run("topics", "--describe", "--topic-id", topic_id).out.splitlines()[0] == by_name.splitlines()[0]
    for report in ("under-replicated-partitions", "unavailable-partitions", "under-min-isr-partitions"):
        assert run("topics", "--describe", "--topic", topic, f"--{report}") == Outcome(0, "", "")
    assert run("topics", "--describe", "--topic", topic, "--at-min-isr-partitions").out.count("\n") == 2


INVALID_NAME = (
    "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', "
    "'_' and '-'"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--create", "--topic", "{topic}"], "Topic '{topic}' already exists."),
        (["--delete", "--topic", "{topic}-x"], "Topic '{topic}-x' does not exist as expected"),
        (["--describe", "--topic", "{topic}-x"], "Topic '{topic}-x' does not exist as expected"),
        (
            ["--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAg"],
            "TopicId 'AAAAAAAAAAAAAAAAAAAAAg' does not exist as expected",
        ),
        (
            ["--alter", "--topic", "{topic}", "--partitions", "1"],
            "The topic {topic} currently has 2 partition(s); 1 would not be an increase.",
        ),
        (["--create", "--topic", "t-t", "--config", "no.such=1"], "Unknown topic config name: no.such"),
        (
            ["--create", "--topic", "a b"],
            INVALID_NAME,
        ),
    ],
)
def test_failures_of_the_topic_command(run: Run, topic: str, arguments: list[str], message: str) -> None:
    outcome = run("topics", *(argument.format(topic=topic) for argument in arguments))
    prefix = "Error while executing topic command : "
    # The topic's own name is like the wrong one.
    guess = f". Did you mean '{topic}'?" if "as expected" in message and "TopicId" not in message else ""
    assert outcome == Outcome(1, "", f"{prefix}{message.format(topic=topic)}{guess}\n")


def test_conditions_make_failures_quiet(run: Run, topic: str) -> None:
    assert run("topics", "--create", "--topic", topic, "--if-not-exists") == Outcome(0, "", "")
    for action in (["--delete"], ["--describe"], ["--alter", "--partitions", "9"]):
        assert run("topics", *action, "--topic", f"{topic}-x", "--if-exists") == Outcome(0, "", "")


def test_names_that_could_collide_are_warned_about(run: Run, new_name: Callable[[str], str]) -> None:
    name = new_name("cli.x_")
    outcome = run("topics", "--create", "--topic", name)
    assert outcome.out.startswith("WARNING: Due to limitations in metric names, topics with a period ('.')")
    assert outcome.out.endswith(f"\nCreated topic {name}.\n")
    run("topics", "--delete", "--topic", name)


def test_settings_of_a_topic(run: Run, topic: str) -> None:
    add = ["--add-config", "segment.bytes=2097152,cleanup.policy=[compact,delete]"]
    assert (
        run("configs", "--alter", "--topic", topic, *add).out
        == f"Completed updating config for topic {topic}.\n"
    )
    expected = (
        f"Dynamic configs for topic {topic} are:\n"
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy="
        "compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  segment.bytes=2097152 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=2097152, "
        "DEFAULT_CONFIG:log.segment.bytes=1073741824}\n"
    )
    assert eventually(lambda: run("configs", "--describe", "--topic", topic).out == expected)
    run(
        "configs",
        "--alter",
        "--entity-type",
        "topics",
        "--entity-name",
        topic,
        "--delete-config",
        "segment.bytes",
    )
    assert eventually(lambda: "segment" not in run("configs", "--describe", "--topic", topic).out)
    assert run("topics", "--describe", "--topics-with-overrides", "--topic", topic).out.count("\n") == 1


def test_all_settings_and_missing_entities(run: Run, topic: str) -> None:
    everything = run("configs", "--describe", "--topic", topic, "--all").out.splitlines()
    assert everything[0] == f"All configs for topic {topic} are:"
    assert len(everything) > 30
    assert everything[1:] == sorted(everything[1:])
    missing = run("configs", "--describe", "--topic", "no-such-topic")
    assert missing.out == "The topic 'no-such-topic' doesn't exist and doesn't have dynamic config.\n"
    assert run("configs", "--describe", "--broker", "4711").out.startswith("The broker '4711' doesn't exist")


def test_failures_of_the_config_command(run: Run, topic: str) -> None:
    outcome = run("configs", "--alter", "--topic", topic, "--add-config", "no.such=1")
    assert outcome.code == 1
    assert outcome.err.startswith("Error while executing config command with args '--bootstrap-server ")
    assert outcome.err.endswith("' : Unknown topic config name: no.such\n")


def test_settings_of_brokers(run: Run) -> None:
    assert (
        "Default configs for brokers in the cluster are:"
        in run("configs", "--describe", "--broker-defaults").out
    )
    everything = run("configs", "--describe", "--entity-type", "brokers", "--all").out
    assert "  log.dirs=" in everything
    assert "STATIC_BROKER_CONFIG:log.dirs=" in everything


def test_offsets_log_folders_and_the_deletion_of_records(
    run: Run, topic: str, bootstrap: str, tmp_path: Path
) -> None:
    test = ["--topic", topic, "--num-records", "50", "--record-size", "100", "--throughput", "-1"]
    assert run("producer_perf_test", *test).code == 0
    lines = run("get-offsets", "--topic", topic).out.splitlines()
    ends = [int(line.rpartition(":")[2]) for line in lines]
    assert [line.rpartition(":")[0] for line in lines] == [f"{topic}:0", f"{topic}:1"]
    assert sum(ends) == 50
    fuller = ends.index(max(ends))

    file = tmp_path / "offsets.json"
    entry = {"topic": topic, "partition": fuller, "offset": 5}
    file.write_text(json.dumps({"partitions": [entry], "version": 1}))
    deleted = run("delete-records", "--offset-json-file", str(file))
    assert deleted.out == (
        "Executing records delete operation\nRecords delete operation completed:\n"
        f"partition: {topic}-{fuller}\tlow_watermark: 5\n"
    )
    rule = f"{topic}:{fuller}"
    assert run("get-offsets", "--topic-partitions", rule, "--time", "earliest").out == f"{rule}:5\n"

    described = run("log-dirs", "--describe", "--topic-list", topic).out.splitlines()
    assert described[0] == "Querying brokers for log directories information"
    assert described[1].startswith("Received log directory information from brokers ")
    (broker,) = json.loads(described[2])["brokers"]
    sizes = {entry["partition"]: entry["size"] for entry in broker["logDirs"][0]["partitions"]}
    assert set(sizes) == {f"{topic}-0", f"{topic}-1"}
    assert sum(sizes.values()) > 50 * 100


def test_offsets_that_nobody_asked_for(run: Run) -> None:
    outcome = run("get-offsets", "--topic", "no-such-topic")
    message = "Error occurred: Could not match any topic-partitions with the specified filters\n"
    assert outcome == Outcome(1, "", message)


def test_versions_of_the_brokers(run: Run, bootstrap: str) -> None:
    lines = run("broker-api-versions").out.splitlines()
    assert lines[0].startswith(f"{bootstrap} (id: ")
    assert lines[0].endswith(" rack: null isFenced: false) -> (")
    assert any(line.startswith("\tMetadata(3): 0 to 13 [usable: 13]") for line in lines)
    assert lines[-1] == ")"


def test_a_performance_test_with_records_that_are_too_large(run: Run, topic: str) -> None:
    produced = run(
        *["producer_perf_test", "--topic", topic, "--num-records", "3", "--record-size", "2000000"],
        *["--throughput", "-1"],
    )
    assert produced.code == 1
    assert produced.err == (
        "A record is larger than max.request.size=1048576. Write smaller records, or raise the limit with "
        "--command-property max.request.size=N\n"
    )


def test_both_performance_tests(run: Run, topic: str) -> None:
    produced = run(
        "producer_perf_test",
        *["--topic", topic, "--num-records", "300", "--payload-monotonic", "--throughput", "-1"],
        *["--warmup-records", "100"],
    )
    warmup, total, steady = produced.out.splitlines()
    assert warmup.startswith("Warmup first 100 records.")
    assert total.startswith("300 records sent, ")
    assert steady.startswith("200 steady state records sent, ")
    consumed = run("consumer_perf_test", "--topic", topic, "--num-records", "300", "--timeout", "10000")
    header, numbers = consumed.out.splitlines()
    assert header.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg")
    assert numbers.split(", ")[4] == "300"
    member = run(
        "consumer_perf_test", "--topic", topic, "--messages", "300", "--group", topic, "--hide-header"
    )
    assert member.out.split(", ")[4] == "300"
    few = run(
        "consumer_perf_test", "--topic", topic, "--messages", "301", "--timeout", "200", "--hide-header"
    )
    assert few.out.startswith(
        "WARNING: Exiting before consuming the expected number of records: timeout (200 ms)"
    )


def test_the_performance_tests_print_the_metrics_of_their_client(run: Run, topic: str) -> None:
    produced = run(
        "producer_perf_test",
        *["--topic", topic, "--num-records", "40", "--record-size", "10", "--throughput", "400"],
        *[
            "--print-metrics",
            "--producer-props",
            "compression.type=lz4",
            "acks=1",
            "linger.ms=0",
            "batch.size=200",
        ],
    )
    assert produced.code == 0
    sent = r"^producer-metrics:record-send-total:\{client-id=perf-producer-client\} +: 40\.000$"
    assert re.search(sent, produced.out, re.MULTILINE)
    consumed = run("consumer_perf_test", "--include", topic, "--num-records", "40", "--print-metrics")
    read = r"-metrics:bytes-consumed-total:\{client-id=perf-consumer-client\} +: 400\.000$"
    assert re.search(read, consumed.out, re.MULTILINE)


def test_a_wrong_property_of_a_performance_test_is_one_line(run: Run, topic: str) -> None:
    produced = run(
        "producer_perf_test",
        *["--topic", topic, "--num-records", "1", "--record-size", "1", "--throughput", "-1"],
        *["--producer-props", "acks=2"],
    )
    assert (produced.code, produced.err) == (1, "acks=2 is not allowed: use all (or -1), 1 or 0.\n")


def test_a_performance_test_of_a_topic_that_does_not_exist(run: Run, new_name: Callable[[str], str]) -> None:
    name = new_name("cli-never")
    consumed = run(
        *["consumer_perf_test", "--topic", name, "--num-records", "1", "--timeout", "200", "--hide-header"],
        *["--command-property", "allow.auto.create.topics=false"],
    )
    warning, numbers = consumed.out.splitlines()
    assert warning.startswith("WARNING: Exiting before consuming the expected number of records")
    assert numbers.split(", ")[4] == "0"
    assert consumed.code == 0
    assert consumed.err.startswith(f"Topic '{name}' does not exist, and the broker has not created it.")


def test_admin_commands_refuse_kerberos_with_one_line(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SASL_SSL\n")
    listed = run("topics", "--list", "--command-config", str(file))
    assert listed.code == 1
    assert listed.err.count("\n") == 1
    assert "sasl.mechanism=GSSAPI is not supported: use PLAIN, SCRAM-SHA-256" in listed.err


def test_admin_commands_say_that_a_port_has_no_tls(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n")
    listed = run("topics", "--list", "--command-config", str(file))
    assert listed.code == 1
    assert listed.err.count("\n") == 1
    assert "does not use TLS. Check the port and security.protocol." in listed.err


COMMANDS = (
    ("topics", "--list"),
    ("configs", "--describe", "--topic", "t"),
    ("get-offsets",),
    ("log-dirs", "--describe"),
    ("broker-api-versions",),
    ("consumer-groups", "--list"),
    ("console-consumer", "--topic", "t"),
    ("producer-perf-test", "--topic", "t", "--num-records", "1", "--record-size", "1", "--throughput", "1"),
    ("consumer-perf-test", "--topic", "t", "--num-records", "1", "--hide-header"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_without_a_broker_one_line_names_the_address(
    command: tuple[str, ...], unused_tcp_port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    module = import_module(f"gralha.cli.{command[0].replace('-', '_')}")
    address = f"127.0.0.1:{unused_tcp_port}"
    assert module.main(["--bootstrap-server", address, *command[1:]]) == 1
    output = written(capfd)
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert f"No broker listens on {address}. Start one with `gralha up`" in output.err
