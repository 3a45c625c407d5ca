"""kafka-server-start: runs one node, with the same command line as Kafka's script."""

from collections.abc import Sequence

from gralha.cli.arguments import ProgramParser
from gralha.cli.program import CommandError, run
from gralha.cli.server import announce_ready, log_to_stderr, serve
from gralha.cli.text_file import read_text


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    parser = ProgramParser(
        prog="kafka-server-start",
        description="Run one node in the foreground, as `gralha server` does.",
        examples=("kafka-server-start config/server.properties --override log.dirs=/data",),
    )
    parser.add_argument("file", metavar="FILE", help="server.properties with Kafka's names")
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting that replaces that of the file; may be given many times",
    )
    if "-daemon" in arguments:
        raise CommandError(
            "-daemon is not possible: use a service manager, or type "
            "nohup kafka-server-start FILE > kafka.log 2>&1 &"
        )
    options = parser.parse_args(arguments)
    text = read_text(options.file, "the properties file")
    log_to_stderr()
    return serve(text, options.file, announce_ready, options.override)
