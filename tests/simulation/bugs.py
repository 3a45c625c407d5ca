"""Known bugs, put back one by one: `python -m tests.simulation.bugs NAME` runs seeds until one turns red.

It is a program of its own, because compiled classes cannot be patched: it loads Gralha's modules from their
sources, whether compiled ones lie beside them or not.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.machinery import FileFinder, SourceFileLoader
from typing import Any

SEEDS = 40


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


# With three nodes


def acknowledge_without_followers() -> None:
    from gralha.replication.partition import Partition

    Partition._replicated_offset = lambda self, own_offset: own_offset  # type: ignore[method-assign]


def truncate_by_high_watermark() -> None:
    """KIP-101: a follower drops what it had before it heard of the high watermark."""
    from gralha.replication.partition import Partition

    original = Partition.change_leader

    def change_leader(self: Any, leader_id: int, leader_epoch: int, *rest: Any) -> None:
        epoch_before = self.leader_epoch
        original(self, leader_id, leader_epoch, *rest)
        if leader_epoch > epoch_before and not self.is_leader():
            self.log.truncate_to(self.log.high_watermark)

    Partition.change_leader = change_leader  # type: ignore[method-assign]


def acknowledge_in_another_epoch() -> None:
    """Redpanda 3003: another leader's record has passed at that offset."""
    from gralha.broker.handlers.produce import Pending

    def outcome(self: Any) -> int | None:
        return None if self.partition.log.high_watermark <= self.last_offset else 0

    Pending.outcome = outcome  # type: ignore[method-assign]


def never_truncate() -> None:
    """A follower keeps what the new leader does not have."""
    from gralha.replication.partition import Partition

    Partition.diverging_epoch = lambda self, *args: None  # type: ignore[method-assign]


def commit_metadata_without_a_majority() -> None:
    from gralha.raft.leadership import Leadership

    def majority_offset(self: Any, voters: Any) -> int:
        return max(replica.end_offset for replica in self.progress.values())

    Leadership.majority_offset = majority_offset  # type: ignore[method-assign]


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
}
BUGS_OF_THREE: dict[Callable[[], None], tuple[str, ...]] = {
    acknowledge_without_followers: ("kill", "partition"),
    truncate_by_high_watermark: ("kill", "stop", "partition"),
    acknowledge_in_another_epoch: ("freeze", "partition", "one_way_cut", "isolate"),
    never_truncate: ("kill", "partition", "isolate"),
    commit_metadata_without_a_majority: ("isolate", "kill", "reset"),
}


def main(name: str) -> int:
    """0 when the bug was noticed; `nothing` is no bug, for comparison, under the faults of all of them."""
    load_sources_only()
    from gralha.simulation.presets import POWER_CUTS, THREE
    from gralha.simulation.run import run_seed

    all_bugs = {**BUGS, **BUGS_OF_THREE}
    put_back, faults = next((bug, faults) for bug, faults in all_bugs.items() if bug.__name__ == name)
    settings = replace(
        POWER_CUTS,
        faults=faults,
        fault_interval_s=1.5,
        pause_s=0.1,
        topic_configs={"flush.messages": "1", "segment.ms": "4000"},
    )
    if put_back in BUGS_OF_THREE:
        # Metadata changes seldom, unless nodes come and go.
        interval_s = 1.5 if put_back is commit_metadata_without_a_majority else 4
        settings = replace(THREE, faults=faults, fault_interval_s=interval_s, pause_s=0.1)
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
