"""kafka-console-consumer: prints the records of topics."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gralha.cli.arguments import CommandParser
from gralha.cli.consumption import new_group
from gralha.cli.message_formatter import (
    NO_TIMESTAMP_TYPE,
    PROPERTIES,
    ConsumedRecord,
    LoggingMessageFormatter,
    MessageFormatter,
)
from gralha.cli.program import CommandError, run, stop_on_terminate
from gralha.cli.properties import is_true, load_properties, parse_assignments, warn_of_misspelt
from gralha.cli.topic_filter import compile_expression

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from gralha.cli.consumption import Selection
    from gralha.cli.coordinator_records import CoordinatorRecordFormatter

_TIMESTAMP_TYPES = {1: "CreateTime", 2: "LogAppendTime"}
_DEFAULT_FORMATTERS = (
    "org.apache.kafka.tools.consumer.DefaultMessageFormatter",
    "kafka.tools.DefaultMessageFormatter",
)
_SILENT_FORMATTERS = (
    "org.apache.kafka.tools.consumer.NoOpMessageFormatter",
    "kafka.tools.NoOpMessageFormatter",
)
_LOGGING_FORMATTERS = (
    "org.apache.kafka.tools.consumer.LoggingMessageFormatter",
    "kafka.tools.LoggingMessageFormatter",
)
# The formatters for topics of coordinators, in Kafka 4.3 and before Kafka 4.
_COORDINATOR_FORMATTERS = (
    "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
    "org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
    "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter",
    "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter",
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter",
)
_FORMATTER_HELP = (
    "properties of the formatter: print.timestamp, print.key, print.offset, print.partition, print.headers, "
    "print.epoch, print.value (true or false), key.separator, line.separator, headers.separator, "
    "null.literal, key.deserializer, value.deserializer, headers.deserializer"
)


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-console-consumer",
        "Prints the records of topics.",
        [
            "--bootstrap-server localhost:9092 --topic orders --from-beginning",
        ],
    )
    parser.value("bootstrap-server", "REQUIRED: the brokers to connect to", metavar="HOST:PORT,...")
    parser.value("topic", "the topic to read", metavar="TOPIC")
    parser.value("include", "read all topics whose names match", metavar="REGEX")
    parser.value("partition", "read one partition, from its end unless --offset is given", kind=int)
    parser.value(
        "offset", "where to start in --partition: earliest, latest (default) or a number", metavar="OFFSET"
    )
    parser.flag("from-beginning", "start with the earliest record if the group has no offset yet")
    parser.value(
        "group",
        "read as a member of this group and commit offsets; default: a new group that commits nothing",
        metavar="GROUP",
    )
    parser.value("max-messages", "stop after this many records (default: no limit)", kind=int, metavar="N")
    parser.value(
        "timeout-ms", "stop if no record comes for this long (default: wait for ever)", kind=int, metavar="MS"
    )
    parser.value(
        "isolation-level",
        "read_committed or read_uncommitted (default)",
        default="read_uncommitted",
        metavar="LEVEL",
    )
    parser.flag("skip-message-on-error", "skip a record that cannot be shown instead of stopping")
    parser.value(
        "formatter",
        "one of Kafka's own, by its Java name: DefaultMessageFormatter, NoOpMessageFormatter, "
        "LoggingMessageFormatter (also a line on standard error for each record); "
        "OffsetsMessageFormatter and GroupMetadataMessageFormatter for __consumer_offsets; "
        "TransactionLogMessageFormatter for __transaction_state; ShareGroupStateMessageFormatter for "
        "__share_group_state (default: DefaultMessageFormatter)",
        metavar="CLASS",
    )
    parser.values("formatter-property", "property", help_text=_FORMATTER_HELP)
    parser.value("formatter-config", "a file with properties of the formatter", metavar="FILE")
    for part in ("key", "value"):
        parser.value(
            f"{part}-deserializer",
            "one of Kafka's own deserializers, by its Java name (default: the bytes as they are)",
            metavar="CLASS",
        )
    parser.values("command-property", "consumer-property", help_text="properties of the consumer")
    parser.value("command-config", "a file with properties of the consumer", metavar="FILE")
    parser.value("consumer.config", "old name of --command-config", metavar="FILE", dest="command_config")
    parser.flag("enable-systest-events", "print shutdown_complete at the end")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    properties = consumer_properties(options)
    formatter = make_formatter(options)
    from gralha.cli.consumption import make_consumer

    stop_on_terminate()
    consumer = make_consumer(properties, by_pattern=options.include is not None)
    printer = _Printer(formatter, options.max_messages, skip_on_error=options.skip_message_on_error)
    try:
        _consume(consumer, options, properties, printer)
    except (KeyboardInterrupt, CommandError):
        _finish(consumer, options, printer)
        raise
    except BrokenPipeError:
        consumer.close()
        raise
    _finish(consumer, options, printer)
    return 0


def _finish(consumer: "Consumer", options: Namespace, printer: "_Printer") -> None:
    consumer.close()
    print(f"Processed a total of {printer.count} messages", file=sys.stderr)
    if options.enable_systest_events:
        print("shutdown_complete")


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    parser.require_one_of(options, "topic", "include")
    if options.partition is not None:
        if options.topic is None:
            parser.error("The topic is required when partition is specified.")
        if options.from_beginning and options.offset is not None:
            parser.error("Options from-beginning and offset cannot be specified together.")
    elif options.offset is not None:
        parser.error("The partition is required when offset is specified.")
    parser.require(options, "bootstrap-server")
    return options


def consumer_properties(options: Namespace) -> dict[str, str]:
    """The consumer's properties with Kafka's names: file, then --command-property, then single options."""
    from_file = load_properties(options.command_config) if options.command_config else {}
    from_arguments = parse_assignments(options.command_property)
    defaults = {"client.id": "console-consumer", "metadata.max.age.ms": "5000"}
    properties = {**defaults, **from_file, **from_arguments}
    group = _group(options, from_file.get("group.id"), from_arguments.get("group.id"))
    if group is not None:
        properties["group.id"] = group
    elif options.partition is None:
        properties = _own_group(properties) | properties
    reset = properties.get("auto.offset.reset")
    if reset is None:
        properties["auto.offset.reset"] = "earliest" if options.from_beginning else "latest"
    elif options.from_beginning and reset != "earliest":
        raise CommandError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', "
            "please remove one option"
        )
    properties["bootstrap.servers"] = options.bootstrap_server
    properties["isolation.level"] = options.isolation_level
    # A record is consumed when it was printed, not when it was fetched.
    properties["enable.auto.offset.store"] = "false"
    return properties


def _own_group(properties: Mapping[str, str]) -> dict[str, str]:
    """A new group that is never used again, so it commits nothing.

    Without commits it would lose its position in a rebalance. So it keeps its partitions during a rebalance.
    Kafka's own consumer starts again and shows records twice.
    """
    group = {"group.id": new_group("console-consumer"), "enable.auto.commit": "false"}
    if properties.get("group.protocol", "classic").lower() != "consumer":
        group["partition.assignment.strategy"] = "cooperative-sticky"
    return group


def _group(options: Namespace, *others: str | None) -> str | None:
    groups = {group for group in (options.group, *others) if group is not None}
    if len(groups) > 1:
        listed = ", ".join(f"'{group}'" for group in sorted(groups))
        raise CommandError(
            "The group ids provided in different places (directly using '--group', via '--command-property', "
            f"or via '--command-config') do not match. Detected group ids: {listed}"
        )
    if groups and options.partition is not None:
        raise CommandError("Options group and partition cannot be specified together.")
    return next(iter(groups), None)


def make_formatter(options: Namespace) -> "MessageFormatter | CoordinatorRecordFormatter | None":
    """The formatter. None if records are counted and not shown."""
    if options.formatter in _SILENT_FORMATTERS:
        return None
    if options.formatter in _COORDINATOR_FORMATTERS:
        from gralha.cli.coordinator_records import FORMATTERS, CoordinatorRecordFormatter

        return CoordinatorRecordFormatter(FORMATTERS[options.formatter.replace("$", ".").rpartition(".")[2]])
    is_logging = options.formatter in _LOGGING_FORMATTERS
    if options.formatter is not None and not is_logging and options.formatter not in _DEFAULT_FORMATTERS:
        raise CommandError(f"Cannot load {options.formatter}: Java classes do not run here")
    properties = load_properties(options.formatter_config) if options.formatter_config else {}
    if options.key_deserializer:
        properties["key.deserializer"] = options.key_deserializer
    if options.value_deserializer:
        properties["value.deserializer"] = options.value_deserializer
    properties |= parse_assignments(options.formatter_property)
    warn_of_misspelt(properties, PROPERTIES)
    return LoggingMessageFormatter(properties, sys.stderr) if is_logging else MessageFormatter(properties)


def select(options: Namespace) -> "Selection":
    """The topics that the options choose."""
    from gralha.cli.consumption import Selection

    pattern = compile_expression(options.include) if options.include is not None else None
    return Selection(options.topic, pattern)


def start_offset(options: Namespace) -> int:
    """The first offset of --partition, as librdkafka's number."""
    from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

    text: str | None = options.offset
    if text is None:
        return OFFSET_BEGINNING if options.from_beginning else OFFSET_END
    named = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}.get(text.lower())
    if named is not None:
        return named
    if not text.isascii() or not text.isdigit():
        raise CommandError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    return int(text)


