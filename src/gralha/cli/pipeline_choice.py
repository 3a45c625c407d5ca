"""The common start of the pipeline commands: the pipelines of the file, and the check of the broker."""

from argparse import Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gralha.pipelines.declaration import Pipeline
    from gralha.pipelines.running import RunOptions


def chosen_pipelines(options: Namespace) -> "list[Pipeline]":
    """The pipelines of the file, or those of --name."""
    from gralha.pipelines.loading import load, named

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
