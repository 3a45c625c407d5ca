"""What tests want to say in the summary of a run: pytest hides what a test that passes prints.

A test calls `record_property(SAID, line)`. Properties also come back from the workers of xdist.
"""

from __future__ import annotations

import pytest

SAID = "said"


def lines_said(reporter: pytest.TerminalReporter) -> list[str]:
    """The lines of all tests, in the order in which these ended."""
    reports = (report for several in reporter.stats.values() for report in several)
    return [
        str(value)
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in report.user_properties
        if name == SAID
    ]


def write_lines_said(reporter: pytest.TerminalReporter) -> None:
    """A section with the lines, if there are any."""
    lines = lines_said(reporter)
    if lines:
        reporter.section("said by the tests")
    for line in lines:
        reporter.write_line(line)
