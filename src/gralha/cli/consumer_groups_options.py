"""The command line of kafka-consumer-groups, with Kafka's rules for combining options."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gralha.cli.arguments import CommandParser, given, positive_int
from gralha.cli.connect import add_connection_options
from gralha.cli.json_output import add_json_option
from gralha.cli.program import CommandError
from gralha.cli.times import parse_duration, parse_time
from gralha.cli.watching import add_watch_option

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
_VIEWS = ("members", "offsets", "state")
SCENARIOS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
# Options that are allowed only with these actions.
_AVAILABLE_WITH: Mapping[str, tuple[str, ...]] = {
    "members": ("describe",),
    "verbose": ("describe",),
    "offsets": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
    "json": ("list", "describe", "reset-offsets", "delete-offsets"),
    "watch": ("list", "describe"),
}
_STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
    "Empty",
    "Assigning",
    "Reconciling",
)
_TYPES = ("Classic", "Consumer")
_DRY_RUN_NOTICE = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will "
    "require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly "
    "if you are scripting this command and want to keep the current default behavior without prompting."
)


class NamedTopic(NamedTuple):
    """A topic on the command line. Without partitions it means all of them."""

    topic: str
    partitions: list[int] | None = None


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-consumer-groups",
        "Lists, describes and deletes consumer groups, and resets their offsets.",
        [
            "--bootstrap-server localhost:9092 --describe --group readers",
            "--bootstrap-server localhost:9092 --reset-offsets --to-earliest --group readers --all-topics",
        ],
    )
    add_connection_options(parser)
    parser.flag("list", "list all consumer groups")
    parser.flag("describe", "show groups: their offsets and lag, or --members, or --state")
    parser.flag("delete", "delete groups that have no members, with their offsets")
    parser.flag("reset-offsets", "change the offsets of groups that have no members; see --execute")
    parser.flag("delete-offsets", "delete a group's offsets of --topic")
    parser.value("validate-regex", "check a regular expression (RE2) for subscriptions", metavar="REGEX")
    parser.values("group", help_text="the group; may be given many times", metavar="GROUP")
    parser.flag("all-groups", "all consumer groups")
    parser.values("topic", help_text="the topic, or topic:0,1,2; may be given many times", metavar="TOPIC")
    parser.flag("all-topics", "with --reset-offsets: all topics with committed offsets")
    parser.flag("members", "with --describe: the members of the group")
    parser.flag("offsets", "with --describe: offsets and lag (the default)")
    parser.flag("verbose", "with --describe: more columns")
    parser.value(
        "state",
        "with --describe: the state of the group; with --list: show states, or only groups in these states",
        nargs="?",
        const="",
        metavar="STATE,...",
    )
    parser.value(
        "type",
        "with --list: show types, or only groups of these types",
        nargs="?",
        const="",
        metavar="TYPE,...",
    )
    _add_reset_options(parser)
    add_json_option(parser)
    add_watch_option(parser, "--list and --describe")
    parser.value(
        "timeout",
        "how long to wait for answers (default: 30000)",
        kind=positive_int,
        default=30_000,
        metavar="MS",
    )
    return parser


def _add_reset_options(parser: CommandParser) -> None:
    parser.flag("dry-run", "with --reset-offsets: show the new offsets, change nothing (the default)")
    parser.flag("execute", "with --reset-offsets: change the offsets")
    parser.flag("export", "with --reset-offsets: print CSV, for --from-file")
    parser.value("to-offset", "reset to this offset", kind=int, metavar="OFFSET")
    parser.value("shift-by", "move by this many records, forward or back (-n)", kind=int, metavar="N")
    parser.value("to-datetime", "reset to a time: YYYY-MM-DDThh:mm:ss.sss", kind=parse_time, metavar="TIME")
    parser.value("by-duration", "reset to this long ago: PnDTnHnMnS", kind=parse_duration, metavar="DURATION")
    parser.flag("to-earliest", "reset to the earliest offset")
    parser.flag("to-latest", "reset to the latest offset")
    parser.flag("to-current", "reset to the current offset")
    parser.value("from-file", "reset to the offsets in a CSV file", metavar="FILE")


def parse_options(arguments: list[str]) -> Namespace:
    """Parses and checks the command line."""
    parser = _parser()
    options = parser.parse(arguments)
    for name, actions in _AVAILABLE_WITH.items():
        if given(options, name) and not any(given(options, action) for action in actions):
            parser.error(f"Option(s) [{name}] are unavailable given other options on the command line")
    if not given(options, "validate-regex"):
        parser.require(options, "bootstrap-server")
    _check_describe(parser, options)
    _check_delete(parser, options)
    _check_reset(parser, options)
    parser.exclude(options, "group", ["all-groups", "list"])
    parser.exclude(options, "topic", ["list", "describe"])
    if sum(given(options, action) for action in _ACTIONS) != 1:
        listed = ", ".join(f"--{action}" for action in _ACTIONS)
        parser.error(f"Command must include exactly one action: {listed}")
    options.states = _known(options.state or "", _STATES, "Invalid state list", "Valid states are")
    options.types = _known(options.type or "", _TYPES, "Invalid types list", "Valid types are")
    options.topic = [parse_topic(topic) for topic in options.topic]
    return options


def _check_describe(parser: CommandParser, options: Namespace) -> None:
    if not options.describe:
        return
    _require_groups(parser, options, "describe")
    if sum(given(options, view) for view in _VIEWS) > 1:
        parser.error(f"Option [describe] takes at most one of these options: {_listed(_VIEWS)}")
    if options.state:
        parser.error("Option [describe] does not take a value for [state]")


def _check_delete(parser: CommandParser, options: Namespace) -> None:
    if options.delete:
        _require_groups(parser, options, "delete")
        if options.topic:
            parser.error(
                "The consumer does not support topic-specific offset deletion from a consumer group."
            )
    if options.delete_offsets and not (options.group and options.topic):
        parser.error("Option [delete-offsets] takes the following options: [group], [topic]")
    if options.delete_offsets and len(options.group) > 1:
        parser.error("Found multiple arguments for option group, give only one")


def _check_reset(parser: CommandParser, options: Namespace) -> None:
    if not options.reset_offsets:
        return
    if options.json:
        parser.exclude(options, "json", ["export"])
    if options.dry_run and options.execute:
        parser.error("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not options.dry_run and not options.execute:
        print(_DRY_RUN_NOTICE, file=sys.stderr)
    _require_groups(parser, options, "reset-offsets")
    for scenario in SCENARIOS:
        parser.exclude(options, scenario, [other for other in SCENARIOS if other != scenario])
    if not any(given(options, scenario) for scenario in SCENARIOS):
        parser.error(
            f"Option '[reset-offsets]' requires one of the following scenarios: {_listed(SCENARIOS)}"
        )
    if not (options.all_topics or options.topic or options.from_file):
        parser.error("One of the reset scopes should be defined: --all-topics, --topic.")


def _require_groups(parser: CommandParser, options: Namespace, action: str) -> None:
    if not options.group and not options.all_groups:
        parser.error(f"Option [{action}] takes one of these options: [group], [all-groups]")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"[{name}]" for name in names)


def parse_topic(text: str) -> NamedTopic:
    """A topic of --topic, with partitions after a colon."""
    topic, colon, numbers = text.partition(":")
    if not colon:
        return NamedTopic(topic)
    if not topic or not numbers or ":" in numbers:
        raise CommandError(f"Invalid topic arg '{text}', expected topic name and partitions")
    partitions = numbers.split(",")
    for partition in partitions:
        if not partition.isascii() or not partition.isdigit():
            raise CommandError(f"Invalid partition '{partition}' specified in topic arg '{text}'")
    return NamedTopic(topic, [int(partition) for partition in partitions])


def _known(text: str, known: tuple[str, ...], complaint: str, remedy: str) -> list[str]:
    """The names in a list with commas, spelled as brokers spell them."""
    by_name = {name.lower(): name for name in known}
    try:
        return [by_name[part.strip().lower()] for part in text.split(",")] if text else []
    except KeyError:
        raise CommandError(f"{complaint} '{text}'. {remedy}: {', '.join(known)}") from None
