"""The common start of the pipeline commands: the pipelines of the file, and the check of the broker."""

import contextlib
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from gralha.cli.colour import red
from gralha.cli.pipeline_session import CommandSpark
from gralha.cli.program import EXIT_FAILED, one_line
from gralha.cli.properties import load_properties

if TYPE_CHECKING:
    from gralha.pipelines.declaration import Pipeline
    from gralha.pipelines.running import RunOptions

# The beginning of the masters that run everything on this machine.
LOCAL: Final = "local"


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
    from gralha.pipelines.running import RunOptions
    from gralha.spark.secrets import refer_to_file

    path = options.command_config
    kafka = load_properties(path) if path else {}
    if path and (options.master or LOCAL).startswith(LOCAL):
        # The executors of this machine can read the file, so Spark need not get the secrets in it.
        kafka = refer_to_file(kafka, path)
    check_broker(options, kafka)
    return RunOptions(
        bootstrap_servers=options.bootstrap_server,
        checkpoints=options.checkpoints,
        available_now=getattr(options, "available_now", False),
        fresh=getattr(options, "fresh", False),
        kafka=kafka,
    )


def check_broker(options: Namespace, kafka: Mapping[str, str]) -> None:
    """Fails if no broker can be reached. Without the secrets on this machine nothing is checked."""
    from gralha.cli.connect import check_reachable
    from gralha.spark.secrets import SecretError, resolve

    with contextlib.suppress(SecretError):
        check_reachable(resolve({**kafka, "bootstrap.servers": options.bootstrap_server}))


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
