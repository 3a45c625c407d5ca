"""The command lines of the console producer and the console consumer, without a broker."""

import re
from pathlib import Path

import pytest

from gralha.cli import console_consumer, console_producer
from gralha.cli.message_formatter import LoggingMessageFormatter
from gralha.cli.program import CommandError

PRODUCER = ["--bootstrap-server", "b:1", "--topic", "t"]
CONSUMER = ["--bootstrap-server", "b:1", "--topic", "t"]


def producer_properties(*arguments: str) -> dict[str, str]:
    return console_producer.producer_properties(console_producer.parse_options([*PRODUCER, *arguments]))


def consumer_properties(*arguments: str) -> dict[str, str]:
    return console_consumer.consumer_properties(console_consumer.parse_options([*CONSUMER, *arguments]))


def test_the_broker_list_is_the_bootstrap_server() -> None:
    options = console_producer.parse_options(["--broker-list", "b:1,c:2", "--topic", "t"])
    assert console_producer.producer_properties(options)["bootstrap.servers"] == "b:1,c:2"


def test_single_options_win_over_properties_which_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=0\nlinger.ms=7\nclient.id=mine\n")
    for option in ("--producer.config", "--command-config"):
        properties = producer_properties(
            option, str(file), "--producer-property", "linger.ms=8", "--request-required-acks", "1"
        )
        assert (properties["acks"], properties["linger.ms"], properties["client.id"]) == ("1", "8", "mine")


def test_compression_without_a_value_is_gzip() -> None:
    assert producer_properties("--compression-codec")["compression.type"] == "gzip"
    assert producer_properties("--compression-codec", "zstd")["compression.type"] == "zstd"
    assert "compression.type" not in producer_properties()


def test_order_is_kept_without_idempotence() -> None:
    assert producer_properties()["max.in.flight.requests.per.connection"] == "1"
    idempotent = producer_properties("--command-property", "enable.idempotence=true")
    assert "max.in.flight.requests.per.connection" not in idempotent


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t"], 'Missing required argument "[bootstrap-server]"'),
        (["--bootstrap-server", "b:1"], 'Missing required argument "[topic]"'),
        ([*PRODUCER, "--line-reader", "com.example.Mine"], "Cannot load com.example.Mine"),
    ],
)
def test_wrong_calls_of_the_producer(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        console_producer.parse_options(arguments)


def test_reading_starts_at_the_end_unless_told_otherwise() -> None:
    assert consumer_properties()["auto.offset.reset"] == "latest"
    assert consumer_properties("--from-beginning")["auto.offset.reset"] == "earliest"
    assert (
        consumer_properties("--consumer-property", "auto.offset.reset=earliest")["auto.offset.reset"]
        == "earliest"
    )
    with pytest.raises(CommandError, match="Can't simultaneously specify --from-beginning"):
        consumer_properties("--from-beginning", "--command-property", "auto.offset.reset=latest")


def test_transactions_that_were_not_committed_are_shown_unless_told_otherwise() -> None:
    assert consumer_properties()["isolation.level"] == "read_uncommitted"
    assert consumer_properties("--isolation-level", "read_committed")["isolation.level"] == "read_committed"


def test_a_group_is_named_in_one_way_or_several_that_agree() -> None:
    assert consumer_properties("--group", "g")["group.id"] == "g"
    assert "enable.auto.commit" not in consumer_properties("--group", "g")
    assert consumer_properties("--group", "g", "--command-property", "group.id=g")["group.id"] == "g"
    with pytest.raises(CommandError, match=r"do not match\. Detected group ids: 'g', 'h'"):
        consumer_properties("--group", "g", "--command-property", "group.id=h")
    with pytest.raises(CommandError, match="Options group and partition cannot be specified together"):
        consumer_properties("--group", "g", "--partition", "0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--bootstrap-server", "b:1"],
            "Exactly one of the following arguments is required: [topic], [include]",
        ),
        ([*CONSUMER, "--include", "t.*"], "Exactly one of the following arguments is required"),
        ([*CONSUMER, "--offset", "1"], "The partition is required when offset is specified."),
        (
            ["--bootstrap-server", "b:1", "--include", "t", "--partition", "0"],
            "The topic is required when partition is specified.",
        ),
        (
            [*CONSUMER, "--partition", "0", "--offset", "1", "--from-beginning"],
            "Options from-beginning and offset cannot be specified together.",
        ),
        (["--topic", "t"], 'Missing required argument "[bootstrap-server]"'),
    ],
)
def test_wrong_calls_of_the_consumer(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        console_consumer.parse_options(arguments)


def test_a_group_without_a_name_gets_one_and_keeps_no_offsets() -> None:
    properties = consumer_properties()
    assert re.fullmatch(r"console-consumer-\d{1,5}", properties["group.id"])
    assert properties["enable.auto.commit"] == "false"
    assert (
        consumer_properties("--command-property", "enable.auto.commit=true")["enable.auto.commit"] == "true"
    )
    assert properties["partition.assignment.strategy"] == "cooperative-sticky"
    new = consumer_properties("--command-property", "group.protocol=consumer")
    assert "partition.assignment.strategy" not in new
    assert "group.id" not in consumer_properties("--partition", "0")


def start_offset(*arguments: str) -> int:
    return console_consumer.start_offset(
        console_consumer.parse_options([*CONSUMER, "--partition", "0", *arguments])
    )


@pytest.mark.parametrize(
    ("arguments", "offset"),
    [
        ([], -1),
        (["--from-beginning"], -2),
        (["--offset", "earliest"], -2),
        (["--offset", "LATEST"], -1),
        (["--offset", "0"], 0),
        (["--offset", "9000000000"], 9000000000),
    ],
)
def test_offsets(arguments: list[str], offset: int) -> None:
    assert start_offset(*arguments) == offset


@pytest.mark.parametrize("text", ["-1", "first", "1.5", ""])
def test_wrong_offsets(text: str) -> None:
    with pytest.raises(CommandError, match=f"The provided offset value '{text}' is incorrect"):
        start_offset("--offset", text)


def test_formatters() -> None:
    def formatter(*arguments: str) -> object:
        return console_consumer.make_formatter(console_consumer.parse_options([*CONSUMER, *arguments]))

    assert formatter() is not None
    assert formatter("--formatter", "org.apache.kafka.tools.consumer.NoOpMessageFormatter") is None
    logging = formatter("--formatter", "org.apache.kafka.tools.consumer.LoggingMessageFormatter")
    assert isinstance(logging, LoggingMessageFormatter)
    with pytest.raises(CommandError, match="Java classes do not run here"):
        formatter("--formatter", "com.example.Mine")
    with pytest.raises(CommandError, match="Unknown deserializer"):
        formatter("--key-deserializer", "com.example.Mine")
