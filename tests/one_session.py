"""How `pytest -n 2 --dist loadscope` deals out the tests: those that share a Spark session stay together.

xdist gives whole modules to its workers. Here all modules of tests/spark and tests/pipelines count as one,
the first: one worker starts the session at once, and the other does the rest meanwhile. (That is so with
--no-loadscope-reorder; else xdist begins with the modules of the most tests, however short they are.)
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ONE_SESSION = ("tests/spark/", "tests/pipelines/")


class OneSparkSession(LoadScopeScheduling):
    """xdist's loadscope, with all tests of one Spark session in one scope."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(ONE_SESSION) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSparkSession | None:
    """Take the place of loadscope, and of no other way to deal out tests."""
    return OneSparkSession(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the one session first; sorting keeps the order of all others."""
    items.sort(key=lambda item: not item.nodeid.startswith(ONE_SESSION))
