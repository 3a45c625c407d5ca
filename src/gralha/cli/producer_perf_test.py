"""kafka-producer-perf-test: measures how fast records are written, and the latency of each.

The record loop and the statistics follow Kafka's ProducerPerformance. The output is the same, so that scripts
which read it keep working.
"""

import os
import random
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser, positive_int
from gralha.cli.perf_statistics import ProducerStatistics, Throttle
from gralha.cli.program import EXIT_FAILED, CommandError, run
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_DEFAULT_TRANSACTION_MS = 3000
_PAYLOAD_POOL = 1024
_CAPITALS = bytes(range(65, 91))


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-producer-perf-test",
        "This tool is used to verify the producer performance.",
        [
            (
                "--bootstrap-server localhost:9092 --topic orders --num-records 1000000 --record-size 100 "
                "--throughput -1"
            ),
        ],
    )
    parser.value("bootstrap-server", "the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("topic", "REQUIRED: the topic to write to", metavar="TOPIC")
    parser.value("num-records", "REQUIRED: how many records to write", kind=positive_int, metavar="N")
    parser.value("record-size", "bytes in a record's value", kind=positive_int, metavar="BYTES")
    parser.value("payload-file", "a text file with one value in each line; chosen at random", metavar="FILE")
    parser.flag("payload-monotonic", "values are the numbers 0, 1, 2, ...")
    parser.value("payload-delimiter", "the separator of values in --payload-file (default: a line break)")
    parser.value("throughput", "REQUIRED: records per second; -1 for no limit", kind=float, metavar="N")
    parser.add_argument(
        "--command-property",
        "--producer-props",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="properties of the producer; they override --command-config",
    )
    parser.value("command-config", "a file with properties of the producer", metavar="FILE")
    parser.value("producer.config", "old name of --command-config", metavar="FILE", dest="command_config")
    parser.flag("print-metrics", "accepted without effect: librdkafka has no such metrics")
    parser.value("transactional-id", "write in transactions under this id", metavar="ID")
    parser.value("transaction-duration-ms", "duration of a transaction", kind=positive_int, metavar="MS")
    parser.value("warmup-records", "records before the steady state", kind=int, default=0, metavar="N")
    parser.value(
        "reporting-interval", "how often to print progress", kind=positive_int, default=5000, metavar="MS"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    properties = producer_properties(options)
    next_payload = _payloads(options)
    from gralha.cli.connect import wait_for_topic
    from gralha.cli.console_producer import make_producer

    producer = make_producer(properties)
    wait_for_topic(producer, options.topic)
    if "transactional.id" in properties:
        producer.init_transactions()
    test = _Test(options, producer, "transactional.id" in properties)
    test.run(next_payload)
    return EXIT_FAILED if test.failed else 0


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    parser.require(options, "topic", "num-records")
    if options.throughput is None:
        parser.require(options, "throughput")
    parser.require_one_of(options, "record-size", "payload-file", "payload-monotonic")
    if options.warmup_records >= options.num_records:
        raise CommandError(
            "The value for --warmup-records must be strictly fewer than the number of records."
        )
    return options


def producer_properties(options: Namespace) -> dict[str, str]:
    """The producer's properties with Kafka's names."""
    properties = load_properties(options.command_config) if options.command_config else {}
    for assignment in options.command_property:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise CommandError(f"Invalid property: {assignment}")
        properties[name] = value
    if options.bootstrap_server:
        properties["bootstrap.servers"] = options.bootstrap_server
    if "bootstrap.servers" not in properties:
        raise CommandError(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
            "--command-config must be specified with the brokers' addresses."
        )
    if options.transactional_id is not None:
        properties["transactional.id"] = options.transactional_id
    elif options.transaction_duration_ms is not None and "transactional.id" not in properties:
        properties["transactional.id"] = f"performance-producer-{random.getrandbits(64):016x}"
    # The defaults of the Java producer, so that both tools measure the same.
    defaults = {"client.id": "perf-producer-client", "acks": "all", "linger.ms": "5", "batch.size": "16384"}
    return defaults | properties


def _payloads(options: Namespace) -> Callable[[int], bytes]:
    """A function from a record's number to its value."""
    generator = random.Random(0)
    if options.payload_monotonic:
        return lambda number: str(number).encode()
    if options.payload_file is not None:
        values = read_payload_file(options.payload_file, options.payload_delimiter)
    else:
        # A new random value for each record would measure Python's random numbers instead of the broker.
        values = [_random_value(generator, options.record_size) for _ in range(_pool_size(options))]
    return lambda _number: generator.choice(values)


def _pool_size(options: Namespace) -> int:
    affordable = max(16, (64 << 20) // int(options.record_size))
    return min(_PAYLOAD_POOL, affordable, int(options.num_records))


def _random_value(generator: random.Random, size_bytes: int) -> bytes:
    return bytes(generator.choices(_CAPITALS, k=size_bytes))


def read_payload_file(path: str, delimiter: str | None) -> list[bytes]:
    """The values in a text file, in the order of the file."""
    print(f"Reading payloads from: {os.path.abspath(path)}")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text:
        raise CommandError("File does not exist or empty file provided.")
    separator = "\n" if delimiter in (None, "\\n") else delimiter
    values = [value.encode() for value in text.removesuffix(separator or "").split(separator)]
    print(f"Number of records read: {len(values)}")
    return values


class _Test:
    """One run of the test. It sends the records and prints the result."""

    def __init__(self, options: Namespace, producer: "Producer", transactional: bool) -> None:
        self.failed = False
        self._options = options
        self._producer = producer
        self._transaction_ms = (
            (options.transaction_duration_ms or _DEFAULT_TRANSACTION_MS) if transactional else None
        )
        self._statistics = ProducerStatistics(options.num_records, options.reporting_interval)
        self._steady: ProducerStatistics | None = None

    def run(self, next_payload: Callable[[int], bytes]) -> None:
        if self._options.warmup_records > 0:
            print(
                f"Warmup first {self._options.warmup_records} records. "
                "Steady state results will print after the complete test summary."
            )
        throttle = Throttle(self._options.throughput)
        for number in self._numbers():
            if number == self._options.warmup_records > 0:
                self._begin_steady_state()
            self._send(next_payload(number))
            throttle.wait(number)
        self._producer.flush()
        self._statistics.print_total()
        if self._steady is not None:
            self._steady.print_total()

    def _numbers(self) -> Iterator[int]:
        """The record numbers. Transactions begin and end between them."""
        if self._transaction_ms is None:
            yield from range(self._options.num_records)
            return
        started = 0.0
        for number in range(self._options.num_records):
            now = time.monotonic()
            if number == 0 or (now - started) * 1000 >= self._transaction_ms:
                if number:
                    self._producer.commit_transaction()
                self._producer.begin_transaction()
                started = now
            yield number
        self._producer.commit_transaction()

    def _begin_steady_state(self) -> None:
        remaining = self._options.num_records - self._options.warmup_records
        self._steady = ProducerStatistics(remaining, self._options.reporting_interval, steady_state=True)
        self._statistics.silence()

    def _send(self, payload: bytes) -> None:
        from confluent_kafka import KafkaException

        sent = time.time()
        statistics = self._statistics
        steady = self._steady

        def delivered(error: "KafkaError | None", _message: "Message") -> None:
            if error is not None:
                self._report(error)
                return
            now = time.time()
            latency_ms = int((now - sent) * 1000)
            statistics.record(latency_ms, len(payload), now)
            if steady is not None:
                steady.record(latency_ms, len(payload), now)

        while True:
            try:
                self._producer.produce(self._options.topic, payload, on_delivery=delivered)
                break
            except BufferError:
                self._producer.poll(0.01)
            except KafkaException as failure:
                self._report(failure.args[0])
                break
        self._producer.poll(0)

    def _report(self, error: "KafkaError") -> None:
        from gralha.cli.librdkafka import reason_of

        if not self.failed:
            print(f"A record could not be delivered: {reason_of(error)}", file=sys.stderr)
        self.failed = True
