"""The pipelines of examples/sales pass their own tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gralha.pipelines.loading import load
from gralha.pipelines.testing import run_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path(__file__).resolve().parents[2] / "examples" / "sales" / "pipelines.py"
TESTS = {
    (pipeline.name, test.__name__): (pipeline, test) for pipeline in load(FILE) for test in pipeline.tests
}


@pytest.mark.parametrize("name", TESTS, ids="-".join)
def test_sales(name: tuple[str, str], spark: SparkSession) -> None:
    pipeline, test = TESTS[name]
    test(partial(run_rows, pipeline, session=spark))


def test_both_pipelines_have_tests() -> None:
    assert {pipeline for pipeline, _ in TESTS} == {"totals", "anomalies"}
