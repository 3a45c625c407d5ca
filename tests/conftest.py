"""What holds for every test: a skip is a hole, so a skipped test fails; groups settle quickly."""

from collections.abc import Iterator, Mapping

import pytest

from tests.quick_groups import QUICK_GROUPS


@pytest.fixture(scope="session")
def gralha_cluster_config() -> Mapping[str, str]:
    """Settings of the broker that many tests share."""
    return QUICK_GROUPS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} was skipped; install what it needs (make setup) instead: {call.excinfo}"
        )
    return report
