"""kafka-console-producer: writes lines of standard input to a topic."""

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import DEFAULT_TOPIC_WAIT_MS
from gralha.cli.line_reader import PROPERTIES, LineReader, LineRecord
from gralha.cli.program import EXIT_FAILED, CommandError, run, stop_on_terminate
from gralha.cli.properties import is_true, load_properties, parse_assignments, warn_of_misspelt

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_LINE_READERS = ("org.apache.kafka.tools.LineMessageReader", "kafka.tools.ConsoleProducer$LineMessageReader")
# Kafka waits a second for more lines. A person who types wants to see the line arrive.
_LINGER_MS = "5"
_READER_HELP = (
    "properties of the line reader: parse.key, key.separator (tab), parse.headers, headers.delimiter (tab), "
    "headers.separator (,), headers.key.separator (:), ignore.error, null.marker"
)


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-console-producer",
        "Writes each line of standard input as a record to a topic.",
        [
            "--bootstrap-server localhost:9092 --topic orders",
            "--bootstrap-server localhost:9092 --topic orders --reader-property parse.key=true < orders.tsv",
        ],
    )
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("broker-list", "old name of --bootstrap-server", metavar="HOST:PORT,...")
    parser.value("topic", "REQUIRED: the topic to write to", metavar="TOPIC")
    parser.flag("sync", "wait for each record's acknowledgement before the next one is sent")
    parser.value(
        "compression-codec",
        "none, gzip, snappy, lz4 or zstd; gzip if no value is given (default: none)",
        metavar="CODEC",
        nargs="?",
        const="gzip",
    )
    parser.value(
        "batch-size", "most bytes in one batch (batch.size; default: 1000000)", kind=int, metavar="BYTES"
    )
    parser.value("max-partition-memory-bytes", "old name of --batch-size", kind=int, metavar="BYTES")
    parser.value("message-send-max-retries", "how often a record is sent again (default: 3)", kind=int)
    parser.value(
        "retry-backoff-ms", "wait before a record is sent again (default: 100)", kind=int, metavar="MS"
    )
    parser.value(
        "timeout",
        f"how long a record waits for others in its batch (default: {_LINGER_MS})",
        kind=int,
        metavar="MS",
    )
    parser.value("request-required-acks", "0, 1, -1 or all: the acknowledgements to wait for (default: -1)")
    _add_limits(parser)
    parser.value("line-reader", "accepted for Kafka's own LineMessageReader only", metavar="CLASS")
    parser.values("reader-property", "property", help_text=_READER_HELP)
    parser.value("reader-config", "a file with properties of the line reader", metavar="FILE")
    parser.values("command-property", "producer-property", help_text="properties of the producer")
    parser.value("command-config", "a file with properties of the producer", metavar="FILE")
    parser.value("producer.config", "old name of --command-config", metavar="FILE", dest="command_config")
    return parser


def _add_limits(parser: CommandParser) -> None:
    for name, help_text, metavar in (
        ("request-timeout-ms", "how long to wait for an acknowledgement (default: 30000)", "MS"),
        ("metadata-expiry-ms", "how often to ask for metadata again (default: 900000)", "MS"),
        (
            "max-block-ms",
            f"how long to wait for a topic to appear (default: {DEFAULT_TOPIC_WAIT_MS})",
            "MS",
        ),
        ("max-memory-bytes", "most bytes that wait to be sent (default: 1073741824)", "BYTES"),
        ("socket-buffer-size", "the socket's send buffer (default: the system's)", "BYTES"),
    ):
        parser.value(name, help_text, kind=int, metavar=metavar)


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    reader = LineReader(_reader_properties(options))
    properties = producer_properties(options)
    from gralha.cli.connect import wait_for_topic

    stop_on_terminate()
    producer = make_producer(properties)
    wait_for_topic(producer, options.topic, options.max_block_ms)
    sender = _Sender(producer, options.topic, sync=options.sync)
    try:
        for record in _records(reader):
            sender.send(record)
    finally:
        sender.flush()
    return EXIT_FAILED if sender.failed else 0


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    options.bootstrap_server = options.bootstrap_server or options.broker_list
    parser.require(options, "topic", "bootstrap-server")
    if options.line_reader is not None and options.line_reader not in _LINE_READERS:
        raise CommandError(f"Cannot load {options.line_reader}: Java classes do not run here")
    return options


