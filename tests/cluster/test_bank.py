"""A short run of the bank. `make soak` runs longer ones."""

import os

import pytest
from tests.cluster.bank import run_bank

ON_APACHE = os.environ.get("GRALHA_TEST_KAFKA") == "apache"
KINDS = [
    "kill a teller",
    "kill a leader",
    "kill a transaction coordinator",
    "kill the group coordinator",
    "pause a teller",
    "kill a teller and its coordinator",
]


@pytest.mark.timeout(300)
def test_no_kill_changes_the_total() -> None:
    report = run_bank(seed=1, kinds=KINDS, apache=ON_APACHE)
    assert report.problems == [], report
    assert report.audits == len(KINDS)
    assert report.orders > 500
    assert report.restarts >= 2
