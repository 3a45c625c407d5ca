"""kafka-consumer-perf-test: measures how fast records are read, with the same output as Kafka's test.

Without --group the partitions are read by our own client (`perf_consuming.py`), because librdkafka's objects
for each message would be the limit. With --group librdkafka is a member of that group.
"""

import time
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser, positive_int
from gralha.cli.consumption import new_group
from gralha.cli.perf_statistics import (
    DETAILED_HEADER,
    SUMMARY_HEADER,
    Progress,
    consumer_progress_line,
    consumer_summary_line,
)
from gralha.cli.program import CommandError, run
from gralha.cli.properties import is_true, load_properties, parse_assignments
from gralha.cli.topic_filter import compile_expression

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

    from gralha.cli.perf_consuming import Reading

_DEFAULT_TIMEOUT_MS = 10_000


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-consumer-perf-test",
        "Measures how fast a consumer reads records.",
        [
            "--bootstrap-server localhost:9092 --topic orders --num-records 1000000",
        ],
    )
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("broker-list", "old name of --bootstrap-server", metavar="HOST:PORT,...")
    parser.value("topic", "the topic to read", metavar="TOPIC")
    parser.value("include", "read all topics whose names match", metavar="REGEX")
    parser.value("num-records", "REQUIRED: how many records to read", kind=positive_int, metavar="N")
    parser.value("messages", "old name of --num-records", kind=positive_int, metavar="N")
    parser.value(
        "group",
        "read as a member of this group, which is slower; without it, read all partitions",
        metavar="GROUP",
    )
    parser.value("fetch-size", "most bytes of a partition per request", kind=int, default=1 << 20)
    parser.flag("from-latest", "start with the latest record instead of the earliest")
    parser.value("socket-buffer-size", "the socket's receive buffer", kind=int, default=2 << 20)
    parser.values("command-property", help_text="properties of the consumer; they override --command-config")
    parser.value("command-config", "a file with properties of the consumer", metavar="FILE")
    parser.value("consumer.config", "old name of --command-config", metavar="FILE", dest="command_config")
    parser.flag(
        "show-detailed-stats", "print a line for every --reporting-interval instead of one at the end"
    )
    parser.value("reporting-interval", "how often to print", kind=positive_int, default=5000, metavar="MS")
    parser.value(
        "timeout",
        "give up if no record comes for this long (default: 10000)",
        kind=positive_int,
        default=_DEFAULT_TIMEOUT_MS,
        metavar="MS",
    )
    parser.value(
        "date-format",
        "a pattern of Java's SimpleDateFormat",
        default="yyyy-MM-dd HH:mm:ss:SSS",
        metavar="PATTERN",
    )
    parser.flag("hide-header", "do not print the names of the columns")
    parser.flag("print-metrics", "print the metrics of the consumer at the end")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    properties = consumer_properties(options)
    if options.group is not None:
        if options.print_metrics:
            raise CommandError("--print-metrics is not possible with --group: leave it out")
        _run_in_group(options, properties)
    else:
        _run_directly(options, properties)
    return 0


def _run_in_group(options: Namespace, properties: dict[str, str]) -> None:
    from gralha.cli.consumption import make_consumer

    _print_header(options)
    consumer = make_consumer(properties, by_pattern=options.include is not None)
    try:
        _GroupTest(options, consumer).run()
    finally:
        consumer.close()


def _run_directly(options: Namespace, properties: dict[str, str]) -> None:
    from gralha.cli.perf_consuming import Reading
    from gralha.cli.perf_metrics import metrics_table, settings_of

    settings = settings_of(properties)
    reading = Reading(settings, options, creates=is_true(properties.get("allow.auto.create.topics", "true")))
    _print_header(options)
    test = _DirectTest(options, reading)
    try:
        test.run()
    finally:
        reading.close()
    if options.print_metrics:
        print(metrics_table(test.metrics(), "consumer-fetch-manager-metrics", settings.client_id))


def _print_header(options: Namespace) -> None:
    if not options.hide_header:
        print(DETAILED_HEADER if options.show_detailed_stats else SUMMARY_HEADER, flush=True)


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    options.bootstrap_server = options.bootstrap_server or options.broker_list
    parser.require(options, "bootstrap-server")
    parser.require_one_of(options, "topic", "include")
    parser.require_one_of(options, "messages", "num-records")
    options.num_records = options.num_records or options.messages
    return options


def consumer_properties(options: Namespace) -> dict[str, str]:
    """The consumer's properties with Kafka's names."""
    properties = load_properties(options.command_config) if options.command_config else {}
    properties = {"client.id": "perf-consumer-client", **properties}
    properties |= parse_assignments(options.command_property)
    properties |= {
        "bootstrap.servers": options.bootstrap_server,
        "receive.buffer.bytes": str(options.socket_buffer_size),
        "max.partition.fetch.bytes": str(options.fetch_size),
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
        "check.crcs": "false",
        "isolation.level": properties.get("isolation.level", "read_uncommitted"),
    }
    # librdkafka needs a group for TLS and SASL, too.
    properties["group.id"] = options.group or new_group("perf-consumer")
    return properties


