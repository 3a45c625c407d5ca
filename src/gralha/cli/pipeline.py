"""`gralha pipeline run|plan|status|stop|test`: runs pipelines of a Python file on Spark.

Each command has its own module. This module has their options. Spark starts only for commands that need it,
and after all checks that need no Spark: a wrong file or an unreachable broker is reported at once.
"""

from argparse import Namespace, _SubParsersAction
from importlib import import_module
from typing import TYPE_CHECKING

from gralha.cli.arguments import ProgramParser, port_number
from gralha.cli.program import CommandError, run

DEFAULT_BOOTSTRAP_SERVER = "localhost:9092"
DEFAULT_CHECKPOINTS = "checkpoints"
DEFAULT_STOP_TIMEOUT_SECONDS = 60.0

if TYPE_CHECKING:
    Commands = _SubParsersAction[ProgramParser]


def main(arguments: list[str] | None = None) -> int:
    return run(_pipeline, arguments)


def _pipeline(arguments: list[str]) -> int:
    parser = ProgramParser(prog="gralha pipeline", description="Data pipelines on Spark, from a Python file.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_plan(commands)
    _add_status(commands)
    _add_stop(commands)
    _add_test(commands)
    options = parser.parse_args(arguments)
    module = import_module(f"gralha.cli.pipeline_{options.command}")
    return _without_tracebacks(module.command, options)


def _without_tracebacks(command: object, options: Namespace) -> int:
    """Runs a command. An error that a person can fix becomes one sentence without a traceback."""
    from gralha.pipelines.errors import PipelineError
    from gralha.pipelines.state_files import AlreadyRunningError
    from gralha.spark.java import JavaError

    assert callable(command)
    try:
        code: int = command(options)
        return code
    except (PipelineError, AlreadyRunningError, JavaError) as error:
        raise CommandError(str(error)) from None
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "pyarrow", "pandas", "py4j"):
            raise
        raise CommandError(
            f"Pipelines need {error.name}, which is not installed here: pip install 'gralha[spark]'"
        ) from None


def _add_run(commands: "Commands") -> None:
    parser = commands.add_parser("run", help="run the pipelines of a file until Ctrl-C")
    _add_file(parser)
    _add_where(parser)
    _add_spark(parser)
    parser.add_argument(
        "--available-now", "--once", action="store_true", help="process all records that exist now, then stop"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="move old checkpoints away and read from starting_offsets",
    )
    parser.add_argument(
        "--ship",
        action="store_true",
        help="send Gralha to the machines of a Spark cluster that lack it",
    )
    parser.add_argument(
        "--metrics-port",
        type=port_number,
        metavar="P",
        help="serve metrics for Prometheus (0: a free port)",
    )


def _add_plan(commands: "Commands") -> None:
    parser = commands.add_parser("plan", help="show what a run would do, and whether it can start")
    _add_file(parser)
    _add_where(parser)
    _add_spark(parser)


def _add_status(commands: "Commands") -> None:
    parser = commands.add_parser("status", help="show the state of pipelines")
    parser.add_argument("name", nargs="*", metavar="NAME", help="these pipelines (default: all)")
    parser.add_argument("--json", action="store_true", help="a JSON object on one line for each pipeline")
    _add_checkpoints(parser)


def _add_stop(commands: "Commands") -> None:
    parser = commands.add_parser("stop", help="stop running pipelines after their current batch")
    parser.add_argument("name", nargs="*", metavar="NAME", help="these pipelines (default: all)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=DEFAULT_STOP_TIMEOUT_SECONDS,
        metavar="SECONDS",
        help=f"how long to wait for the end (default {DEFAULT_STOP_TIMEOUT_SECONDS:.0f})",
    )
    _add_checkpoints(parser)


def _add_test(commands: "Commands") -> None:
    parser = commands.add_parser("test", help="run the tests in the same file")
    _add_file(parser)
    parser.add_argument("--only", metavar="TEXT", help="tests with this text in their name")


def _add_file(parser: ProgramParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file with pipelines")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="PIPELINE",
        help="this pipeline of the file; may be repeated (default: all)",
    )


def _add_where(parser: ProgramParser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        default=DEFAULT_BOOTSTRAP_SERVER,
        metavar="HOST:PORT,...",
        help=f"the brokers to connect to (default {DEFAULT_BOOTSTRAP_SERVER})",
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="a file with properties of Kafka's clients for all topics"
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
        help="local[*] (this machine, the default), local[2], spark://host:7077, yarn, k8s://...",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a Spark setting; may be repeated",
    )
