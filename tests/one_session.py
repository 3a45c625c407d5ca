"""How `pytest -n 2 --dist loadscope` deals out the tests: those that share a Spark session stay together.

xdist gives whole modules to its workers. Here all modules of tests/spark and tests/pipelines count as one, so
that one worker starts the one session and the other worker does the rest meanwhile. xdist deals out
the largest share first, which this is.
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
