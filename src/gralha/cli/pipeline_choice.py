"""The common start of the pipeline commands: the pipelines of the file, and the check of the broker."""

import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gralha.cli.colour import red
from gralha.cli.pipeline_session import CommandSpark
from gralha.cli.program import EXIT_FAILED, one_line

if TYPE_CHECKING:
    from gralha.pipelines.declaration import Pipeline
    from gralha.pipelines.running import RunOptions


def chosen_pipelines(options: Namespace, spark: CommandSpark) -> "list[Pipeline]":
    """The pipelines of the file, or those of --name. Starts Spark if the file needs it to load."""
    from gralha.pipelines.errors import SparkNeededError
    from gralha.pipelines.loading import load, named

    try:
        pipelines = load(options.file)
    except SparkNeededError as needed:
        spark.session(needed.settings)
        pipelines = load(options.file)
    if not options.name:
        return pipelines
    return [named(pipelines, name) for name in dict.fromkeys(options.name)]


def run_options(options: Namespace) -> "RunOptions":
    """The options of a run. Fails before Spark starts if no broker can be reached."""
    from gralha.cli.connect import check_reachable
    from gralha.cli.properties import load_properties
    from gralha.pipelines.running import RunOptions

    kafka = load_properties(options.command_config) if options.command_config else {}
    check_reachable({**kafka, "bootstrap.servers": options.bootstrap_server})
    return RunOptions(
        bootstrap_servers=options.bootstrap_server,
        checkpoints=options.checkpoints,
        available_now=getattr(options, "available_now", False),
        fresh=getattr(options, "fresh", False),
        kafka=kafka,
    )


def say_if_watched(text: str) -> None:
    """Prints progress on standard error if that is a terminal: the output of the command stays clean."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Prints progress at once, also into a file or a pipe."""
    print(text, flush=True)


def failed(sentences: Iterable[str]) -> int:
    """Prints a line on standard error for each sentence, so that a command in it can be copied. Returns 1."""
    sys.stdout.flush()
    for sentence in sentences:
        print(red(one_line(sentence), sys.stderr), file=sys.stderr)
    return EXIT_FAILED
