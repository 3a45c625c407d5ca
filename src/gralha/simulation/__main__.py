"""`python -m gralha.simulation`: many seeds on all cores, or one seed with its trace.

python -m gralha.simulation --preset three --seeds 2000       seeds 0 to 1999
python -m gralha.simulation --preset three --seed 17 --trace  one run again, with its last events
python -m gralha.simulation --list                            the names of all presets
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from gralha.simulation.cluster import Report, Settings
from gralha.simulation.presets import PRESETS
from gralha.simulation.run import run_seed


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gralha.simulation", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--preset", choices=sorted(PRESETS), default="three", help="the cluster and its faults"
    )
    parser.add_argument("--list", action="store_true", help="print the names of all presets")
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--trace", action="store_true", help="print the last events of the run of --seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    given = arguments(words)
    if given.list:
        sys.stdout.write("".join(f"{name}\n" for name in PRESETS))
        return 0
    settings = PRESETS[given.preset]
    if given.seed is not None:
        report = run_seed(given.seed, settings)
        lines = [*(report.trace if given.trace else []), str(report), f"digest {report.digest}"]
        sys.stdout.write("\n".join(lines) + "\n")
        return 0 if report.is_good else 1
    return soak(range(given.first, given.first + given.seeds), settings, given.preset, given.jobs)


def soak(seeds: range, settings: Settings, preset: str, jobs: int) -> int:
    """Run all seeds. Returns 0 if all runs were good."""
    began = time.monotonic()
    virtual_s, acknowledged, faults, failed = 0.0, 0, 0, 0
    for done, report in enumerate(_reports(seeds, settings, jobs), 1):
        virtual_s += report.virtual_s
        acknowledged += report.acknowledged
        faults += sum(report.faults.values())
        if not report.is_good:
            failed += 1
            again = f"python -m gralha.simulation --preset {preset} --seed {report.seed} --trace"
            sys.stdout.write(f"{report}\n  again: {again}\n")
        if done % 50 == 0 or done == len(seeds):
            speed = virtual_s / (time.monotonic() - began)
            sys.stdout.write(
                f"soak: {done} of {len(seeds)} seeds, {failed} failed; {acknowledged} records acknowledged "
                f"under {faults} faults; {speed:.0f} virtual seconds a second\n"
            )
            sys.stdout.flush()
    return 1 if failed else 0


def _reports(seeds: range, settings: Settings, jobs: int) -> Iterator[Report]:
    if jobs == 1:
        yield from (run_seed(seed, settings) for seed in seeds)
        return
    with ProcessPoolExecutor(jobs) as processes:
        yield from processes.map(partial(run_seed, settings=settings), seeds)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
