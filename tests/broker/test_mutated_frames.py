"""A short run of `tests.broker.mutated_frames`. `make soak` makes a long one."""

from __future__ import annotations

from pathlib import Path

from tests.broker.mutated_frames import SHARES, MutationCluster, Run

FRAMES = 5_000
SEED = 15


def test_mutated_frames_harm_nobody(tmp_path: Path) -> None:
    with MutationCluster(tmp_path) as cluster:
        cluster.prepare()
        run = Run(cluster, SEED)
        run.play(FRAMES)
    tallies = {name: run.tally(name) for name in SHARES}
    # Each lane has played its share, so the frames came to where they were meant to.
    for name, share in SHARES.items():
        assert tallies[name].frames >= 0.95 * share * FRAMES, tallies
    for name in ("before", "after", "tls"):
        assert tallies[name].answered > 0, tallies
