"""kafka-leader-election: elects preferred leaders, or any live replica in an unclean election (KIP-460)."""

import json
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser, given
from gralha.cli.connect import add_connection_options, open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import EXIT_FAILED, CommandError, one_line, run
from gralha.cli.text_file import read_text

if TYPE_CHECKING:
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError

_DEFAULT_TIMEOUT_MS = 30_000
_SCOPES = ("topic", "all-topic-partitions", "path-to-json-file")


def _election_type(text: str) -> str:
    if text.upper() not in ("PREFERRED", "UNCLEAN"):
        raise ArgumentTypeError(f"{text} is not one of preferred, unclean")
    return text.upper()


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-leader-election",
        "Elects the leaders of partitions: the preferred replicas, or replicas that are not in sync.",
        [
            "--bootstrap-server localhost:9092 --election-type preferred --all-topic-partitions",
        ],
    )
    add_connection_options(parser)
    parser.value("admin.config", "old name of --command-config", metavar="FILE")
    parser.value(
        "election-type",
        "REQUIRED: preferred, to make the first replica the leader again, or unclean, to make any live "
        "replica the leader of a partition without one, which can lose records",
        kind=_election_type,
        metavar="TYPE",
    )
    parser.value("topic", "the topic; needs --partition", metavar="TOPIC")
    parser.value("partition", "the partition of --topic", kind=int, metavar="N")
    parser.flag("all-topic-partitions", "all partitions that need an election")
    parser.value(
        "path-to-json-file",
        'a file like {"partitions": [{"topic": "foo", "partition": 1}, {"topic": "bar", "partition": 2}]}',
        metavar="FILE",
    )
    add_json_option(parser)
    return parser


def parse_options(arguments: Sequence[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    missing = [name for name in ("bootstrap-server", "election-type") if not given(options, name)]
    if missing:
        raise CommandError(f"Missing required option(s): {', '.join(missing)}")
    parser.exclude(options, "admin.config", ["command-config"])
    if sum(given(options, name) for name in _SCOPES) != 1:
        raise CommandError(f"One and only one of the following options is required: {', '.join(_SCOPES)}")
    if given(options, "topic") and not given(options, "partition"):
        raise CommandError("Missing required option(s): partition")
    if given(options, "partition") and not given(options, "topic"):
        raise CommandError("Option partition is only allowed if topic is used")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    partitions = _partitions(options)
    if options.admin_config is not None:
        print(
            "Option --admin.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead.",
            file=sys.stderr if options.json else sys.stdout,
        )
        options.command_config = options.admin_config
    from gralha.client.errors import RequestTimeoutError
    from gralha.client.reassignment_calls import ElectionType

    with open_admin(options, "kafka-leader-election", default_timeout_ms=_DEFAULT_TIMEOUT_MS) as admin:
        try:
            results = admin.elect_leaders(ElectionType[options.election_type], partitions)
        except RequestTimeoutError:
            raise CommandError("Timeout waiting for election results") from None
    if options.json:
        return show_json(options.election_type, results)
    return show(options.election_type, results)


def _partitions(options: Namespace) -> "list[TopicPartition] | None":
    if options.path_to_json_file is not None:
        return parse_partitions(read_text(options.path_to_json_file, "the file of partitions"))
    if options.topic is None:
        return None
    from gralha.client.values import TopicPartition

    return [TopicPartition(options.topic, options.partition)]


def parse_partitions(text: str) -> "list[TopicPartition]":
    """The partitions in the text of the file. A partition may appear only once."""
    from gralha.client.values import TopicPartition

    try:
        document = json.loads(text)
    except ValueError:
        raise CommandError("Replica election data is empty") from None
    entries = document.get("partitions") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise CommandError('Replica election data is missing "partitions" field')
    partitions = []
    for entry in entries:
        topic, number = (
            (entry.get("topic"), entry.get("partition")) if isinstance(entry, dict) else (None, None)
        )
        if not isinstance(topic, str) or not isinstance(number, int) or isinstance(number, bool):
            raise CommandError(
                f'Wrong entry in "partitions": {json.dumps(entry)}; it needs "topic" and "partition"'
            )
        partitions.append(TopicPartition(topic, number))
    twice = sorted({str(partition) for partition in partitions if partitions.count(partition) > 1})
    if twice:
        raise CommandError(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]")
    return partitions


def show(election_type: str, results: "dict[TopicPartition, KafkaError | None]") -> int:
    """Prints the result for each partition. Raises CommandError if an election failed."""
    from gralha.protocol.errors import ErrorCode

    elected, needless, failed = [], [], []
    for partition, error in sorted(results.items(), key=lambda item: item[0]):
        if error is None:
            elected.append(str(partition))
        elif error.code == ErrorCode.ELECTION_NOT_NEEDED:
            needless.append(str(partition))
        else:
            failed.append((partition, error))
    if elected:
        print(f"Successfully completed leader election ({election_type}) for partitions {', '.join(elected)}")
    if needless:
        print(f"Valid replica already elected for partitions {', '.join(needless)}")
    for partition, error in failed:
        print(
            f"Error completing leader election ({election_type}) for partition: {partition}: "
            f"{one_line(str(error))}"
        )
    if failed:
        raise CommandError(f"{len(failed)} replica(s) could not be elected")
    return 0


def show_json(election_type: str, results: "dict[TopicPartition, KafkaError | None]") -> int:
    """Prints the result for each partition as JSON. Returns 1 if an election failed."""
    from gralha.protocol.errors import ErrorCode

    ordered = sorted(results.items(), key=lambda item: item[0])
    needless = {
        partition
        for partition, error in ordered
        if error is not None and error.code == ErrorCode.ELECTION_NOT_NEEDED
    }
    failed = {partition for partition, error in ordered if error is not None} - needless
    print_json(
        electionType=election_type,
        partitions=[
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "isElected": error is None,
                "error": one_line(str(error)) if partition in failed else None,
            }
            for partition, error in ordered
        ],
    )
    return EXIT_FAILED if failed else 0
