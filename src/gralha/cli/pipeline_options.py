"""The options of the `gralha pipeline` commands, with their help."""

import argparse
from typing import TYPE_CHECKING, Final

from gralha.cli.arguments import ProgramParser, port_number, positive_int
from gralha.cli.bootstrap import ENVIRONMENT, default_bootstrap_servers

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[ProgramParser]

DEFAULT_CHECKPOINTS: Final = "checkpoints"
DEFAULT_STOP_TIMEOUT_SECONDS: Final = 60.0
WATCH_SECONDS: Final = 2.0
DEFAULT_LINES: Final = 100
# Each command, what it does, and an example.
COMMANDS: Final = {
    "init": (
        "create a small project: a pipeline, rows to test it, and a file for pytest",
        "gralha pipeline init shop",
    ),
    "run": ("run the pipelines of a file until Ctrl-C", "gralha pipeline run pipelines.py"),
    "plan": ("show what a run would do, and whether it can start", "gralha pipeline plan pipelines.py"),
    "test": ("run the tests in the same file", "gralha pipeline test pipelines.py --only adds_up"),
    "status": ("show the state of pipelines", "gralha pipeline status --watch"),
    "logs": ("print the log of the last runs", "gralha pipeline logs totals --lines 20 --follow"),
    "stop": ("stop running pipelines after their current batch", "gralha pipeline stop totals"),
    "replay-dead-letters": (
        "write dead letters back to the topics that they came from",
        "gralha pipeline replay-dead-letters totals --dry-run",
    ),
}
ABOUT_REPLAY: Final = (
    "Each dead letter becomes a record of its topic of origin again, with its key, value, headers, "
    "timestamp and partition. First correct the schema and start the pipeline again. Every reader of the "
    "topic gets the records again, not only this pipeline. The consumer group NAME.replayed remembers how "
    "far it has come, so a second call writes only new dead letters. Each one is written exactly once, also "
    "after an interrupted call, for readers with isolation.level=read_committed."
)


def parser() -> ProgramParser:
    """The parser of all commands."""
    main = ProgramParser(
        prog="gralha pipeline",
        description="Data pipelines on Spark, from a Python file.",
        epilog="`gralha pipeline COMMAND --help` shows the options of a command.",
        examples=("gralha pipeline init shop",),
    )
    commands = main.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_init(_added(commands, "init"))
    _add_run(_added(commands, "run"))
    _add_plan(_added(commands, "plan"))
    _add_test(_added(commands, "test"))
    _add_status(_added(commands, "status"))
    _add_logs(_added(commands, "logs"))
    _add_stop(_added(commands, "stop"))
    _add_replay(_added(commands, "replay-dead-letters", more=ABOUT_REPLAY))
    return main


def _added(commands: "Commands", name: str, more: str = "") -> ProgramParser:
    text, example = COMMANDS[name]
    return commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}. {more}".strip(),
        examples=(example,),
    )


def _add_init(parser: ProgramParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="the folder of the project, and the name of its pipeline"
    )


def _add_run(parser: ProgramParser) -> None:
    _add_file(parser)
    _add_where(parser)
    _add_spark(parser)
    parser.add_argument(
        "--available-now", "--once", action="store_true", help="process all records that exist now, then stop"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="start again: move the old checkpoints away and read from starting_offsets",
    )
    parser.add_argument(
        "--ship",
        action="store_true",
        help="send Gralha to the machines of a Spark cluster that do not have it",
    )
    parser.add_argument(
        "--metrics-port",
        type=port_number,
        metavar="P",
        help="serve metrics for Prometheus on this port; 0: a free port (default: no metrics)",
    )


def _add_plan(parser: ProgramParser) -> None:
    _add_file(parser)
    _add_where(parser)
    _add_spark(parser)
    parser.add_argument("--json", action="store_true", help="a JSON object on one line for each pipeline")


def _add_test(parser: ProgramParser) -> None:
    _add_file(parser)
    parser.add_argument("--only", metavar="TEXT", help="tests with this text in their name (default: all)")
    _add_verbose(parser)


def _add_status(parser: ProgramParser) -> None:
    _add_names(parser)
    parser.add_argument("--json", action="store_true", help="a JSON object on one line for each pipeline")
    parser.add_argument(
        "--watch", action="store_true", help=f"show the state every {WATCH_SECONDS:.0f} seconds until Ctrl-C"
    )
    _add_checkpoints(parser)


def _add_logs(parser: ProgramParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="entries about this pipeline (default: all)")
    parser.add_argument(
        "--lines",
        type=positive_int,
        default=DEFAULT_LINES,
        metavar="N",
        help=f"print the last N lines (default {DEFAULT_LINES})",
    )
    parser.add_argument("--follow", "-f", action="store_true", help="also print new lines, until Ctrl-C")
    _add_checkpoints(parser)


def _add_stop(parser: ProgramParser) -> None:
    _add_names(parser)
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=DEFAULT_STOP_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait until they have stopped (default {DEFAULT_STOP_TIMEOUT_SECONDS:.0f})",
    )
    _add_checkpoints(parser)


def _add_replay(parser: ProgramParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the pipeline")
    parser.add_argument(
        "--topic", metavar="TOPIC", help="the dead-letter topic (default: that of the last run)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the dead letters, and write nothing")
    parser.add_argument("--all", action="store_true", help="also those that were written back before")
    _add_where(parser)


def _add_file(parser: ProgramParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file with pipelines")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="PIPELINE",
        help="run only this pipeline of the file; may be given many times (default: all)",
    )


def _add_names(parser: ProgramParser) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="these pipelines (default: all)")


def _add_where(parser: ProgramParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        default=default_bootstrap_servers(),
        metavar="HOST:PORT,...",
        help=f"the brokers to connect to (default: {ENVIRONMENT}, or {default_bootstrap_servers()})",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="a file with properties of Kafka's clients for all topics (default: none)",
    )
    _add_checkpoints(parser)


def _add_checkpoints(parser: ProgramParser) -> None:
    parser.add_argument(
        "--checkpoints",
        default=DEFAULT_CHECKPOINTS,
        metavar="DIR",
        help=f"where pipelines store their position and state (default ./{DEFAULT_CHECKPOINTS}); on a Spark "
        "cluster a place that all machines can reach",
    )


def _add_spark(parser: ProgramParser) -> None:
    parser.add_argument(
        "--master",
        metavar="URL",
        help="local[2] (two cores), spark://host:7077, yarn, k8s://... (default local[*]: this machine)",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a Spark setting; may be given many times (default: none)",
    )
    _add_verbose(parser)


def _add_verbose(parser: ProgramParser) -> None:
    parser.add_argument(
        "--verbose", action="store_true", help="show Spark's log and the details of errors on the terminal"
    )


def _seconds(text: str) -> float:
    """A time above zero."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return seconds
