"""`gralha pipeline test FILE`: runs the tests of pipelines, and shows how rows differ."""

import linecache
import tempfile
import time
import traceback
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gralha.cli.colour import red
from gralha.cli.pipeline_choice import chosen_pipelines, say
from gralha.cli.pipeline_session import CommandSpark
from gralha.cli.program import EXIT_FAILED, CommandError
from gralha.pipelines.declaration import Pipeline
from gralha.pipelines.errors import PipelineError
from gralha.pipelines.spark_errors import of_query, short
from gralha.pipelines.testing import SMALL, SMALL_MASTER, run_rows

Test = Callable[[Any], None]


def command(options: Namespace) -> int:
    """Runs the tests. Returns 1 if one of them fails."""
    with (
        tempfile.TemporaryDirectory(prefix="gralha-pipeline-test-") as folder,
        CommandSpark(
            *(SMALL_MASTER, "gralha pipeline test", SMALL, Path(folder, "spark.log")),
            keeps_log=False,
            is_verbose=options.verbose,
            say=say,
        ) as spark,
    ):
        pipelines = chosen_pipelines(options, spark)
        chosen = {pipeline: _chosen(pipeline, options.only) for pipeline in pipelines}
        if not any(chosen.values()):
            raise CommandError(_no_tests(options, pipelines))
        session = spark.session()
        started = time.monotonic()
        failed = 0
        for pipeline, tests in chosen.items():
            if tests:
                print(pipeline.name)
            for test in tests:
                failed += not _passes(pipeline, test, partial(run_rows, pipeline, session=session))
    total = sum(map(len, chosen.values()))
    verdict = f"{failed} failed" if failed else "all passed"
    print(f"{total} test{'' if total == 1 else 's'}, {verdict}, in {time.monotonic() - started:.1f} s")
    return EXIT_FAILED if failed else 0


def _chosen(pipeline: Pipeline, text: str | None) -> list[Test]:
    return [test for test in pipeline.tests if text is None or text in test.__name__]


def _no_tests(options: Namespace, pipelines: list[Pipeline]) -> str:
    if options.only:
        return f"{options.file} has no test with {options.only!r} in its name"
    return (
        f"{options.file} has no tests. Write one beside the pipeline: a function of `run`, decorated with "
        f"@{pipelines[0].function.__name__}.test (see docs/PIPELINES.md)"
    )


def _passes(pipeline: Pipeline, test: Test, run: Callable[..., Any]) -> bool:
    started = time.monotonic()
    complaint: str | None = None
    try:
        test(run)
    except AssertionError as error:
        complaint = f"{_place(pipeline, error)}{error}" if str(error) else _place(pipeline, error).strip()
    except Exception as error:
        complaint = f"{_place(pipeline, error)}{_reason(error)}"
    mark = f"{'ok' if complaint is None else 'FAILED':<8}"
    mark = mark if complaint is None else red(mark)
    print(f"  {mark}{test.__name__:<50}{time.monotonic() - started:5.1f} s", flush=True)
    if complaint is not None:
        print("\n".join(f"          {line}" for line in complaint.splitlines()), flush=True)
    return complaint is None


def _place(pipeline: Pipeline, error: BaseException) -> str:
    """The last line of the user's file in the traceback, with its text."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == pipeline.file
    ]
    if not lines or lines[-1] is None:
        return ""
    text = linecache.getline(pipeline.file, lines[-1]).strip()
    return f"{Path(pipeline.file).name}:{lines[-1]}: {text}\n"


def _reason(error: Exception) -> str:
    """The error as one sentence, without Spark's plans and stacks."""
    from pyspark.errors import PySparkException, StreamingQueryException

    if isinstance(error, StreamingQueryException):
        return of_query(str(error))
    if isinstance(error, PySparkException | PipelineError):
        return short(error)
    return f"{type(error).__name__}: {error}"
