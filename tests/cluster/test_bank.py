"""A short run of the bank. `make soak` runs one with each kind of fault, and longer ones."""

import os

import pytest
from tests.cluster.bank import run_bank
from tests.full_size import IS_FULL

ON_APACHE = os.environ.get("GRALHA_TEST_KAFKA") == "apache"
ALL_KINDS = [
    "kill a teller",
    "kill a leader",
    "kill a transaction coordinator",
    "kill the group coordinator",
    "pause a teller",
    "kill a teller and its coordinator",
]
KINDS = ALL_KINDS if IS_FULL else ["kill a leader", "kill a teller and its coordinator"]


@pytest.mark.timeout(300)
def test_no_kill_changes_the_total() -> None:
    report = run_bank(seed=1, kinds=KINDS, apache=ON_APACHE)
    assert report.problems == [], report
    assert report.audits == len(KINDS)
    assert report.orders > 80 * len(KINDS)
    assert report.restarts >= len(KINDS) // 3
