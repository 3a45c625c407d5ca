"""The Python blocks of docs/SPARK.md that need Spark run, in their order, against a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import NewTopic
from tests.docs.pages import ROOT, blocks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "SPARK.md"


def test_the_blocks_of_the_page_run(
    spark: SparkSession, bootstrap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Admin(Cluster(bootstrap)) as admin:
        admin.create_topics([NewTopic(topic, 1) for topic in ("sales", "totals")])
    names: dict[str, Any] = {"spark": spark}
    written = [block for block in blocks(PAGE) if "spark" in block.marks]
    for block in written:
        code = compile(block.text.replace("localhost:9092", bootstrap), block.place, "exec")
        exec(code, names)
    assert len(written) >= 10
    assert names["sales"].columns == names["arriving"].columns
    read = spark.read.format("gralha").option("kafka.bootstrap.servers", bootstrap)
    (row,) = read.option("subscribe", "totals").load().collect()
    assert (row["key"], row["value"]) == (b"tea", b'{"product":"tea","total":12.5}')
