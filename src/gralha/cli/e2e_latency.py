"""kafka-e2e-latency: measures how long a record takes from the producer to the consumer.

Options and output are the same as in Apache Kafka. The command sends one record, waits until it has been
acknowledged and consumed, and then sends the next one.
"""

import random
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import open_admin, topics_of, wait_for_topic
from gralha.cli.program import CommandError, run
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, Producer

_TIMEOUT_MS: Final = 60_000
_PROGRESS_INTERVAL: Final = 1000
_NAMED: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
_POSITIONAL: Final = (*_NAMED, "command-config")
_NULL_HEADER: Final = -1


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-e2e-latency",
        "Measures how long a record takes from a producer to a consumer.",
        ["--bootstrap-server localhost:9092 --topic t --num-records 99 --producer-acks all --record-size 9"],
    )
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("topic", "REQUIRED: the topic to use; it is created if it does not exist", metavar="TOPIC")
    parser.value("num-records", "REQUIRED: how many records to send", kind=int, metavar="N")
    parser.value("producer-acks", "REQUIRED: acks of the producer: 1 or all", metavar="ACKS")
    parser.value("record-size", "REQUIRED: bytes in a record's value", kind=int, metavar="BYTES")
    parser.value("record-key-size", "bytes in a key; 0: no key (default)", kind=int, default=0)
    parser.value("num-headers", "headers in each record (default: 0)", kind=int, default=0)
    parser.value("record-header-key-size", "bytes in a header's name (default: 0)", kind=int, default=0)
    parser.value(
        "record-header-size", "bytes in a header's value; -1: null (default: 0)", kind=int, default=0
    )
    parser.value("command-config", "a file with properties of all clients", metavar="FILE")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    properties = load_properties(options.command_config) if options.command_config else {}
    properties["bootstrap.servers"] = options.bootstrap_server
    from gralha.cli.console_producer import make_producer
    from gralha.cli.consumption import make_consumer

    producer = make_producer({**properties, "linger.ms": "0", "acks": options.producer_acks})
    with closing(make_consumer({**properties, "fetch.max.wait.ms": "0"})) as consumer:
        if options.topic not in topics_of(producer, None):
            _create_topic(options)
        wait_for_topic(producer, options.topic)
        _assign(consumer, options.topic)
        latencies_ns = list(_latencies(producer, consumer, options))
    print("\n".join(summary_lines(latencies_ns)))
    return 0


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(_with_names(arguments), *_NAMED)
    if options.producer_acks not in ("1", "all"):
        parser.error(
            "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. Please "
            "use '1' or 'all'."
        )
    if options.num_records <= 0:
        parser.error("Value for --num-records must be a positive integer.")
    for name in ("record-size", "record-key-size", "record-header-key-size", "num-headers"):
        if getattr(options, name.replace("-", "_")) < 0:
            parser.error(f"Value for --{name} must be a non-negative integer.")
    if options.record_header_size < _NULL_HEADER:
        parser.error(
            "Value for --record-header-size must be a non-negative integer or -1 for null header value."
        )
    return options


def _with_names(arguments: list[str]) -> list[str]:
    """The arguments with the names of options. Before Kafka 4.2 they had none."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        return arguments
    if len(arguments) not in (len(_NAMED), len(_POSITIONAL)):
        raise CommandError(
            "Invalid number of arguments. Expected 5 or 6 positional arguments, but got "
            f"{len(arguments)}. Usage: {' '.join(_NAMED)} [optional] command-config"
        )
    print(
        "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please "
        f"use named arguments instead: {', '.join(f'--{name}' for name in _POSITIONAL)}"
    )
    pairs = zip(_POSITIONAL, arguments, strict=False)
    return [part for name, value in pairs for part in (f"--{name}", value)]


def _create_topic(options: Namespace) -> None:
    from gralha.client.values import NewTopic

    print(
        f'Topic "{options.topic}" does not exist. Will create topic with 1 partition(s) and replication '
        "factor = 1"
    )
    with open_admin(options, "e2e-latency") as admin:
        admin.create_topics([NewTopic(options.topic, partitions=1, replication_factor=1)])


def _assign(consumer: "Consumer", topic: str) -> None:
    """Reads all partitions from their ends. The ends are looked up now, before the first record is sent."""
    from confluent_kafka import TopicPartition

    partitions = [TopicPartition(topic, number) for number in topics_of(consumer, topic)[topic].partitions]
    for partition in partitions:
        _, partition.offset = consumer.get_watermark_offsets(partition, timeout=_TIMEOUT_MS / 1000)
    consumer.assign(partitions)


class SentRecord(NamedTuple):
    """The contents of one record."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes | None]]


