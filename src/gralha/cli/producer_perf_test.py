"""kafka-producer-perf-test: measures how fast records are written, and the latency of each.

Options, statistics and output are the same as in Kafka's ProducerPerformance, so that scripts which read the
output keep working. `perf_producing.py` has the loop.
"""

import os
import random
import time
import uuid
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser, positive_int
from gralha.cli.bootstrap import servers_without_option
from gralha.cli.perf_statistics import ProducerMetrics, ProducerStatistics
from gralha.cli.program import CommandError, run
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from gralha.cli.perf_producing import Load, TimedBatch, Transactions, Values
    from gralha.client.settings import ClientSettings

_PAYLOAD_POOL = 1024
_CAPITALS = bytes(range(65, 91))
# The defaults that the Java producer and Kafka's command have.
_LINGER_MS = 5
_TRANSACTION_TIMEOUT_MS = 60_000
_TRANSACTION_DURATION_MS = 3_000


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-producer-perf-test",
        "Measures how fast a producer writes records.",
        [
            (
                "--bootstrap-server localhost:9092 --topic orders --num-records 1000000 --record-size 100 "
                "--throughput -1"
            ),
            (
                "--bootstrap-server localhost:9092 --topic orders --num-records 1000000 --record-size 100 "
                "--throughput -1 --transaction-duration-ms 100"
            ),
        ],
    )
    # The properties may have the brokers, too. They count before a default.
    parser.may_add_servers = False
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
    parser.flag("print-metrics", "print the metrics of the producer at the end")
    parser.value(
        "transactional-id", "write in transactions with this id (default: a random one)", metavar="ID"
    )
    parser.value(
        "transaction-duration-ms",
        "write in transactions that are committed after this time (default with an id: 3000)",
        kind=positive_int,
        metavar="MS",
    )
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
    from gralha.cli.perf_metrics import metrics_table, settings_of

    settings = settings_of(properties)
    test = _Test(options)
    linger_ms = _milliseconds(properties, "linger.ms", _LINGER_MS)
    test.run(settings, linger_ms, transactions_of(options, properties, settings))
    if options.print_metrics:
        print(metrics_table(test.metrics.values(), "producer-metrics", settings.client_id))
    return 0


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, str(default))
    if not text.isdecimal():
        raise CommandError(f"{name}={text} is not allowed: give a number of milliseconds")
    return int(text)


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
    elif (servers := servers_without_option()) is not None:
        properties.setdefault("bootstrap.servers", servers)
    if "bootstrap.servers" not in properties:
        raise CommandError(
            "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
            "--command-config must be specified with the brokers' addresses."
        )
    if options.transactional_id:
        properties["transactional.id"] = options.transactional_id
    elif options.transaction_duration_ms:
        properties.setdefault("transactional.id", f"performance-producer-{uuid.uuid4()}")
    # The defaults of the Java producer, so that both tools measure the same.
    defaults = {"client.id": "perf-producer-client", "acks": "all", "batch.size": "16384"}
    defaults["linger.ms"] = str(_LINGER_MS)
    return defaults | properties


def transactions_of(
    options: Namespace, properties: Mapping[str, str], settings: "ClientSettings"
) -> "Transactions | None":
    """The transactions of the test, or None if it writes without them."""
    from gralha.cli.perf_producing import Transactions

    name = properties.get("transactional.id")
    if not name:
        return None
    if not settings.enable_idempotence:
        raise CommandError(
            "Transactions need acks=all and enable.idempotence=true: change these properties, or leave out "
            "transactional.id"
        )
    timeout_ms = _milliseconds(properties, "transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS)
    return Transactions(name, timeout_ms, options.transaction_duration_ms or _TRANSACTION_DURATION_MS)


def _slices(options: Namespace) -> "Callable[[int, int], tuple[Values, int]]":
    """A function that gives the values of the records from a number on, and the row of the first."""
    from gralha.cli.perf_producing import numbers, random_values

    if options.payload_monotonic:
        return numbers
    generator = random.Random(0)
    if options.payload_file is not None:
        choices = read_payload_file(options.payload_file, options.payload_delimiter)
    else:
        choices = [_random_value(generator, options.record_size) for _ in range(_pool_size(options))]
    values = random_values(choices, generator)
    return lambda first, _count: (values, first % values.count)


def _pool_size(options: Namespace) -> int:
    affordable = max(16, (64 << 20) // int(options.record_size))
    return min(_PAYLOAD_POOL, affordable, int(options.num_records))


def _random_value(generator: random.Random, size_bytes: int) -> bytes:
    """A new random value for each record would measure Python's random numbers instead of the broker."""
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
    """One run of the test. It writes the records and prints the result."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._statistics = ProducerStatistics(options.num_records, options.reporting_interval)
        self._steady: ProducerStatistics | None = None
        self.metrics = ProducerMetrics()

    def run(self, settings: "ClientSettings", linger_ms: float, transactions: "Transactions | None") -> None:
        from gralha.cli.perf_producing import Load

        load = Load(settings, self._options.topic, linger_ms, self._delivered, transactions)
        try:
            self._write(load)
        except BaseException:
            _abort(load)
            raise
        finally:
            load.close()
        self._statistics.print_total()
        if self._steady is not None:
            self._steady.print_total()

    def _write(self, load: "Load") -> None:
        from gralha.cli.perf_producing import run_load

        options = self._options
        slices = _slices(options)
        load.connect()
        if options.warmup_records > 0:
            print(
                f"Warmup first {options.warmup_records} records. "
                "Steady state results will print after the complete test summary."
            )
        self._statistics.start()
        run_load(
            load,
            slices,
            options.num_records,
            options.throughput,
            options.warmup_records,
            self._begin_steady_state,
        )

    def _begin_steady_state(self) -> None:
        remaining = self._options.num_records - self._options.warmup_records
        self._steady = ProducerStatistics(remaining, self._options.reporting_interval, steady_state=True)
        self._statistics.silence()

    def _delivered(self, batch: "TimedBatch") -> None:
        from gralha.cli.perf_producing import delivery_of

        delivered = delivery_of(batch)
        self.metrics.add(delivered, len(batch.data))
        now = time.time()
        self._statistics.record(delivered, now)
        if self._steady is not None:
            self._steady.record(delivered, now)


def _abort(load: "Load") -> None:
    """Aborts the transaction of a test that has failed. The failure itself is what the user has to see."""
    from gralha.client.errors import ClientError, KafkaError

    with suppress(ClientError, KafkaError):
        load.abort()
