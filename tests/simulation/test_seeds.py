"""Virtual minutes of a single node under load and faults: nothing that was acknowledged gets lost."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import gralha
from gralha.simulation.cluster import Report, Settings
from gralha.simulation.presets import FLUSHED, POWER_CUTS, UNFLUSHED
from gralha.simulation.run import run_seed


def judge(report: Report) -> None:
    assert report.is_good, f"{report}\n" + "\n".join(report.trace[-200:])
    assert report.acknowledged > 1000, "clients make progress"
    assert report.sent - report.acknowledged < report.sent / 10


@pytest.mark.parametrize("seed", range(16))
def test_flushed_records_survive_everything(seed: int) -> None:
    judge(run_seed(seed, FLUSHED))


@pytest.mark.parametrize("seed", range(100, 108))
def test_without_flushes_killed_processes_lose_nothing(seed: int) -> None:
    judge(run_seed(seed, UNFLUSHED))


def test_what_flushes_are_for() -> None:
    """The same power cuts: harmless with flush.messages=1, and without it they take acknowledged records."""
    unflushed = replace(POWER_CUTS, topic_configs={}, may_lose=True)
    lost = 0
    for seed in range(200, 203):
        judge(run_seed(seed, POWER_CUTS))
        anomalies = run_seed(seed, unflushed).anomalies
        lost += sum(anomaly.kind in ("lost-write", "unseen") for anomaly in anomalies)
    assert lost > 0


def test_a_seed_repeats_exactly() -> None:
    settings = replace(FLUSHED, seconds=20, fault_interval_s=2)
    assert run_seed(5, settings).digest == run_seed(5, settings).digest
    assert run_seed(5, settings).digest != run_seed(6, settings).digest


def test_a_seed_repeats_in_another_process_that_hashes_otherwise() -> None:
    digests = {in_another_process(hash_seed) for hash_seed in ("1", "2")}
    digests.add(run_seed(7, replace(FLUSHED, seconds=20, fault_interval_s=2)).digest)
    assert len(digests) == 1


def in_another_process(hash_seed: str) -> str:
    program = (
        "from dataclasses import replace\n"
        "from gralha.simulation.run import run_seed\n"
        "from gralha.simulation.presets import FLUSHED\n"
        "print(run_seed(7, replace(FLUSHED, seconds=20, fault_interval_s=2)).digest)\n"
    )
    root = Path(__file__).parents[2]
    source = str(Path(gralha.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join([source, str(root)])},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def test_without_faults_all_is_acknowledged_and_quickly() -> None:
    report = run_seed(1, Settings(seconds=10))
    judge(report)
    assert report.acknowledged == report.sent
    assert report.longest_silence_s < 2
