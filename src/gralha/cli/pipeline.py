"""`gralha pipeline COMMAND`: writes, runs and watches pipelines of a Python file on Spark.

Each command has its own module, and `pipeline_options.py` has their options. Spark starts only for commands
that need it, and after all checks that need no Spark: a wrong file or an unreachable broker is reported at
once.
"""

from argparse import Namespace
from collections.abc import Callable, Collection
from importlib import import_module

from gralha.cli.pipeline_options import COMMANDS, parser
from gralha.cli.program import EXIT_FAILED, CommandError, run


def main(arguments: list[str] | None = None) -> int:
    return run(_pipeline, arguments)


def _pipeline(arguments: list[str]) -> int:
    words = command_first(arguments, COMMANDS)
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words and words[0] not in (*COMMANDS, "-h", "--help") and words[0].startswith("-"):
        raise CommandError(f"Which command? Give one of: {', '.join(COMMANDS)}.")
    if not words:
        parser().print_help()
        return EXIT_FAILED
    return _without_tracebacks(parser().parse_args(words))


def command_first(arguments: list[str], commands: Collection[str]) -> list[str]:
    """The arguments with the command at their beginning: an option of a command may stand before it, too."""
    if not arguments or not arguments[0].startswith("-"):
        return arguments
    place = next((place for place, word in enumerate(arguments) if word in commands), 0)
    return [arguments[place], *arguments[:place], *arguments[place + 1 :]]


def _without_tracebacks(options: Namespace) -> int:
    """Runs a command. An error that a person can fix becomes one sentence without a traceback."""
    try:
        # Most commands import PySpark.
        module = import_module(f"gralha.cli.pipeline_{options.command.replace('-', '_')}")
        return _with_sentences(module.command, options)
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "pyarrow", "pandas", "py4j"):
            raise
        from gralha.spark.extra import install_command

        raise CommandError(
            f"Pipelines need {error.name}, which is not installed here: {install_command()}"
        ) from None


def _with_sentences(command: Callable[[Namespace], int], options: Namespace) -> int:
    from gralha.cli.pipeline_choice import failed
    from gralha.pipelines.errors import CannotStartError, PipelineError
    from gralha.pipelines.state_files import AlreadyRunningError
    from gralha.spark.java import JavaError

    try:
        return command(options)
    except CannotStartError as error:
        return failed([f"Cannot start: {sentence}" for sentence in error.sentences])
    except (PipelineError, AlreadyRunningError, JavaError) as error:
        raise CommandError(str(error)) from None