def _consume(
    consumer: "Consumer", options: Namespace, properties: dict[str, str], printer: "_Printer"
) -> None:
    from gralha.cli.consumption import assign, batches, store_offsets, subscribe

    timeout_ms: int | None = options.timeout_ms
    if options.partition is None:
        is_there = subscribe(consumer, select(options), timeout_ms)
    else:
        start = start_offset(options)
        is_there = assign(consumer, options.topic, options.partition, start, timeout_ms)
    if options.max_messages == 0 or not is_there:
        return
    if _starts_with_new_records(options, properties) and sys.stdout.isatty() and sys.stderr.isatty():
        print("Waiting for new records. --from-beginning shows earlier ones, too.", file=sys.stderr)
    commits = options.partition is None and is_true(properties.get("enable.auto.commit", "true"))
    for batch in batches(consumer, timeout_ms=timeout_ms):
        written = printer.write(batch)
        if commits:
            store_offsets(consumer, written)
        if printer.done:
            return


def _starts_with_new_records(options: Namespace, properties: Mapping[str, str]) -> bool:
    """Returns True if no earlier record is shown, which surprises people who have just written some."""
    if options.partition is not None:
        return not options.from_beginning and options.offset in (None, "latest")
    has_group = options.group is not None or is_true(properties.get("enable.auto.commit", "true"))
    return not has_group and properties["auto.offset.reset"] == "latest"


