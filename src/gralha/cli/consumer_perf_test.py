"""kafka-consumer-perf-test: measures how fast records are read, with the output of Kafka's own test."""

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
from gralha.cli.properties import load_properties, parse_assignments
from gralha.cli.topic_filter import compile_expression

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, TopicPartition

_DEFAULT_TIMEOUT_MS = 10_000


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-consumer-perf-test",
        "This tool is used to verify the consumer performance.",
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
    parser.value("group", "read as a member of this group; a new group by default", metavar="GROUP")
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
    parser.flag("print-metrics", "accepted without effect: librdkafka has no such metrics")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    if not options.hide_header:
        print(DETAILED_HEADER if options.show_detailed_stats else SUMMARY_HEADER, flush=True)
    from gralha.cli.consumption import make_consumer

    properties = consumer_properties(options)
    consumer = make_consumer(properties, by_pattern=options.include is not None)
    try:
        _Test(options, consumer).run()
    finally:
        consumer.close()
    return 0


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
    """One run of the test. It reads the records and prints the result."""

    def __init__(self, options: Namespace, consumer: "Consumer") -> None:
        self._options = options
        self._consumer = consumer
        self._started = time.time()
        self._joining = RebalanceTime(self._started)
        self._last = Progress(self._started)
        self._progress = Progress(self._started)

    def run(self) -> None:
        from gralha.cli.consumption import batches

        options = self._options
        for batch in batches(self._consumer, timeout_ms=options.timeout) if self._begin() else ():
            self._count(batch)
            if self._progress.count >= options.num_records:
                break
        else:
            print(
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({options.timeout} ms) exceeded. You can use the --timeout option to increase the timeout."
            )
        ended = time.time()
        if not options.show_detailed_stats:
            progress = self._progress
            print(
                consumer_summary_line(
                    self._started,
                    ended,
                    progress.size_bytes,
                    progress.count,
                    self._joining.total_ms,
                    options.date_format,
                )
            )

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
        count = 0
        for message in batch:
            error = message.error()
            if error is not None:
                from gralha.cli.librdkafka import reason_of

                raise CommandError(f"Reading failed: {reason_of(error)}")
            count += 1
            size_bytes += len(message)
            key = message.key()
            if key is not None:
                size_bytes += len(key)
        self._progress = Progress(
            time.time(), self._progress.size_bytes + size_bytes, self._progress.count + count
        )
        if (self._progress.now - self._last.now) * 1000 >= self._options.reporting_interval:
            self._end_interval()

    def _end_interval(self) -> None:
        if self._options.show_detailed_stats:
            print(
                consumer_progress_line(
                    self._last, self._progress, self._joining.interval_ms, self._options.date_format
                ),
                flush=True,
            )
        self._joining.interval_ms = 0
        self._last = self._progress


def _names(partitions: "list[TopicPartition]") -> list[tuple[str, int]]:
    return [(partition.topic, partition.partition) for partition in partitions]
