"""Known bugs, put back one by one: `python -m tests.simulation.bugs NAME` runs seeds until one shows it.

Each bug names the complaints that it must cause. Only those count: a seed that shows none of them is no
proof, and a complaint that the bug does not explain, such as a crash of the patched code, fails the run.

It is a program of its own, because compiled classes cannot be patched: it loads Gralha's modules from their
sources, whether compiled ones lie beside them or not.
"""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.machinery import FileFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation import (
    group_bugs,
    quorum_bugs,
    replication_bugs,
    security_bugs,
    storage_bugs,
    transaction_bugs,
)
from tests.simulation.patching import patch

if TYPE_CHECKING:
    from gralha.simulation.cluster import Settings

SEEDS = 40
NOTHING = "(?!)"  # matches no text


class Bug(NamedTuple):
    """`causes` and `beside` are regular expressions for the beginnings of complaints.

    The bug must be noticed by what `causes` describes. What `beside` describes may come with that or before
    it: other consequences of the same bug.
    """

    put_back: Callable[[], None]
    faults: tuple[str, ...]
    causes: str
    beside: str = NOTHING
    fault_interval_s: float = 4
    pause_s: float = 0.1
    # For a bug that few seeds show: the search begins near one of them.
    first_seed: int = 0

    @property
    def name(self) -> str:
        return self.put_back.__name__


class NoticedError(Exception):
    """The bug was noticed, so the run can end."""


class UnexplainedError(Exception):
    """There is a complaint that the bug does not explain."""


def nothing() -> None:
    """No bug at all, for comparison."""


# Acknowledged records are lost or replaced by others.
LOST = "lost-write|unseen|inconsistent-offsets|committed-differs"
# Producers and consumers notice that a log has become shorter.
SHORTER = r"p\d was told OUT_OF_ORDER_SEQUENCE_NUMBER|\w+ saw the end of|watermark-goes-back"
SHORTER += "|nonmonotonic-send|duplicate"
# A partition, or a node, does not come back.
DOWN = "not within"
# The guards of the product itself stop a node.
UNREADABLE = r"node \d ended: (CorruptMessageError|InvalidRecordError)"
NOT_IN_SYNC = "not within 120 s: all replicas are in sync"
METADATA_GOES_BACK = r"node \d ended: QuorumSafetyError"
SNAPSHOT_REFUSED = (
    r"node \d ended: (OffsetOutOfRangeError\('Cannot increment the log start offset"
    r"|OffsetOutOfRangeError\('Received request for offset \d+ for partition __cluster_metadata-0"
    r"|AssertionError\('(records must follow each other|leaders end their epochs with whole batches)"
    r"|MetadataError\('producer ids must grow)"
)

