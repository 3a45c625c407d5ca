"""What tests of Spark ask for beside the session: brokers, names, and the stage of the contract suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.client.live import bootstrap, new_name
from tests.spark.contract import BROKER_CONFIG, LANES, Lane, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["bootstrap", "new_name"]

CLUSTERS = {"gralha": GralhaCluster, "apache": ApacheKafka}


@pytest.fixture(scope="session")
def contract_cluster() -> Iterator[Callable[[str], str]]:
    """The address of a cluster by its kind; each starts when it is first asked for."""
    running: dict[str, str] = {}
    with ExitStack() as stack:

        def cluster(kind: str) -> str:
            if kind not in running:
                running[kind] = stack.enter_context(CLUSTERS[kind](config=BROKER_CONFIG)).bootstrap
            return running[kind]

        yield cluster


@pytest.fixture(params=LANES, ids=str)
def stage(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    contract_cluster: Callable[[str], str],
    tmp_path: Path,
) -> Stage:
    lane: Lane = request.param
    return Stage(spark, lane, contract_cluster(lane.cluster), tmp_path)
