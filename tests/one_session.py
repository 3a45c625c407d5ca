"""How `pytest -n 2 --dist loadscope` deals out the tests that need Spark.

xdist gives whole modules to its workers. Here all modules that share the one Spark session count as one, the
first: one worker starts the session at once. Meanwhile the other begins with the modules that start programs
with a Spark of their own, the longest of all. (That is so with --no-loadscope-reorder; else xdist begins with
the modules of the most tests, however short they are.) The others in these folders need no Spark.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

FOLDERS = ("tests/spark/", "tests/pipelines/")
# What tests of these modules ask for: a test elsewhere that does is refused.
FIXTURE = "spark_session"
OF_THE_SESSION = (
    "test_contract_batch.py",
    "test_contract_stream.py",
    "test_contract_write.py",
    "test_exactly_once.py",
    "test_exactly_once_sink.py",
    "test_example.py",
    "test_failures.py",
    "test_init.py",
    "test_planning.py",
    "test_running.py",
    "test_secured.py",
    "test_secured_pipelines.py",
    "test_shared_session.py",
    "test_sink.py",
    "test_source_batch.py",
    "test_source_pipelines.py",
    "test_source_stream.py",
    "test_spark_page.py",
    "test_state.py",
    "test_testing.py",
)
# These start programs that bring a Spark of their own. The longest come first.
OWN_SPARK = (
    "test_exactly_once_kill.py",
    "test_kill.py",
    "test_demo.py",
    "test_cli_spark.py",
    "test_new_user_spark.py",
    "test_standalone.py",
    "test_hidden_secrets.py",
    "test_own_session.py",
)
TIMEOUT_S = 300


class OneSparkSession(LoadScopeScheduling):
    """xdist's loadscope, with all tests of one Spark session in one scope."""

    def _split_scope(self, nodeid: str) -> str:
        return "session" if is_of_the_session(nodeid) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSparkSession | None:
    """Take the place of loadscope, and of no other way to deal out tests."""
    return OneSparkSession(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests of the one session first, then those with a Spark of their own."""
    _leave_out_newer(config, items)
    items.sort(key=lambda item: _turn(item.nodeid))
    for item in items:
        if FIXTURE in getattr(item, "fixturenames", ()) and not is_of_the_session(item.nodeid):
            raise pytest.UsageError(
                f"{item.nodeid} asks for the Spark session: add {_module(item.nodeid)} to OF_THE_SESSION"
            )
        if item.nodeid.startswith(FOLDERS) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


def _leave_out_newer(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of what an older Spark does not have. `make test` runs all of them."""
    newer = [item for item in items for mark in item.iter_markers("needs_spark") if _spark() < mark.args]
    if newer:
        config.hook.pytest_deselected(items=newer)
        items[:] = [item for item in items if item not in newer]


def _spark() -> tuple[int, int]:
    from gralha.spark.versions import spark_version

    return spark_version()


def write_seconds_of_the_session(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the session was needed: five minutes are its limit, and nobody else adds them up."""
    reports = (report for several in terminalreporter.stats.values() for report in several)
    seconds = sum(
        report.duration
        for report in reports
        if isinstance(report, pytest.TestReport) and is_of_the_session(report.nodeid)
    )
    if seconds:
        terminalreporter.write_line(f"tests of the one Spark session: {seconds:.0f} s")


def is_of_the_session(nodeid: str) -> bool:
    return nodeid.startswith(FOLDERS) and _module(nodeid) in OF_THE_SESSION


def _turn(nodeid: str) -> int:
    if is_of_the_session(nodeid):
        return 0
    module = _module(nodeid)
    return 1 + OWN_SPARK.index(module) if module in OWN_SPARK else 1 + len(OWN_SPARK)


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0].rpartition("/")[2]