ONE_NODE = [
    Bug(replication_bugs.acknowledge_before_flush, ("power_cut",), LOST, SHORTER, 1.5),
    Bug(
        storage_bugs.forget_the_tail, ("power_cut",), "duplicate", f"{UNREADABLE}|{DOWN}|unseen|offline", 1.5
    ),
    Bug(
        storage_bugs.answer_a_retry_with_a_new_offset,
        ("reset", "bad_network"),
        "duplicate|inconsistent-offsets",
        fault_interval_s=1.5,
    ),
    Bug(storage_bugs.append_a_retry_again, ("reset", "bad_network"), "duplicate", fault_interval_s=1.5),
    Bug(storage_bugs.forget_producers_in_a_crash, ("kill",), "duplicate", fault_interval_s=1.5),
    Bug(
        storage_bugs.leave_new_segments_out_of_the_folder,
        ("power_cut",),
        f"offline|{LOST}",
        f"{SHORTER}|{DOWN}",
        1.5,
    ),
    Bug(storage_bugs.remove_what_metadata_does_not_mention, ("kill",), LOST, SHORTER, 1.5),
]
THREE_NODES = [
    Bug(replication_bugs.acknowledge_without_followers, ("kill", "partition"), LOST, SHORTER),
    # The patch truncates without the checkpoint that comes first elsewhere: then a log may be taken offline.
    Bug(
        replication_bugs.truncate_by_high_watermark, ("kill", "stop", "partition"), LOST, f"{SHORTER}|offline"
    ),
    Bug(
        replication_bugs.acknowledge_in_another_epoch,
        ("freeze", "partition", "one_way_cut", "isolate"),
        "lost-write|unseen|inconsistent-offsets|duplicate",
        SHORTER,
        first_seed=35,
    ),
    Bug(
        replication_bugs.never_truncate,
        ("kill", "partition", "isolate"),
        "committed-differs|two-batches|inconsistent-offsets",
        f"{LOST}|{SHORTER}",
        first_seed=2,
    ),
    Bug(
        replication_bugs.let_fenced_replicas_be_in_sync,
        ("kill", "stop", "isolate", "freeze"),
        "fenced-in-sync",
    ),
    Bug(
        replication_bugs.forget_who_catches_up_during_a_proposal,
        ("kill", "stop"),
        NOT_IN_SYNC,
    ),
    # A leader without the epochs cannot tell a follower where their logs part.
    Bug(
        storage_bugs.forget_leader_epochs,
        ("kill", "stop", "partition", "isolate"),
        "committed-differs|two-batches|inconsistent-offsets",
        f"{LOST}|{SHORTER}|{NOT_IN_SYNC}",
        first_seed=37,
    ),
    Bug(
        quorum_bugs.commit_metadata_without_a_majority,
        ("isolate", "kill", "reset"),
        "committed-differs: __cluster_metadata-0|images-differ",
        f"{METADATA_GOES_BACK}|snapshot-place",
        1.5,
    ),
    Bug(
        quorum_bugs.decide_before_all_is_replayed,
        ("isolate", "kill", "reset"),
        r"node \d ended: AssertionError\('a batch that the active controller has not written'",
        "images-differ|fenced-in-sync",
        1.5,
    ),
    Bug(
        quorum_bugs.take_a_snapshot_for_more_than_it_has,
        ("kill", "stop"),
        "snapshot-place|images-differ",
        SNAPSHOT_REFUSED,
    ),
    Bug(
        quorum_bugs.take_a_snapshot_for_less_than_it_has,
        ("kill", "stop"),
        "snapshot-place|images-differ",
        SNAPSHOT_REFUSED,
    ),
    Bug(
        quorum_bugs.take_snapshots_of_what_is_not_committed,
        ("kill", "stop"),
        "snapshot-place|images-differ",
        SNAPSHOT_REFUSED,
    ),
    Bug(quorum_bugs.lead_on_without_a_majority, ("isolate", "partition"), "leads-on"),
]
THREE_NODES_THAT_FLUSH = [
    Bug(
        quorum_bugs.save_votes_without_a_sync,
        ("power_cut", "power_cut_everywhere"),
        r"two-votes|node \d ended: StartError\(.*quorum-state cannot be read",
        pause_s=0.3,
    ),
    Bug(
        quorum_bugs.clear_an_unreadable_vote, ("power_cut", "power_cut_everywhere"), "two-votes", pause_s=0.3
    ),
    Bug(
        quorum_bugs.live_on_without_a_controller,
        ("failing_sync",),
        "lives-on",
        fault_interval_s=1.5,
        pause_s=0.3,
    ),
]
GROUPS = [
    Bug(
        group_bugs.answer_before_it_is_committed,
        ("kill", "partition", "isolate"),
        "commit-goes-back|two-owners",
    ),
    Bug(
        group_bugs.serve_before_all_is_loaded,
        ("kill", "stop"),
        "commit-goes-back|two-owners",
        r"(classic|consumer)/\S+ was told GROUP_ID_NOT_FOUND",
    ),
    Bug(group_bugs.take_commits_of_old_generations, ("reset",), "commit-goes-back"),
    # Each of the two owners commits its own offset.
    Bug(group_bugs.give_what_another_member_has, ("reset",), "two-owners", "commit-goes-back"),
]
# Readers of committed records see too much, or a part.
UNCOMMITTED = "precommitted-read|aborted-read|torn-transaction"
HANGING = "hanging-transaction"
# Complaints that come with a transaction that hangs.
STUCK = f"{DOWN}|needless-fence|not-counted|unseen|lost-write"
MOVES = ("kill", "stop", "isolate")
TRANSACTIONS = [
    Bug(
        transaction_bugs.take_the_last_stable_offset_for_inclusive,
        ("reset",),
        UNCOMMITTED,
        "counted-twice|missing-records|poll-skip",
    ),
    Bug(transaction_bugs.leave_prepared_transactions_to_nobody, MOVES, HANGING, STUCK, first_seed=6),
    Bug(transaction_bugs.never_time_out, ("reset",), f"{HANGING}|open-past-timeout", STUCK),
    Bug(
        transaction_bugs.coordinate_before_all_is_loaded,
        MOVES,
        f"{HANGING}|needless-fence",
        f"{STUCK}|counted-twice|aborted-read|torn-transaction|zombie-write|zombie-commit",
    ),
    Bug(
        transaction_bugs.take_an_unclear_end_for_a_refusal,
        ("freeze",),
        "aborted-read",
        f"{STUCK}|counted-twice",
        fault_interval_s=2,
        first_seed=43,
    ),
    Bug(
        transaction_bugs.let_zombies_write,
        ("reset",),
        "zombie-write|zombie-commit|aborted-read",
        # A zombie also ends the transactions of its successor, with another result than the successor wanted.
        f"{HANGING}|{STUCK}|counted-twice|poll-skip",
    ),
    Bug(
        transaction_bugs.show_aborted_transactions,
        ("reset",),
        "aborted-read",
        "counted-twice|torn-transaction",
    ),
    Bug(transaction_bugs.count_offsets_of_aborted_transactions, ("reset",), "not-counted"),
    Bug(transaction_bugs.forget_offsets_of_committed_transactions, ("reset",), "counted-twice"),
]
FAULTS = ("kill", "stop", "partition", "isolate")
COMPACTED = [Bug(storage_bugs.drop_the_last_value_of_a_key, FAULTS, "key-lost")]
RETENTION = [
    Bug(storage_bugs.remove_segments_that_are_half_as_old, FAULTS, "deleted-too-early"),
    Bug(
        storage_bugs.forget_segments_that_are_still_there,
        ("failing_write", "kill"),
        "offline: load-",
        fault_interval_s=1,
        first_seed=6,
    ),
]
REASSIGNMENT = [
    Bug(
        replication_bugs.move_a_partition_before_its_new_replicas_have_it,
        FAULTS,
        LOST,
        f"{SHORTER}|{DOWN}|wrong-replicas",
        first_seed=2,
    ),
    Bug(replication_bugs.read_only_what_a_request_of_a_session_names, FAULTS, "missing-records"),
]
QUIET = [
    Bug(
        replication_bugs.take_a_closed_connection_for_a_death,
        ("reset",),
        "healthy-fenced|needless-election",
        fault_interval_s=30,
        pause_s=5,
    )
]
SECURED = [
    Bug(security_bugs.serve_before_the_login_is_complete, ("reset",), "stranger-served", pause_s=0.5),
    Bug(security_bugs.serve_after_the_end_of_a_session, ("reset",), "acts-after-session", pause_s=0.5),
    Bug(security_bugs.remember_passwords, ("reset",), "login-without-user", DOWN, pause_s=0.5),
    Bug(
        security_bugs.forget_removed_rights_in_a_snapshot,
        ("isolate", "freeze", "partition"),
        "acts-without-right",
        pause_s=0.5,
        first_seed=32,
    ),
]
SECURED_QUIET = [
    Bug(
        security_bugs.forget_to_log_in_again,
        ("reset",),
        "session-ran-out",
        "healthy-fenced|needless-election",
        fault_interval_s=30,
        pause_s=5,
    ),
    Bug(
        security_bugs.lose_requests_during_a_login,
        ("reset",),
        # A follower waits for ever for the answer to a fetch, so nothing is acknowledged.
        "not within 120 s: every producer goes on",
        f"healthy-fenced|needless-election|{DOWN}",
        fault_interval_s=30,
        pause_s=5,
    ),
]
# By preset.
FAMILIES = {
    "power-cuts": ONE_NODE,
    "three": THREE_NODES,
    "three-flushed": THREE_NODES_THAT_FLUSH,
    "groups": GROUPS,
    "transactions": TRANSACTIONS,
    "compacted": COMPACTED,
    "retention": RETENTION,
    "reassignment": REASSIGNMENT,
    "quiet": QUIET,
    "secured": SECURED,
    "secured-quiet": SECURED_QUIET,
}
BUGS = {bug.name: (preset, bug) for preset, family in FAMILIES.items() for bug in family}
# How many seeds of each preset run without a bug. They must have no complaint.
NOTHINGS = {
    "power-cuts": 20,
    "three": 3,
    "three-flushed": 3,
    "groups": 2,
    "transactions": 2,
    "compacted": 2,
    "retention": 2,
    "reassignment": 2,
    "secured": 2,
}


