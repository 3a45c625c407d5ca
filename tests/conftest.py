"""What holds for every test: a skip is a hole, so a skipped test fails; groups settle quickly;
tests that use Spark share one session (the fixture `spark`).

Hypothesis draws the same examples in every run, so that a change is judged by what it changes. `make soak`
draws new ones. No example has a deadline, and none may be called too slow: the machine may be busy.
"""

import os
from collections.abc import Generator, Mapping

import pytest
from hypothesis import HealthCheck, settings

from tests.one_session import (
    pytest_collection_modifyitems,
    pytest_xdist_make_scheduler,
    write_seconds_of_the_session,
)
from tests.quick_groups import QUICK_GROUPS
from tests.said import write_lines_said
from tests.spark.clusters import cluster_of
from tests.spark.shared_session import spark, spark_session, start_spark_quickly

__all__ = [
    "cluster_of",
    "pytest_collection_modifyitems",
    "pytest_xdist_make_scheduler",
    "spark",
    "spark_session",
]

start_spark_quickly()
for _name, _derandomize in (("same examples", True), ("new examples", False)):
    settings.register_profile(
        _name, derandomize=_derandomize, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("GRALHA_EXAMPLES", "same examples"))


@pytest.fixture(scope="session")
def gralha_cluster_config() -> Mapping[str, str]:
    """Settings of the broker that many tests share."""
    return QUICK_GROUPS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write_seconds_of_the_session(terminalreporter)
    write_lines_said(terminalreporter)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} was skipped; install what it needs (make setup) instead: {call.excinfo}"
        )
    return report
