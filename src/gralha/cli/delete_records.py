"""kafka-delete-records: deletes the records of partitions below given offsets."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gralha.cli.arguments import CommandParser
from gralha.cli.connect import add_connection_options, open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import CommandError, one_line, run
from gralha.cli.text_file import read_text

if TYPE_CHECKING:
    from gralha.client.values import TopicPartition
    from gralha.protocol.errors import KafkaError


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-delete-records",
        "Deletes the oldest records of partitions, up to an offset.",
        [
            "--bootstrap-server localhost:9092 --offset-json-file offsets.json",
        ],
    )
    add_connection_options(parser)
    parser.value(
        "offset-json-file",
        'REQUIRED: a file like {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1};'
        " the offset is the first one to keep; -1 deletes all records",
        metavar="FILE",
    )
    add_json_option(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = _parser().parse(arguments, "bootstrap-server", "offset-json-file")
    offsets = parse_offsets(read_text(options.offset_json_file, "the offsets file"))
    from gralha.protocol.errors import KafkaError

    with open_admin(options, "kafka-delete-records") as admin:
        if not options.json:
            print("Executing records delete operation", flush=True)
        results = admin.delete_records(offsets)
    if options.json:
        print_json(partitions=[result_json(partition, result) for partition, result in results.items()])
        return 0
    print("Records delete operation completed:")
    for partition, result in results.items():
        if isinstance(result, KafkaError):
            print(f"partition: {partition}\terror: {one_line(str(result))}")
        else:
            print(f"partition: {partition}\tlow_watermark: {result}")
    return 0


def result_json(partition: "TopicPartition", result: "int | KafkaError") -> dict[str, object]:
    """The result for one partition: its new low watermark, or an error."""
    failed = not isinstance(result, int)
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "lowWatermark": None if failed else result,
        "error": one_line(str(result)) if failed else None,
    }


def parse_offsets(text: str) -> "dict[TopicPartition, int]":
    """The offsets in the text of the file. A partition may appear only once."""
    from gralha.client.values import TopicPartition

    try:
        document = json.loads(text)
    except ValueError as error:
        raise CommandError(f"The input string is not a valid JSON: {error}") from None
    version = document.get("version", 1) if isinstance(document, dict) else 1
    if version != 1:
        raise CommandError(f"Not supported version field value {version}")
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise CommandError("Missing partitions field")
    offsets: dict[TopicPartition, int] = {}
    duplicates = []
    for entry in document["partitions"]:
        partition = TopicPartition(_field(entry, "topic", str), _field(entry, "partition", int))
        if partition in offsets:
            duplicates.append(str(partition))
        offsets[partition] = _field(entry, "offset", int)
    if duplicates:
        listed = ",".join(dict.fromkeys(duplicates))
        raise CommandError(f"Offset json file contains duplicate topic partitions: {listed}")
    return offsets


def _field(entry: object, name: str, kind: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CommandError(
            f'Wrong entry in "partitions": {json.dumps(entry)}; it needs "topic", "partition" and "offset"'
        )
    return value
