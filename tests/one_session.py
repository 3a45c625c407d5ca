"""Which tests need Spark, and how `pytest -n 2 --dist loadscope` keeps those that share a session together.

xdist gives whole modules to its workers. Here all modules of tests/spark and tests/pipelines count as one,
the first: one worker starts the session at once, and the other does the rest meanwhile. (That is so with
--no-loadscope-reorder; else xdist begins with the modules of the most tests, however short they are.)
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ONE_SESSION = ("tests/spark/", "tests/pipelines/")
# These start programs that bring a Spark of their own.
OWN_SPARK = (
    "test_cli_spark.py",
    "test_demo.py",
    "test_hidden_secrets.py",
    "test_kill.py",
    "test_standalone.py",
)
# What `make test` runs of all that needs Spark: the contract of source and sink on our own broker, and the
# pipelines of the example. `make test-spark` runs the rest, which takes ten minutes.
IN_MAKE_TEST = ("[gralha-on-gralha", "tests/pipelines/test_example.py")
TIMEOUT_S = 300


class OneSparkSession(LoadScopeScheduling):
    """xdist's loadscope, with all tests of one Spark session in one scope."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(ONE_SESSION) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSparkSession | None:
    """Take the place of loadscope, and of no other way to deal out tests."""
    return OneSparkSession(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the one session first, and mark those that `make test-spark` runs."""
    items.sort(key=lambda item: not item.nodeid.startswith(ONE_SESSION))
    for item in items:
        if item.nodeid.startswith(ONE_SESSION) and needs_spark(item):
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT_S))
            if not any(part in item.nodeid for part in IN_MAKE_TEST):
                item.add_marker(pytest.mark.spark)


def needs_spark(item: pytest.Item) -> bool:
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return "spark_session" in fixtures or item.path.name in OWN_SPARK
