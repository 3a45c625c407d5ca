"""Known bugs, put back one by one: `python -m tests.simulation.bugs NAME` runs seeds until one turns red.

It is a program of its own, because compiled classes cannot be patched: it loads Gralha's modules from their
sources, whether compiled ones lie beside them or not.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.machinery import FileFinder, SourceFileLoader
from typing import Any

SEEDS = 8


def load_sources_only() -> None:
    """Have Gralha's packages found without extension modules; call it before they are imported."""
    sources = FileFinder.path_hook((SourceFileLoader, [".py"]))

    def hook(path: str) -> FileFinder:
        if "gralha" not in path.split("/"):
            raise ImportError
        return sources(path)  # type: ignore[return-value]

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def acknowledge_before_flush() -> None:
    from gralha.replication.partition import Partition

    Partition.acknowledged_offset = lambda self: self.log.log_end_offset  # type: ignore[method-assign]


def forget_the_tail() -> None:
    """After a crash take the last segment as it is."""
    from gralha.storage.recovery import LogLoader

    LogLoader._recover = LogLoader._read_end  # type: ignore[method-assign]


def answer_a_retry_with_a_new_offset() -> None:
    from gralha.storage.log import Log

    original = Log._check_producer

    def check(self: Any, *args: Any) -> Any:
        duplicate = original(self, *args)
        if duplicate is not None:
            duplicate.last_offset += self.log_end_offset - duplicate.first_offset
            duplicate.first_offset = self.log_end_offset
        return duplicate

    Log._check_producer = check  # type: ignore[method-assign]


def append_a_retry_again() -> None:
    from gralha.storage.log import Log

    Log._check_producer = lambda self, *args: None  # type: ignore[method-assign]


def forget_producers_in_a_crash() -> None:
    from gralha.storage.producer_state import ProducerState

    ProducerState.replay_data = lambda self, header: None  # type: ignore[method-assign]
    ProducerState._take_entries = lambda self, *args: None  # type: ignore[method-assign]


def leave_new_segments_out_of_the_folder() -> None:
    from gralha.storage.log_state import LogState

    LogState._sync_folder = lambda self: None  # type: ignore[method-assign]


def show_what_is_not_flushed() -> None:
    """Let consumers read to the end of the log, beyond the high watermark."""
    from gralha.replication.partition import Partition

    Partition.end_offset = lambda self, committed: self.log.log_end_offset  # type: ignore[method-assign]


def nothing() -> None:
    pass


# What each bug needs in order to show.
BUGS: dict[Callable[[], None], tuple[str, ...]] = {
    nothing: ("power_cut", "reset", "bad_network", "kill"),
    acknowledge_before_flush: ("power_cut",),
    forget_the_tail: ("power_cut",),
    answer_a_retry_with_a_new_offset: ("reset", "bad_network"),
    append_a_retry_again: ("reset", "bad_network"),
    forget_producers_in_a_crash: ("kill",),
    leave_new_segments_out_of_the_folder: ("power_cut",),
    show_what_is_not_flushed: ("power_cut",),
}


def main(name: str) -> int:
    """0 when the bug was noticed; `nothing` is no bug, for comparison, under the faults of all of them."""
    load_sources_only()
    from gralha.simulation.presets import POWER_CUTS
    from gralha.simulation.run import run_seed

    put_back, faults = next((bug, faults) for bug, faults in BUGS.items() if bug.__name__ == name)
    settings = replace(
        POWER_CUTS,
        faults=faults,
        fault_interval_s=1.5,
        topic_configs={"flush.messages": "1", "segment.ms": "4000"},
    )
    put_back()
    for seed in range(SEEDS):
        report = run_seed(seed, settings)
        if not report.is_good:
            sys.stdout.write(f"{report}\n")
            return 0
    sys.stdout.write(f"{name} was not noticed in {SEEDS} runs\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
