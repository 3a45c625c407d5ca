"""`make bench`: Apache Kafka and Gralha take turns under the same load on this machine.

After that, Spark's own Kafka connector and format("gralha") take turns on a Gralha broker.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.groups import measure_groups
from bench.measures import Broker, Makers, Say, apache_kafka, measure_records
from bench.meters import measure_meters
from bench.replication import measure_replication
from bench.report import page
from bench.rounds import Results
from bench.scale import measure_scale
from bench.security import measure_security
from bench.spark import measure_spark
from bench.transactions import measure_transactions
from gralha.testing import GralhaCluster

BROKERS: dict[str, Callable[..., Broker]] = {"apache": apache_kafka, "gralha": GralhaCluster}


def measure_one_broker(makers: Makers, say: Say, scale: float) -> dict[str, Results]:
    """The measures of records, and what it costs Gralha to count its requests."""
    results = measure_records(makers, say, scale)
    if "gralha" in makers:
        results["gralha"].update(measure_meters(say, scale))
    return results


PARTS = {
    "records": measure_one_broker,
    "groups": measure_groups,
    "replication": measure_replication,
    "transactions": measure_transactions,
    "scale": measure_scale,
    "security": measure_security,
}
SPARK = "spark"  # compares two connectors, not two brokers, so it always measures both
# The last results of each broker, so that a run of one can be compared with an earlier run of the other.
RESULTS = Path(__file__).resolve().parents[1] / "build" / "bench"


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--only", choices=BROKERS, help="run one broker and take the other's results from its last run"
    )
    parser.add_argument(
        "--part", choices=[*PARTS, SPARK], help="take one part of the measures, the others from the last run"
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of the load: a rough look")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of the table")
    return parser


def last_results(name: str) -> Results | None:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return None
    results: Results = json.loads(path.read_text())
    return results


def keep(name: str, results: Results) -> None:
    """Replace the last results of the same measures."""
    (RESULTS / f"{name}.json").write_text(json.dumps({**(last_results(name) or {}), **results}, indent=1))


class Progress:
    """Reports the progress of the bench on stderr, and collects the lines for the page."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.notes: list[str] = []

    def __call__(self, text: str, on_page: bool = False) -> None:
        print(f"[{time.monotonic() - self._started:4.0f} s] {text}", file=sys.stderr, flush=True)
        if on_page:
            self.notes.append(text)


def main() -> None:
    chosen = parser().parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    say = Progress()
    if os.getloadavg()[0] > 0.5:
        say(f"other work is running here (load {os.getloadavg()[0]:.1f}): expect noise", on_page=True)
    scale = 0.2 if chosen.quick else 1.0
    makers = {name: make for name, make in BROKERS.items() if chosen.only in (name, None)}
    if chosen.part != SPARK:
        for part in [chosen.part] if chosen.part else PARTS:
            say(f"measuring {part}")
            for name, results in PARTS[part](makers, say, scale).items():
                keep(name, results)
    if chosen.part in (SPARK, None) and not chosen.only:
        say("measuring Spark")
        for name, results in measure_spark(say, scale).items():
            keep(name, results)
    if chosen.only:
        say("the other broker's results are from an earlier run, so the ratios are not fair", on_page=True)
    apache, gralha = last_results("apache"), last_results("gralha")
    if chosen.json:
        print(json.dumps({"apache": apache, "gralha": gralha}, indent=1))
    else:
        print(page(apache, gralha, say.notes))


if __name__ == "__main__":
    main()