class _Printer:
    """Writes messages to standard output and counts them."""

    def __init__(
        self,
        formatter: "MessageFormatter | CoordinatorRecordFormatter | None",
        max_messages: int | None,
        *,
        skip_on_error: bool,
    ) -> None:
        self.count = 0
        self._formatter = formatter
        self._max_messages = max_messages if max_messages is not None and max_messages >= 0 else None
        self._skip_on_error = skip_on_error

    @property
    def done(self) -> bool:
        return self._max_messages is not None and self.count >= self._max_messages

    def write(self, messages: "list[Message]") -> "list[Message]":
        """Writes a batch. Returns the messages that were written."""
        written = []
        for message in messages:
            if self.done:
                break
            _check(message)
            self.count += 1
            self._write_one(message)
            written.append(message)
        sys.stdout.buffer.flush()
        return written

    def _write_one(self, message: "Message") -> None:
        formatter = self._formatter
        if formatter is None:
            return
        try:
            if isinstance(formatter, MessageFormatter) and formatter.only_value:
                line = formatter.format_value(message.value())
            else:
                line = formatter.format(_record(message))
            sys.stdout.buffer.write(line)
        except CommandError as error:
            if not self._skip_on_error:
                raise
            print(f"Skipping a record that cannot be shown: {error}", file=sys.stderr)


def _check(message: "Message") -> None:
    error = message.error()
    if error is not None:
        from gralha.cli.librdkafka import reason_of

        raise CommandError(f"Error processing message, terminating consumer process: {reason_of(error)}")


def _record(message: "Message") -> ConsumedRecord:
    timestamp_type, timestamp_ms = message.timestamp()
    headers: Any = message.headers() or []
    return ConsumedRecord(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        timestamp_type=_TIMESTAMP_TYPES.get(timestamp_type, NO_TIMESTAMP_TYPE),
        timestamp_ms=timestamp_ms,
        leader_epoch=message.leader_epoch(),
        headers=[(name, value) for name, value in headers],
        key=message.key(),
        value=message.value(),
    )
