"""What the demo shows: results read back from their topics, and the Parquet table at the end."""

import json
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from gralha.pipelines.progress import Progress
from gralha.pipelines.state_files import StateFile
from gralha.pipelines.table_view import table

TOPICS = ("sales.totals", "sales.anomalies")
ANOMALIES_SHOWN = 5


class Results:
    """The newest total of each product, the sum of all, and the latest anomalies."""

    def __init__(self, bootstrap: str, files: list[StateFile]) -> None:
        self._files = files
        self._sums: dict[str, dict[str, Any]] = {}
        self._anomalies: list[dict[str, Any]] = []
        # Whether a window was closed: before that there is little to see.
        self.has_totals = False
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "demo-terminal"})
        found = self._consumer.list_topics(timeout=10).topics
        self._consumer.assign(
            [
                TopicPartition(topic, partition, OFFSET_BEGINNING)
                for topic in TOPICS
                for partition in found[topic].partitions
            ]
        )

    def poll(self, seconds: float) -> None:
        """Take in what came; wait a moment for it."""
        for message in self._consumer.consume(500, timeout=seconds):
            if message.error() is None:
                self._add(message)

    def _add(self, message: Message) -> None:
        row = json.loads(message.value())
        if message.topic() == "sales.anomalies":
            # Partitions come one after the other; people want the latest.
            latest = sorted([*self._anomalies, row], key=lambda one: one["at"], reverse=True)
            self._anomalies = latest[:ANOMALIES_SHOWN]
            self._of(row["product"])["anomalies"] += 1
            return
        self.has_totals = True
        product = self._of(row["product"])
        product["sold"] += row["sold"]
        product["total"] += row["total"]
        product["window"] = max(
            product["window"], f"{row['start'][11:19]}  {row['sold']:3} for {row['total']:9,.2f}"
        )

    def _of(self, product: str) -> dict[str, Any]:
        empty = {"sold": 0, "total": 0.0, "window": "", "anomalies": 0}
        return self._sums.setdefault(product, empty)

    def lines(self) -> list[str]:
        """The live table."""
        rows = [
            [name, one["sold"], one["total"], one["window"], one["anomalies"]]
            for name, one in sorted(self._sums.items())
        ]
        lines = table(["product", "sold", "total", "last window of 10 s", "anomalies"], rows)
        lines += ["", f"latest anomalies, of {sum(row[4] for row in rows)}:"]
        lines += [
            f"  {one['at'][11:19]}  {one['product']:<8} {one['amount']:9,.2f}, usually {one['usual']:.2f}"
            for one in self._anomalies
        ]
        return [*lines, "", *(f"{file.pipeline:<10} {_progress(file)}" for file in self._files), ""]

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()


def _progress(file: StateFile) -> str:
    state = file.read()
    progress: Progress | None = state.progress if state else None
    return progress.text() if progress else "no batch yet"


def table_summary(folder: Path) -> list[str]:
    """What is in the Parquet table, by product."""
    import pyarrow.dataset

    if not any(folder.glob("**/*.parquet")):
        return [f"The Parquet table in {folder} is empty: no window was closed yet."]
    rows = pyarrow.dataset.dataset(folder, partitioning="hive").to_table().group_by("product")
    sums = (
        rows.aggregate([("sold", "sum"), ("total", "sum"), ("start", "count")]).sort_by("product").to_pylist()
    )
    values = [[row["product"], row["start_count"], row["sold_sum"], row["total_sum"]] for row in sums]
    return [f"The Parquet table in {folder}:", *table(["product", "windows", "sold", "total"], values)]
