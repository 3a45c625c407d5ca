"""Virtual minutes of a cluster under load and faults: no acknowledged record is lost."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import gralha
from gralha.simulation.cluster import Report, Settings
from gralha.simulation.presets import (
    COMPACTED,
    FLUSHED,
    GROUPS,
    MOVING_TRANSACTIONS,
    POWER_CUTS,
    PRESETS,
    QUIET,
    REASSIGNMENT,
    RETENTION,
    ROLLING,
    SECURED,
    SECURED_GROUP,
    SECURED_QUIET,
    THREE,
    THREE_FLUSHED,
    TRANSACTIONS,
    TRANSFORMING_GROUP,
    UNFLUSHED,
)
from gralha.simulation.run import run_seed


def judge(report: Report) -> None:
    assert report.is_good, f"{report}\n" + "\n".join(report.trace[-200:])
    assert report.acknowledged > 300, "clients make progress"
    assert report.sent - report.acknowledged < report.sent / 10


@pytest.mark.parametrize("seed", range(6))
def test_flushed_records_survive_everything(seed: int) -> None:
    judge(run_seed(seed, FLUSHED))


@pytest.mark.parametrize("seed", range(100, 103))
def test_without_flushes_killed_processes_lose_nothing(seed: int) -> None:
    judge(run_seed(seed, UNFLUSHED))


@pytest.mark.parametrize("seed", range(300, 314))
def test_three_nodes_lose_nothing(seed: int) -> None:
    judge(run_seed(seed, THREE))


@pytest.mark.parametrize("seed", range(400, 408))
def test_three_nodes_that_flush_survive_power_cuts_everywhere(seed: int) -> None:
    judge(run_seed(seed, THREE_FLUSHED))


@pytest.mark.parametrize("seed", [106, 113, 600])
def test_rolling_restarts_write_nothing_twice(seed: int) -> None:
    """Seeds 106 and 113 once ended a producer, and had three values twice in the log."""
    judge(run_seed(seed, ROLLING))


@pytest.mark.parametrize("seed", range(700, 704))
def test_groups_lose_no_commit_and_no_partition_has_two_owners(seed: int) -> None:
    report = run_seed(seed, GROUPS)
    judge(report)
    assert report.commits > 20


@pytest.mark.parametrize("seed", range(1200, 1203))
def test_transactions_are_seen_as_a_whole_or_not_at_all(seed: int) -> None:
    report = run_seed(seed, TRANSACTIONS)
    judge(report)
    assert report.transactions > 100


@pytest.mark.parametrize("seed", range(1))
def test_transactions_survive_the_moves_of_their_partitions(seed: int) -> None:
    report = run_seed(seed, MOVING_TRANSACTIONS)
    judge(report)
    assert report.transactions > 100


@pytest.mark.parametrize("seed", range(2))
def test_a_group_that_rebalances_transforms_each_input_once(seed: int) -> None:
    report = run_seed(seed, TRANSFORMING_GROUP)
    judge(report)
    assert report.transactions > 50


@pytest.mark.parametrize("seed", range(800, 803))
def test_a_compacted_log_keeps_the_last_value_of_each_key(seed: int) -> None:
    judge(run_seed(seed, COMPACTED))


@pytest.mark.parametrize("seed", range(900, 903))
def test_retention_removes_only_what_is_old(seed: int) -> None:
    judge(run_seed(seed, RETENTION))


@pytest.mark.parametrize("seed", range(1000, 1003))
def test_partitions_that_move_lose_nothing_and_arrive(seed: int) -> None:
    judge(run_seed(seed, REASSIGNMENT))


@pytest.mark.parametrize("seed", range(1100, 1101))
def test_nobody_is_fenced_or_elected_in_long_quiet(seed: int) -> None:
    judge(run_seed(seed, QUIET))


@pytest.mark.parametrize("seed", range(1300, 1303))
def test_users_and_rights_change_at_once_on_each_broker(seed: int) -> None:
    report = run_seed(seed, SECURED)
    judge(report)
    assert report.allowed > 20
    assert report.refused > 50


def test_a_secured_group_transforms_each_input_once() -> None:
    report = run_seed(1400, SECURED_GROUP)
    judge(report)
    assert report.transactions > 50


def test_nobody_is_fenced_because_sessions_end() -> None:
    report = run_seed(1500, SECURED_QUIET)
    judge(report)
    assert report.allowed > 100


def test_what_flushes_are_for() -> None:
    """The same power cuts: harmless with flush.messages=1, and without it they take acknowledged records."""
    unflushed = replace(POWER_CUTS, topic_configs={}, may_lose=True)
    lost = 0
    for seed in range(200, 203):
        judge(run_seed(seed, POWER_CUTS))
        anomalies = run_seed(seed, unflushed).anomalies
        lost += sum(anomaly.kind in ("lost-write", "unseen") for anomaly in anomalies)
    assert lost > 0


BRIEF = "seconds=20, fault_interval_s=2"


@pytest.mark.parametrize("settings", [FLUSHED, GROUPS], ids=["one", "groups"])
def test_a_seed_repeats_exactly(settings: Settings) -> None:
    brief = replace(settings, seconds=20, fault_interval_s=2)
    assert run_seed(5, brief).digest == run_seed(5, brief).digest
    assert run_seed(5, brief).digest != run_seed(6, brief).digest


@pytest.mark.parametrize("name", ["FLUSHED", "THREE", "GROUPS", "TRANSACTIONS", "SECURED"])
def test_a_seed_repeats_in_another_process_that_hashes_otherwise(name: str) -> None:
    first, second = (in_another_process(name, hash_seed) for hash_seed in ("1", "2"))
    assert first == second


def test_the_soak_runs_every_preset(tmp_path: Path) -> None:
    """`scripts/soak` runs in a folder whose Python only writes down how it is called."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> "{tmp_path}/calls"\n'
        f'export PYTHONPATH="{Path(gralha.__file__).parents[1]}"\n'
        f'case "$*" in *--list) exec "{sys.executable}" "$@";; esac\n'
    )
    python.chmod(0o755)
    script = tmp_path / "scripts" / "soak"
    script.parent.mkdir()
    script.write_text((Path(__file__).parents[2] / "scripts" / "soak").read_text())
    subprocess.run(["bash", str(script), "10", "3"], check=True, capture_output=True)
    first, *calls = (tmp_path / "calls").read_text().splitlines()
    assert first == "-m gralha.simulation --list"
    assert calls == [f"-m gralha.simulation --preset {preset} --seeds 3" for preset in PRESETS]


def in_another_process(name: str, hash_seed: str) -> str:
    program = (
        "from dataclasses import replace\n"
        "from gralha.simulation.run import run_seed\n"
        f"from gralha.simulation.presets import {name}\n"
        f"for seed in (7, 8): print(run_seed(seed, replace({name}, {BRIEF})).digest)\n"
    )
    root = Path(__file__).parents[2]
    source = str(Path(gralha.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": source},
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
