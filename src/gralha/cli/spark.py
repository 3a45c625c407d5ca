"""`gralha spark up`: runs a standalone Spark cluster on this machine, for development and tests."""

import argparse
import os
import re
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from gralha.cli.arguments import ProgramParser, port_number, positive_int
from gralha.cli.program import CommandError, run, stop_on_terminate
from gralha.cli.up_folders import default_data_folder

if TYPE_CHECKING:
    from gralha.spark.standalone import StandaloneCluster

DEFAULT_PORT: Final = 7077
MAX_WORKERS: Final = 16
MIN_MEMORY_MIB: Final = 1024
WATCH_INTERVAL_S: Final = 0.5


def main(arguments: list[str] | None = None) -> int:
    return run(_spark, arguments)


def _spark(arguments: list[str]) -> int:
    return _up(_parser().parse_args(arguments or ["--help"]))


def _up(options: argparse.Namespace) -> int:
    if options.workers > MAX_WORKERS:
        raise CommandError(f"{options.workers} workers are too many for one machine: at most {MAX_WORKERS}")
    if options.port + options.workers + 1 > 65535:
        raise CommandError(f"There are not enough ports after {options.port}: choose a smaller --port")
    from gralha.spark.home import NoSparkError
    from gralha.spark.java import JavaError
    from gralha.spark.standalone import StandaloneCluster, StandaloneError

    cluster = StandaloneCluster(
        folder=(options.data or default_data_folder() / "spark").expanduser().resolve(),
        workers=options.workers,
        port=options.port,
        cores_per_worker=options.cores or max(1, (os.cpu_count() or 1) // options.workers),
        memory_per_worker=options.memory,
    )
    stop_on_terminate()
    try:
        cluster.start()
        _announce(cluster)
        _watch(cluster)
    except KeyboardInterrupt:
        return 0
    except (JavaError, NoSparkError, StandaloneError) as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(
            f"{cluster.folder} cannot be used: {error.strerror} (choose another --data)"
        ) from None
    finally:
        cluster.stop()


def _parser() -> ProgramParser:
    programs = ProgramParser(
        prog="gralha spark",
        description="A small Spark cluster on this machine, for development and tests.",
        examples=("gralha spark up --workers 2",),
    )
    commands = programs.add_subparsers(dest="command", required=True, metavar="COMMAND")
    text = "run a Spark master and workers on this machine, until Ctrl-C"
    parser = commands.add_parser(
        "up",
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        examples=("gralha spark up", "gralha spark up --workers 2 --cores 1 --memory 2g"),
    )
    parser.add_argument(
        "--workers", type=positive_int, default=2, metavar="N", help="number of workers (default 2)"
    )
    parser.add_argument(
        "--port",
        type=port_number,
        default=DEFAULT_PORT,
        metavar="P",
        help=f"port of the master (default {DEFAULT_PORT}); web pages use the next ports; 0: free ports",
    )
    parser.add_argument(
        "--cores", type=positive_int, metavar="N", help="cores of each worker (default: an equal share)"
    )
    parser.add_argument(
        "--memory", type=_memory, default="2g", metavar="SIZE", help="memory of each worker (default 2g)"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"logs and scratch files (default {default_data_folder()}/spark)",
    )
    return programs


def _memory(text: str) -> str:
    found = re.fullmatch(r"(\d{1,6})([mg])", text.lower())
    if found is None or int(found[1]) * (1024 if found[2] == "g" else 1) < MIN_MEMORY_MIB:
        raise argparse.ArgumentTypeError(
            f"{text} is not a size for an executor: write 1g or more, such as 1536m or 2g"
        )
    return text.lower()


def _announce(cluster: "StandaloneCluster") -> None:
    print("Spark is up")
    rows = [("master", f"{cluster.url}    {cluster.master.ui_url}")]
    rows += [(part.name, part.ui_url) for part in cluster.worker_parts]
    rows += [("data", str(cluster.folder))]
    for name, where in rows:
        print(f"  {name:<10}{where}")
    print(f"Ctrl-C stops it. Try: gralha pipeline run FILE.py --master {cluster.url}", flush=True)


def _watch(cluster: "StandaloneCluster") -> NoReturn:
    """Waits for Ctrl-C. Reports a worker that ends. Raises StandaloneError if the master ends."""
    from gralha.spark.standalone import StandaloneError, why_ended

    while True:
        ended = cluster.ended_part()
        if ended is not None:
            if ended is cluster.master:
                raise StandaloneError(why_ended(ended))
            print(why_ended(ended), file=sys.stderr, flush=True)
            cluster.parts.remove(ended)
        select.select([], [], [], WATCH_INTERVAL_S)
