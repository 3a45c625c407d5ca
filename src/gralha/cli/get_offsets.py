"""kafka-get-offsets: shows the first or last offsets of partitions, or the offsets at a time."""

import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import add_connection_options, open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, run
from gralha.cli.topic_filter import INTERNAL_TOPICS, TopicFilter

if TYPE_CHECKING:
    from gralha.client.values import TopicPartition

# Returns True for a partition (topic, number) to show.
PartitionFilter = Callable[[str, int], bool]

_TIMES = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-get-offsets",
        "Shows the first or the last offsets of partitions, or the offsets at a time.",
        [
            "--bootstrap-server localhost:9092 --topic orders",
        ],
    )
    add_connection_options(parser)
    parser.value("broker-list", "old name of --bootstrap-server", metavar="HOST:PORT,...")
    parser.value("topic", "the topic, or a regular expression (default: all topics)", metavar="TOPIC")
    parser.value("partitions", "the partitions, separated by commas (default: all)", metavar="N,N,...")
    parser.value(
        "topic-partitions",
        "topics (regular expressions) with partitions: t1:1,t2:0-3,t3,t4:5-,t5:-3 (without the upper end)",
        metavar="RULES",
    )
    parser.value(
        "time",
        "a timestamp in milliseconds, or -1 or latest, -2 or earliest, -3 or max-timestamp, -4 or "
        "earliest-local, -5 or latest-tiered, -6 or earliest-pending-upload (default: latest)",
        default="latest",
        metavar="TIME",
    )
    parser.flag("exclude-internal-topics", "leave out internal topics")
    add_json_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments, prefix="Error occurred: ")


def _main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse(arguments)
    options.bootstrap_server = options.bootstrap_server or options.broker_list
    parser.require(options, "bootstrap-server")
    timestamp = parse_time(options.time)
    wanted = parse_filter(options)
    offsets = _offsets(options, timestamp, wanted)
    if options.json:
        print_json(
            offsets=[
                {"topic": one.topic, "partition": one.partition, "offset": offset}
                for one, offset in offsets.items()
            ]
        )
        return 0
    for one, offset in offsets.items():
        print(f"{one.topic}:{one.partition}:{offset}")
    return 0


def _offsets(options: Namespace, timestamp: int, wanted: PartitionFilter) -> "dict[TopicPartition, int]":
    """The offsets, ordered as Kafka's command does it: by `topic-partition` as text."""
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

    with open_admin(options, "GetOffsetShell") as admin:
        topics = admin.cluster.once(lambda: admin.cluster.metadata(None)).topics
        partitions = [
            TopicPartition(topic.name or "", partition.partition_index)
            for topic in topics
            for partition in topic.partitions
            if wanted(topic.name or "", partition.partition_index)
        ]
        if not partitions:
            from gralha.cli.suggestions import did_you_mean

            names = [topic.name or "" for topic in topics]
            meant = did_you_mean(options.topic, names, repr("{}")) if options.topic else ""
            raise CommandError(
                "Could not match any topic-partitions with the specified filters"
                + (f".{meant}" if meant else "")
            )
        found = admin.list_offsets(dict.fromkeys(partitions, timestamp))
    offsets = {}
    for name, partition in sorted((str(partition), partition) for partition in partitions):
        result = found[partition]
        if isinstance(result, KafkaError):
            print(f"Skip getting offsets for topic-partition {name} due to error: {result}", file=sys.stderr)
        elif result.offset >= 0:
            offsets[partition] = result.offset
    return offsets


def parse_time(text: str) -> int:
    """The time of --time as the protocol's number. Special times are negative."""
    if text in _TIMES:
        return _TIMES[text]
    try:
        return int(text)
    except ValueError:
        raise CommandError(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp "
            "/ -4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, or a specified "
            "long format timestamp"
        ) from None


def parse_filter(options: Namespace) -> PartitionFilter:
    """The filter of --topic-partitions, or of --topic and --partitions."""
    if options.topic_partitions is not None:
        if options.topic is not None or options.partitions is not None:
            raise CommandError("--topic-partitions cannot be used with --topic or --partitions")
        rules = [parse_rule(rule) for rule in options.topic_partitions.split(",")]
    else:
        rules = [_by_topic_and_partitions(options.topic, options.partitions)]

    def allows(topic: str, partition: int) -> bool:
        if options.exclude_internal_topics and topic in INTERNAL_TOPICS:
            return False
        return any(rule(topic, partition) for rule in rules)

    return allows


def _by_topic_and_partitions(topic: str | None, partitions: str | None) -> PartitionFilter:
    topics = TopicFilter(".*" if topic is None else topic)
    try:
        numbers = {int(number) for number in partitions.split(",")} if partitions else set()
    except ValueError:
        raise CommandError(
            "--partitions expects a comma separated list of numeric partition ids, but received: "
            f"{partitions}"
        ) from None
    return lambda name, partition: topics.allows(name) and (not numbers or partition in numbers)


def parse_rule(text: str) -> PartitionFilter:
    """One of the rules in --topic-partitions."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise CommandError(f"Invalid rule specification: {text}")
    topics = TopicFilter(match[1] or ".*")
    if match[2]:
        only = int(match[2])
        return lambda name, partition: partition == only and topics.allows(name)
    lower = int(match[3] or 0)
    upper = int(match[4]) if match[4] else None
    return lambda name, partition: (
        partition >= lower and (upper is None or partition < upper) and topics.allows(name)
    )