class RebalanceTime:
    """How long the consumer waited without partitions. Kafka calls it the rebalance time."""

    def __init__(self, now: float) -> None:
        self.total_ms = 0
        self.interval_ms = 0
        self._waiting_since = now
        self._assigned: set[tuple[str, int]] = set()

    def assigned(self, partitions: Iterable[tuple[str, int]], now: float) -> None:
        """The consumer got partitions."""
        if not self._assigned:
            waited_ms = int((now - self._waiting_since) * 1000)
            self.total_ms += waited_ms
            self.interval_ms += waited_ms
        self._assigned.update(partitions)

    def revoked(self, partitions: Iterable[tuple[str, int]], now: float) -> None:
        """The consumer lost partitions."""
        self._assigned.difference_update(partitions)
        if not self._assigned:
            self._waiting_since = now


class _Test:
    """One run of the test: the records so far, and the lines to print."""

    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._started = time.time()
        self._joining = RebalanceTime(self._started)
        self._last = Progress(self._started)
        self._progress = Progress(self._started)

    @property
    def _is_done(self) -> bool:
        return bool(self._progress.count >= self._options.num_records)

    def _add(self, count: int, size_bytes: int) -> None:
        progress = self._progress
        self._progress = Progress(time.time(), progress.size_bytes + size_bytes, progress.count + count)
        if (self._progress.now - self._last.now) * 1000 >= self._options.reporting_interval:
            self._end_interval()

    def _end_interval(self) -> None:
        options = self._options
        if options.show_detailed_stats:
            line = consumer_progress_line(
                self._last, self._progress, self._joining.interval_ms, options.date_format
            )
            print(line, flush=True)
        self._joining.interval_ms = 0
        self._last = self._progress

    def _end(self) -> None:
        options = self._options
        if not self._is_done:
            print(
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({options.timeout} ms) exceeded. You can use the --timeout option to increase the timeout."
            )
        if not options.show_detailed_stats:
            total, waited_ms = self._progress, self._joining.total_ms
            print(
                consumer_summary_line(
                    self._started, time.time(), total.size_bytes, total.count, waited_ms, options.date_format
                )
            )


class _DirectTest(_Test):
    """Reads all partitions without a group. There is no rebalance."""

    def __init__(self, options: Namespace, reading: "Reading") -> None:
        super().__init__(options)
        self._reading = reading
        self._fetches = 0
        self._latency_ms_total = 0
        self._latency_ms_max = 0

    def run(self) -> None:
        if self._reading.begin():
            self._read()
        self._end()

    def _read(self) -> None:
        last_record = time.monotonic()
        for read in self._reading.reads():
            now = time.monotonic()
            if read.records:
                last_record = now
                self._fetches += 1
                self._latency_ms_total += read.latency_ms
                self._latency_ms_max = max(self._latency_ms_max, read.latency_ms)
                self._add(read.records, read.size_bytes)
            if self._is_done or (now - last_record) * 1000 >= self._options.timeout:
                return

    def metrics(self) -> dict[str, float]:
        """Totals of the client, under Kafka's names of its metrics."""
        seconds = max(time.time() - self._started, 0.001)
        fetches = max(self._fetches, 1)
        total = self._progress
        return {
            "bytes-consumed-rate": total.size_bytes / seconds,
            "bytes-consumed-total": total.size_bytes,
            "fetch-latency-avg": self._latency_ms_total / fetches,
            "fetch-latency-max": self._latency_ms_max,
            "fetch-size-avg": total.size_bytes / fetches,
            "fetch-total": self._fetches,
            "records-consumed-rate": total.count / seconds,
            "records-consumed-total": total.count,
            "records-per-request-avg": total.count / fetches,
        }


class _GroupTest(_Test):
    """Reads as a member of a group."""

    def __init__(self, options: Namespace, consumer: "Consumer") -> None:
        super().__init__(options)
        self._consumer = consumer

    def run(self) -> None:
        from gralha.cli.consumption import batches

        if self._begin():
            for batch in batches(self._consumer, timeout_ms=self._options.timeout):
                self._count(batch)
                if self._is_done:
                    break
        self._end()

    def _begin(self) -> bool:
        """Starts reading. Returns False if the topic did not appear in time."""
        from gralha.cli.consumption import Selection, subscribe

        pattern = compile_expression(self._options.include) if self._options.include is not None else None
        return subscribe(
            self._consumer,
            Selection(self._options.topic, pattern),
            self._options.timeout,
            on_assign=lambda partitions: self._joining.assigned(_names(partitions), time.time()),
            on_revoke=lambda partitions: self._joining.revoked(_names(partitions), time.time()),
        )

    def _count(self, batch: "list[Message]") -> None:
        size_bytes = 0
        for message in batch:
            error = message.error()
            if error is not None:
                from gralha.cli.librdkafka import reason_of

                raise CommandError(f"Reading failed: {reason_of(error)}")
            size_bytes += len(message) + len(message.key() or b"")
        self._add(len(batch), size_bytes)


def _names(partitions: "list[TopicPartition]") -> list[tuple[str, int]]:
    return [(partition.topic, partition.partition) for partition in partitions]
