"""What tests of Spark ask for beside session and clusters: names, and the stage of the contract suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.client.live import bootstrap, new_name
from tests.spark.contract import LANES, Lane, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["bootstrap", "new_name"]


@pytest.fixture(params=LANES, ids=str)
def stage(
    request: pytest.FixtureRequest, spark: SparkSession, cluster_of: Callable[[str], str], tmp_path: Path
) -> Stage:
    lane: Lane = request.param
    return Stage(spark, lane, cluster_of(lane.cluster), tmp_path)
