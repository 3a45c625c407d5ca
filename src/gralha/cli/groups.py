"""kafka-groups: lists groups of all types."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gralha.cli.arguments import CommandParser, given
from gralha.cli.connect import add_connection_options, open_admin
from gralha.cli.json_output import add_json_option, print_json
from gralha.cli.program import run
from gralha.cli.watching import add_watch_option, watched

if TYPE_CHECKING:
    from gralha.client.admin import Admin
    from gralha.client.group_values import GroupListing

_TYPES = ("Classic", "Consumer", "Share", "Streams")
_FILTERS = ("consumer", "share", "streams")
_COLUMN_WIDTH = 20
_TIMEOUT_MS = 30_000


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-groups",
        "Lists groups of all types.",
        [
            "--bootstrap-server localhost:9092 --list",
        ],
    )
    add_connection_options(parser)
    parser.flag("list", "list the groups")
    parser.value("group-type", "only groups of this type: classic, consumer, share, streams", metavar="TYPE")
    parser.value("protocol", "only groups with this protocol", metavar="PROTOCOL")
    parser.flag("consumer", "only groups of consumers, of any type")
    parser.flag("share", "only share groups")
    parser.flag("streams", "only streams groups")
    add_json_option(parser)
    add_watch_option(parser, "--list")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    return run(lambda _: _watch(options), [], prefix="Error while executing groups command : ")


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments, "bootstrap-server")
    if not options.list:
        parser.error("Command must include exactly one action: --list.")
    if given(options, "group-type") and options.group_type.capitalize() not in _TYPES:
        parser.error("--group-type must be a valid group type.")
    for name in _FILTERS:
        others = [other for other in ("group-type", "protocol", *_FILTERS) if other != name]
        parser.exclude(options, name, others)
    return options


def _watch(options: Namespace) -> int:
    with open_admin(options, "kafka-groups", timeout_ms=_TIMEOUT_MS) as admin:
        return watched(lambda: _list(admin, options), options.watch)


def _list(admin: "Admin", options: Namespace) -> int:
    groups = admin.list_groups()
    chosen = [group for group in groups if passes(group, options)]
    if options.json:
        print_json(
            groups=[
                {"group": one.group_id, "type": one.type, "protocol": one.protocol_type} for one in chosen
            ]
        )
    else:
        print(listing(chosen), end="")
    return 0


def passes(group: "GroupListing", options: Namespace) -> bool:
    """Returns True if the options select the group."""
    if options.consumer:
        return group.type == "Consumer" or group.protocol_type in ("consumer", "")
    if options.share:
        return group.type == "Share"
    if options.streams:
        return group.type == "Streams"
    return (options.group_type is None or group.type == options.group_type.capitalize()) and (
        options.protocol is None or group.protocol_type == options.protocol
    )


def listing(groups: "Sequence[GroupListing]") -> str:
    """The table. All columns are as wide as the longest text of any column."""
    lines = [(group.group_id, group.type, group.protocol_type) for group in groups]
    width = max([_COLUMN_WIDTH, *(len(text) for line in lines for text in line)])
    header = " ".join(f"{name:<{width}}" for name in ("GROUP", "TYPE", "PROTOCOL"))
    return f"{header}\n" + "".join("".join(f"{text:<{width}} " for text in line) + "\n" for line in lines)
