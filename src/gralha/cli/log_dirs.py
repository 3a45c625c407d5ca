"""kafka-log-dirs: shows the data folders of brokers and the sizes of the partitions in them, as JSON."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import add_connection_options, open_admin
from gralha.cli.json_output import print_json
from gralha.cli.program import CommandError, run

if TYPE_CHECKING:
    from gralha.client.values import LogDir


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-log-dirs",
        "Shows the data folders of brokers, and the size of the partitions in them.",
        [
            "--bootstrap-server localhost:9092 --describe --topic-list orders",
        ],
    )
    add_connection_options(parser)
    parser.flag("describe", "REQUIRED: show the data folders")
    parser.value("broker-list", "ids of brokers, separated by commas (default: all)", metavar="N,N,...")
    parser.value("topic-list", "topics, separated by commas (default: all)", metavar="TOPIC,...")
    parser.add_argument("--json", action="store_true", help="print nothing but the JSON, for programs")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = _parser().parse(arguments, "bootstrap-server", "describe")
    topics = {topic for topic in (options.topic_list or "").split(",") if topic}
    wanted = parse_broker_list(options.broker_list)
    with open_admin(options, "log-dirs-tool") as admin:
        brokers = choose_brokers(wanted, admin.describe_cluster().broker_ids)
        if not options.json:
            print("Querying brokers for log directories information")
        folders = {broker: admin.describe_log_dirs(broker) for broker in brokers}
    if options.json:
        print_json(**document(folders, topics))
        return 0
    print(f"Received log directory information from brokers {_listed(brokers)}")
    print(to_json(folders, topics))
    return 0


def parse_broker_list(text: str | None) -> list[int]:
    """The ids in --broker-list."""
    try:
        return sorted({int(broker) for broker in (text or "").split(",") if broker})
    except ValueError:
        raise CommandError(f"--broker-list expects broker ids like 0,1,2, but received: {text}") from None


def choose_brokers(wanted: list[int], existing: list[int]) -> list[int]:
    """The wanted brokers, or all. Raises CommandError if a wanted broker does not exist."""
    missing = [broker for broker in wanted if broker not in existing]
    if missing:
        raise CommandError(
            f"ERROR: The given brokers do not exist from --broker-list: {_listed(missing)}. "
            f"Current existent brokers: {_listed(existing)}"
        )
    return wanted or existing


def _listed(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))


def to_json(folders: "dict[int, list[LogDir]]", topics: set[str]) -> str:
    """Kafka's JSON document, with the keys in Kafka's order."""
    found = {**document(folders, topics), "version": 1}
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def document(folders: "dict[int, list[LogDir]]", topics: set[str]) -> dict[str, Any]:
    """The folders of each broker, with the partitions of these topics, or of all."""
    return {
        "brokers": [
            {"broker": broker, "logDirs": [_folder(folder, topics) for folder in found]}
            for broker, found in folders.items()
        ]
    }


def _folder(folder: "LogDir", topics: set[str]) -> dict[str, Any]:
    return {
        "partitions": [
            {
                "partition": str(replica.partition),
                "size": replica.size_bytes,
                "offsetLag": replica.offset_lag,
                "isFuture": replica.is_future,
            }
            for replica in sorted(folder.replicas)
            if not topics or replica.partition.topic in topics
        ],
        "error": _error_name(folder.error_code),
        "logDir": folder.path,
    }


def _error_name(code: int) -> str | None:
    """The name of a Java class, as Kafka prints it. Scripts check whether it is null."""
    if code == 0:
        return None
    from gralha.protocol.errors import error_name

    camel_case = "".join(word.capitalize() for word in error_name(code).split("_"))
    return f"org.apache.kafka.common.errors.{camel_case.removesuffix('Error')}Exception"