def settings_of(bug: Bug, preset: str) -> "Settings":
    from gralha.simulation.presets import PRESETS

    base = PRESETS[preset]
    if preset == "power-cuts":
        base = replace(base, topic_configs={"flush.messages": "1", "segment.ms": "4000"})
    if preset == "transactions":
        base = replace(base, seconds=12)
    return replace(base, faults=bug.faults, fault_interval_s=bug.fault_interval_s, pause_s=bug.pause_s)


def load_sources_only() -> None:
    """Have Gralha's packages found without extension modules; call it before they are imported."""
    sources = FileFinder.path_hook((SourceFileLoader, [".py"]))

    def hook(path: str) -> FileFinder:
        if "gralha" not in path.split("/"):
            raise ImportError
        return sources(path)  # type: ignore[return-value]

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()


def judge(bug: Bug, complaints: Iterable[str]) -> None:
    """Raise UnexplainedError at a complaint that is not the bug's, NoticedError if one is what it causes."""
    noticed = None
    for complaint in complaints:
        if re.match(bug.causes, complaint):
            noticed = noticed or complaint
        elif not re.match(bug.beside, complaint):
            raise UnexplainedError(complaint)
    if noticed is not None:
        raise NoticedError(noticed)


def stop_when_noticed(bug: Bug) -> None:
    """Have every look at the invariants judge what is wrong so far."""
    from gralha.simulation.invariants import Invariants

    look = Invariants.look

    def look_and_judge(self: Any) -> None:
        look(self)
        judge(bug, [*self.broken, *self.cluster.world.failures])

    patch(Invariants, "look", look_and_judge)


