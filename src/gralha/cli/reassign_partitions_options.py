"""The command line of kafka-reassign-partitions, with Kafka's rules for combining options."""

from argparse import Namespace
from collections.abc import Mapping, Sequence

from gralha.cli.arguments import CommandParser, given
from gralha.cli.connect import add_connection_options
from gralha.cli.json_output import add_json_option
from gralha.cli.watching import add_watch_option

ACTIONS = ("generate", "execute", "verify", "cancel", "list")
DEFAULT_TIMEOUT_MS = 10_000
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "generate": ("disable-rack-aware",),
    "execute": (
        *("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
        *("disallow-replication-factor-change", "wait"),
    ),
    "verify": ("preserve-throttles", "watch", "json"),
    "cancel": ("preserve-throttles", "timeout", "bootstrap-controller"),
    "list": ("bootstrap-controller", "json"),
}
_OPTIONS = (
    "json",
    "wait",
    "watch",
    "bootstrap-controller",
    "reassignment-json-file",
    "topics-to-move-json-file",
    "broker-list",
    "disable-rack-aware",
    "throttle",
    "replica-alter-log-dirs-throttle",
    "timeout",
    "additional",
    "preserve-throttles",
    "disallow-replication-factor-change",
)


class RefusedError(Exception):
    """An error that Kafka prints without `Error: ` before it. It may have several lines."""


def _parser() -> CommandParser:
    parser = CommandParser(
        "kafka-reassign-partitions",
        "Moves partitions to other brokers, or to other folders of a broker.",
        [
            "--bootstrap-server localhost:9092 --execute --reassignment-json-file plan.json",
            "--bootstrap-server localhost:9092 --verify --reassignment-json-file plan.json",
        ],
    )
    add_connection_options(parser)
    parser.value(
        "bootstrap-controller", "with --list and --cancel: controllers instead", metavar="HOST:PORT,..."
    )
    parser.flag("generate", "propose where the partitions of topics could go; nothing is moved")
    parser.flag("execute", "begin to move partitions as --reassignment-json-file says")
    parser.flag("verify", "check whether the moves are done; if so, remove the throttles")
    parser.flag("cancel", "cancel the moves of the partitions in the file")
    parser.flag("list", "show all partitions that are moving")
    parser.value(
        "reassignment-json-file",
        'a file like {"version": 1, "partitions": [{"topic": "foo", "partition": 1, "replicas": [1, 2, 3], '
        '"log_dirs": ["any", "/data", "any"]}]}; "log_dirs" is optional',
        metavar="FILE",
    )
    parser.value(
        "topics-to-move-json-file",
        'with --generate: a file like {"version": 1, "topics": [{"topic": "foo"}]}',
        metavar="FILE",
    )
    parser.value("broker-list", "with --generate: the brokers to use", metavar="N,N,...")
    parser.flag("disable-rack-aware", "with --generate: ignore racks")
    parser.value("throttle", "with --execute: bytes per second between brokers", kind=int, metavar="N")
    parser.value(
        "replica-alter-log-dirs-throttle",
        "with --execute: bytes per second between folders of a broker",
        kind=int,
        metavar="N",
    )
    parser.value(
        "timeout",
        f"how long to wait for moves between folders to begin (default: {DEFAULT_TIMEOUT_MS} ms)",
        kind=int,
        metavar="MS",
    )
    add_json_option(parser)
    parser.flag("wait", "with --execute: show the progress until all moves are done, then do as --verify")
    add_watch_option(parser, "--verify")
    parser.flag("additional", "with --execute: even if others are moving; also to change the throttle")
    parser.flag("preserve-throttles", "leave throttles as they are")
    parser.flag("disallow-replication-factor-change", "with --execute: keep the number of replicas")
    return parser


def parse_options(arguments: Sequence[str]) -> Namespace:
    """Parses and checks the command line. Adds `action`."""
    parser = _parser()
    options = parser.parse(arguments)
    actions = [action for action in ACTIONS if given(options, action)]
    if len(actions) != 1:
        listed = ", ".join(f"--{action}" for action in ACTIONS)
        parser.error(f"Command must include exactly one action: {listed}")
    if given(options, "bootstrap-server") and given(options, "bootstrap-controller"):
        parser.error("Please don't specify both --bootstrap-server and --bootstrap-controller")
    if not given(options, "bootstrap-server") and not given(options, "bootstrap-controller"):
        parser.error("Please specify either --bootstrap-server or --bootstrap-controller")
    (action,) = actions
    parser.require(options, *_REQUIRED[action])
    for name in _OPTIONS:
        if given(options, name) and name not in _REQUIRED[action] + _ALLOWED[action]:
            parser.error(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    options.action = action
    return options