def _reader_properties(options: Namespace) -> dict[str, str]:
    properties = load_properties(options.reader_config) if options.reader_config else {}
    properties |= parse_assignments(options.reader_property)
    warn_of_misspelt(properties, PROPERTIES)
    if "key.separator" in properties and not is_true(properties.get("parse.key", "")):
        print(
            "WARN key.separator has no effect without --reader-property parse.key=true: "
            "each line is a value without a key.",
            file=sys.stderr,
        )
    return properties


def producer_properties(options: Namespace) -> dict[str, str]:
    """The producer's properties with Kafka's names: file, then --command-property, then single options."""
    properties = load_properties(options.command_config) if options.command_config else {}
    properties |= parse_assignments(options.command_property)
    properties["bootstrap.servers"] = options.bootstrap_server
    defaults = {
        "client.id": "console-producer",
        "linger.ms": _LINGER_MS,
        "acks": "-1",
        "retries": "3",
        "delivery.timeout.ms": "120000",
        # Without idempotence the next batch could overtake one that is sent again.
        "max.in.flight.requests.per.connection": "1",
    }
    if properties.get("enable.idempotence", "").lower() == "true":
        del defaults["max.in.flight.requests.per.connection"], defaults["retries"]
    given = {
        "compression.type": options.compression_codec,
        "linger.ms": options.timeout,
        "acks": options.request_required_acks,
        "request.timeout.ms": options.request_timeout_ms,
        "retries": options.message_send_max_retries,
        "retry.backoff.ms": options.retry_backoff_ms,
        "send.buffer.bytes": options.socket_buffer_size,
        "buffer.memory": options.max_memory_bytes,
        "batch.size": options.max_partition_memory_bytes or options.batch_size,
        "metadata.max.age.ms": options.metadata_expiry_ms,
    }
    return defaults | properties | {name: str(value) for name, value in given.items() if value is not None}


def _records(reader: LineReader) -> Iterator[LineRecord]:
    """The records from standard input, with Kafka's prompt on a terminal."""
    prompt = sys.stdin.isatty() and sys.stdout.isatty()
    lines = sys.stdin.buffer
    while True:
        if prompt:
            sys.stdout.write(">")
            sys.stdout.flush()
        line = lines.readline()
        if not line:
            return
        yield reader.parse(_without_line_break(line).decode("utf-8", "surrogateescape"))


def _without_line_break(line: bytes) -> bytes:
    if line.endswith(b"\r\n"):
        return line[:-2]
    return line.removesuffix(b"\n")


class _Sender:
    """Sends records and reports those that could not be delivered."""

    def __init__(self, producer: "Producer", topic: str, *, sync: bool) -> None:
        self.failed = False
        self._producer = producer
        self._topic = topic
        self._sync = sync

    def send(self, record: LineRecord) -> None:
        from confluent_kafka import KafkaException

        from gralha.cli.librdkafka import served

        while True:
            try:
                self._producer.produce(
                    self._topic,
                    value=record.value,
                    key=record.key,
                    headers=list(record.headers) or None,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                served(self._producer.poll, 0.1)
            except KafkaException as error:
                # librdkafka refuses some records at once, for example one that is too large.
                self._report(error.args[0], record.key, record.value)
                break
        if self._sync:
            self.flush()
        else:
            served(self._producer.poll, 0)

    def flush(self) -> None:
        from gralha.cli.librdkafka import served

        served(self._producer.flush)

    def _delivered(self, error: "KafkaError | None", message: "Message") -> None:
        if error is not None:
            self._report(error, message.key(), message.value())

    def _report(self, error: "KafkaError", key: bytes | str | None, value: bytes | str | None) -> None:
        from gralha.cli.librdkafka import reason_of

        self.failed = True
        print(
            f"Error when sending message to topic {self._topic} with key: {_size(key)}, value: "
            f"{_size(value)} with error: {reason_of(error)}",
            file=sys.stderr,
        )


def make_producer(properties: dict[str, str]) -> "Producer":
    """A producer with the Java client's partitioner. Fails at once if no broker listens."""
    from gralha.cli.connect import check_reachable

    check_reachable(properties)
    return new_producer(properties)


def new_producer(properties: dict[str, str]) -> "Producer":
    """A producer that waits for brokers that do not run yet."""
    from confluent_kafka import Producer

    from gralha.cli.librdkafka import create, quiet_settings, to_librdkafka

    settings: dict[str, Any] = {"partitioner": "murmur2_random", **quiet_settings()}
    return create(Producer, settings | to_librdkafka(properties))


def _size(data: bytes | str | None) -> str:
    return "null" if data is None else f"{len(data)} bytes"
