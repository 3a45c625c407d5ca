"""The command line of kafka-topics, with Kafka's rules for combining options."""

import re
import sys
from argparse import Namespace
from collections.abc import Iterable

from gralha.cli.arguments import CommandParser, given
from gralha.cli.connect import add_connection_options
from gralha.cli.json_output import add_json_option
from gralha.cli.program import CommandError
from gralha.cli.watching import add_watch_option

_ACTIONS = ("list", "describe", "create", "alter", "delete")
_REPORTS = (
    "under-replicated-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "unavailable-partitions",
)
# The actions that an option is allowed with.
_ALLOWED_WITH = {
    "config": ("create", "alter"),
    "partitions": ("create", "alter"),
    "replication-factor": ("create",),
    "replica-assignment": ("create", "alter"),
    "under-replicated-partitions": ("describe",),
    "under-min-isr-partitions": ("describe",),
    "at-min-isr-partitions": ("describe",),
    "unavailable-partitions": ("describe",),
    "topics-with-overrides": ("describe",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
    "json": ("list", "describe"),
    "watch": ("list", "describe"),
}
_MAX_REPLICATION_FACTOR = 32767


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-topics",
        "Creates, lists, describes, changes and deletes topics.",
        [
            "--bootstrap-server localhost:9092 --create --topic orders --partitions 3",
            "--bootstrap-server localhost:9092 --describe --topic orders",
        ],
    )
    add_connection_options(parser)
    parser.flag("list", "list all topics")
    parser.flag("describe", "show topics and their partitions")
    parser.flag("create", "create a topic")
    parser.flag("alter", "add partitions to topics (kafka-configs changes settings)")
    parser.flag("delete", "delete topics")
    parser.value("topic", "the topic; a regular expression, except with --create", metavar="TOPIC")
    parser.value("topic-id", "the topic to describe, by its id", metavar="ID")
    parser.value(
        "partitions",
        "the number of partitions (default with --create: the broker's num.partitions)",
        kind=int,
        metavar="N",
    )
    parser.value(
        "replication-factor",
        "the number of replicas of each partition (default: the broker's default.replication.factor)",
        kind=int,
        metavar="N",
    )
    parser.value(
        "replica-assignment",
        "the brokers of each partition's replicas: 1:2,2:3 puts the first partition on 1 and 2",
        metavar="BROKERS",
    )
    parser.values("config", help_text="a setting of the new topic; may be given many times")
    parser.values("delete-config", help_text="no longer supported: use kafka-configs", metavar="NAME")
    parser.flag("if-exists", "with --alter, --delete and --describe: no error if the topic does not exist")
    parser.flag("if-not-exists", "with --create: no error if the topic exists")
    parser.flag("exclude-internal", "with --list and --describe: leave out internal topics")
    parser.flag("under-replicated-partitions", "describe only partitions with replicas out of sync")
    parser.flag("under-min-isr-partitions", "describe only partitions below min.insync.replicas")
    parser.flag("at-min-isr-partitions", "describe only partitions exactly at min.insync.replicas")
    parser.flag("unavailable-partitions", "describe only partitions without a live leader")
    parser.flag("topics-with-overrides", "describe only topics with settings of their own")
    parser.value(
        "partition-size-limit-per-response", "the most partitions in one response (default: 2000)", kind=int
    )
    add_json_option(parser)
    add_watch_option(parser, "--list and --describe")
    return parser


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    if sum(given(options, action) for action in _ACTIONS) != 1:
        parser.error(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if options.delete_config:
        print("The delete-config option is no longer supported: use kafka-configs --alter", file=sys.stderr)
    _check_required(parser, options)
    for name, allowed in _ALLOWED_WITH.items():
        parser.exclude(options, name, [action for action in _ACTIONS if action not in allowed])
    if options.create:
        parser.exclude(options, "replica-assignment", ["partitions", "replication-factor"])
    parser.exclude(options, "topics-with-overrides", _REPORTS)
    return options


def _check_required(parser: CommandParser, options: Namespace) -> None:
    if not given(options, "bootstrap-server"):
        raise CommandError("--bootstrap-server must be specified")
    if options.describe and options.if_exists and not options.topic and not options.topic_id:
        parser.error("--topic or --topic-id is required to describe a topic")
    if not options.list and not options.describe:
        parser.require(options, "topic")
    if options.alter:
        if options.config:
            parser.error(
                'Option combination "[bootstrap-server],[config]" can\'t be used with option "[alter]" '
                "(To alter topic configurations, the kafka-configs tool can be used.)"
            )
        parser.require(options, "partitions")


def check_numbers(options: Namespace) -> None:
    """The limits of --partitions and --replication-factor."""
    factor = options.replication_factor
    if factor is not None and not 1 <= factor <= _MAX_REPLICATION_FACTOR:
        raise CommandError(
            f"The replication factor must be between 1 and {_MAX_REPLICATION_FACTOR} inclusive"
        )
    if options.partitions is not None and options.partitions < 1:
        raise CommandError("The partitions must be greater than 0")


def parse_configs(arguments: Iterable[str]) -> dict[str, str]:
    """The settings in --config name=value."""
    configs = {}
    for argument in arguments:
        parts = re.split(r"\s*=\s*", argument)
        while len(parts) > 1 and not parts[-1]:
            parts.pop()
        if len(parts) != 2:
            raise CommandError(
                'Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        configs[parts[0].strip()] = parts[1].strip()
    return configs


def parse_assignments(text: str) -> list[list[int]]:
    """The brokers of each partition in --replica-assignment."""
    assignments: list[list[int]] = []
    for partition, part in enumerate(text.split(",")):
        try:
            brokers = [int(broker) for broker in part.split(":")]
        except ValueError:
            raise CommandError(
                f"'{text}' is not a replica assignment: write broker ids as 1:2,2:3 (replicas with colons "
                "between, partitions with commas)"
            ) from None
        duplicates = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if duplicates:
            listed = ",".join(map(str, duplicates))
            raise CommandError(f"Partition replica lists may not contain duplicate entries: {listed}")
        if assignments and len(brokers) != len(assignments[0]):
            raise CommandError(f"Partition {partition} has different replication factor: {brokers}")
        assignments.append(brokers)
    return assignments