def make_record(options: Namespace, generator: random.Random) -> SentRecord:
    """A record of the chosen sizes. Each part repeats a random capital letter."""

    def letters(size_bytes: int) -> bytes:
        return bytes([generator.randrange(ord("A"), ord("Z") + 1)]) * size_bytes

    headers = [
        (
            letters(options.record_header_key_size).decode(),
            None if options.record_header_size == _NULL_HEADER else letters(options.record_header_size),
        )
        for _ in range(options.num_headers)
    ]
    key = letters(options.record_key_size) if options.record_key_size else None
    return SentRecord(key, letters(options.record_size), headers)


def _latencies(producer: "Producer", consumer: "Consumer", options: Namespace) -> Iterator[int]:
    """Yields the time that each record took, in nanoseconds, and shows some of them."""
    generator = random.Random(0)
    for number in range(options.num_records):
        record = make_record(options, generator)
        started_ns = time.perf_counter_ns()
        _send(producer, options.topic, record)
        received = _receive(consumer)
        elapsed_ns = time.perf_counter_ns() - started_ns
        check(record, [_received(message) for message in received])
        if number % _PROGRESS_INTERVAL == 0:
            print(f"{number}\t{elapsed_ns / 1000.0 / 1000.0}", flush=True)
        yield elapsed_ns


def _send(producer: "Producer", topic: str, record: SentRecord) -> None:
    from confluent_kafka import KafkaException

    from gralha.cli.librdkafka import reason_of, served

    failures: list[KafkaError] = []

    def delivered(error: "KafkaError | None", _message: "Message") -> None:
        if error is not None:
            failures.append(error)

    try:
        producer.produce(
            topic, record.value, record.key, headers=list(record.headers) or None, on_delivery=delivered
        )
    except KafkaException as failure:
        failures.append(failure.args[0])
    served(producer.flush)
    if failures:
        raise CommandError(f"A record could not be delivered: {reason_of(failures[0])}")


def _receive(consumer: "Consumer") -> "list[Message]":
    """The next message, and all that have come with it."""
    from gralha.cli.librdkafka import reason_of, served

    first = served(consumer.poll, _TIMEOUT_MS / 1000)
    if first is None:
        raise CommandError(f"poll() timed out before finding a result (timeout:[{_TIMEOUT_MS}ms])")
    error = first.error()
    if error is not None:
        raise CommandError(f"The topic cannot be read: {reason_of(error)}")
    return [first, *served(consumer.consume, _PROGRESS_INTERVAL, 0)]


def _received(message: "Message") -> SentRecord:
    headers: Any = message.headers() or []
    return SentRecord(message.key() or None, message.value() or b"", list(headers))


def check(sent: SentRecord, received: list[SentRecord]) -> None:
    """Fails unless exactly the record that was sent has come back."""
    first = received[0]
    for part in ("value", "key"):
        if getattr(first, part) != getattr(sent, part):
            raise CommandError(
                f"The message {part} read [{_text(getattr(first, part))}] did not match the message {part} "
                f"sent [{_text(getattr(sent, part))}]"
            )
    if first.headers != sent.headers:
        raise CommandError("The message headers read did not match the message headers sent")
    if len(received) != 1:
        raise CommandError(f"Only one result was expected during this test. We found [{len(received)}]")


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode("utf-8", "replace")


def summary_lines(latencies_ns: list[int]) -> list[str]:
    """The average and the percentiles. Percentiles are whole milliseconds, as in Kafka."""
    count = len(latencies_ns)
    ordered_ms = sorted(latency // 1_000_000 for latency in latencies_ns)
    median, high, highest = (ordered_ms[int(count * share)] for share in (0.5, 0.99, 0.999))
    return [
        f"Avg latency: {sum(latencies_ns) / count / 1_000_000:.4f} ms",
        f"Percentiles: 50th = {median}, 99th = {high}, 99.9th = {highest}",
    ]