def run(bug: Bug, preset: str, seeds: int) -> str:
    """Run the seeds. Returns the result as a text."""
    from gralha.simulation.run import run_seed

    settings = settings_of(bug, preset)
    bug.put_back()
    stop_when_noticed(bug)
    for seed in range(bug.first_seed, bug.first_seed + seeds):
        try:
            report = run_seed(seed, settings)
            judge(bug, [*report.failures, *map(str, report.anomalies)])
        except NoticedError as noticed:
            return f"noticed with seed {seed}: {noticed}"
        except UnexplainedError as unexplained:
            return f"seed {seed} has a complaint that {bug.name} does not explain: {unexplained}"
    return f"{bug.name} was not noticed in {seeds} runs"


def main(name: str) -> int:
    """Returns 0 if the bug was noticed. The name of a preset runs it without a bug."""
    load_sources_only()
    if name in NOTHINGS:
        family = FAMILIES[name]
        faults = tuple(dict.fromkeys(fault for bug in family for fault in bug.faults))
        interval_s, pause_s = min(bug.fault_interval_s for bug in family), family[0].pause_s
        result = run(Bug(nothing, faults, NOTHING, NOTHING, interval_s, pause_s), name, NOTHINGS[name])
    else:
        preset, bug = BUGS[name]
        result = run(bug, preset, SEEDS)
    sys.stdout.write(f"{result}\n")
    return 0 if result.startswith("noticed") else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
