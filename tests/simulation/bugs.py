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


class NoticedError(Exception):
    """Something is wrong: there is no need to run on."""


def stop_when_noticed() -> None:
    from gralha.simulation.invariants import Invariants

    look = Invariants.look

    def look_and_stop(self: Any) -> None:
        look(self)
        found = [*self.broken, *self.cluster.world.failures]
        if found:
            raise NoticedError(found[0])

    Invariants.look = look_and_stop  # type: ignore[method-assign]


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
    from gralha.replication.leading import Leading

    Leading._replicated_offset = lambda self, own_offset: own_offset  # type: ignore[method-assign]


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
    """Redpanda 3003, 3616: who waited does not look at the epoch; another's record has passed there."""
    from gralha.broker.handlers.produce import Pending

    def outcome(self: Any) -> int | None:
        return None if self.partition.log.high_watermark <= self.last_offset else 0

    Pending.outcome = outcome  # type: ignore[method-assign]


def never_truncate() -> None:
    """A follower keeps what the new leader does not have."""
    from gralha.replication.leading import Leading

    Leading.diverging_epoch = lambda self, *args: None  # type: ignore[method-assign]


def commit_metadata_without_a_majority() -> None:
    from gralha.raft.leadership import Leadership

    def majority_offset(self: Any, voters: Any) -> int:
        return max(replica.end_offset for replica in self.progress.values())

    Leadership.majority_offset = majority_offset  # type: ignore[method-assign]


def let_fenced_replicas_be_in_sync() -> None:
    """KAFKA-13916: leader and controller do not ask whether a replica's broker is let in at all."""
    from gralha.metadata.controller import isr_changes
    from gralha.replication.cluster_view import ClusterView
    from gralha.replication.followers import UNKNOWN

    def may_be_in_sync(self: Any, follower: Any) -> bool:
        registration = self.broker(follower.broker_id)
        return registration is not None and follower.broker_epoch in (UNKNOWN, registration.epoch)

    ClusterView.may_be_in_sync = may_be_in_sync  # type: ignore[method-assign]
    isr_changes._is_eligible = lambda image, state: True


def take_a_snapshot_for_more_than_it_has() -> None:
    """KAFKA-14619: the end is taken for the last offset that is in the snapshot, and one is left out."""
    _name_snapshots(1)


def take_a_snapshot_for_less_than_it_has() -> None:
    """KAFKA-14618: a snapshot is named after its last offset, which may be inside of a batch."""
    _name_snapshots(-1)


def _name_snapshots(difference: int) -> None:
    from gralha.raft.snapshotting import Snapshotter

    take = Snapshotter._take

    def wrong(self: Any, snapshot_id: Any, *rest: Any) -> Any:
        named = snapshot_id._replace(end_offset=snapshot_id.end_offset + difference)
        return take(self, named, *rest)

    Snapshotter._take = wrong  # type: ignore[method-assign]


def take_snapshots_of_what_is_not_committed() -> None:
    """KAFKA-14618: a snapshot has the high watermark at most."""
    from gralha.raft.snapshotting import Snapshotter

    take = Snapshotter._take

    def wrong(self: Any, snapshot_id: Any, *rest: Any) -> Any:
        epoch = self._log.log.epochs.latest
        return take(self, type(snapshot_id)(int(self._log.end_offset), epoch), *rest)

    Snapshotter._take = wrong  # type: ignore[method-assign]


def save_votes_without_a_sync() -> None:
    """KAFKA-16526: quorum-state is written in place, and not synced."""
    from gralha.raft import driver

    driver.write_quorum_state = _write_in_place


def clear_an_unreadable_vote() -> None:
    """KAFKA-16526: beside that, a quorum-state that cannot be read is taken for none."""
    from gralha.raft import driver
    from gralha.raft.quorum_state import QuorumStateError

    read = driver.read_quorum_state

    def read_or_clear(disk: Any, folder: str) -> Any:
        try:
            return read(disk, folder)
        except QuorumStateError:
            return None

    driver.write_quorum_state = _write_in_place
    driver.read_quorum_state = read_or_clear


def _write_in_place(disk: Any, folder: str, state: Any) -> None:
    from gralha.raft.quorum_state import write_quorum_state

    class InPlace:
        def write_file_atomically(self, path: str, data: bytes) -> None:
            disk.write_file(path, data)

    write_quorum_state(InPlace(), folder, state)  # type: ignore[arg-type]


def lead_on_without_a_majority() -> None:
    """KAFKA-15489: a leader of the quorum that nobody fetches from does not resign."""
    from gralha.raft.leader import Leader
    from gralha.raft.timeouts import NEVER

    begin = Leader.begin

    def begin_without_a_deadline(self: Any) -> None:
        self.leadership._quorum_timeout_ms = NEVER
        self.leadership.quorum_deadline_ms = NEVER
        begin(self)

    Leader.begin = begin_without_a_deadline  # type: ignore[method-assign]


def live_on_without_a_controller() -> None:
    """KAFKA-14275: a controller that has failed is ended, and the process it is in is not."""
    from gralha.broker.node import Node

    Node._fail = lambda self, error: None  # type: ignore[method-assign]


def remove_what_metadata_does_not_mention() -> None:
    """NATS 7556: what the metadata that a broker has at its start does not mention is removed."""
    from gralha.metadata.image import EMPTY_IMAGE
    from gralha.storage.manager import LogManager

    load = LogManager.load

    def load_and_remove(self: Any, now_ms: int, configs_for: Any) -> None:
        load(self, now_ms, configs_for)
        for topic, index in [key for key in self.logs if key[0] not in EMPTY_IMAGE.topics]:
            self.delete(topic, index, now_ms)

    LogManager.load = load_and_remove  # type: ignore[method-assign]


def decide_before_all_is_replayed() -> None:
    """Redpanda 5025: a new controller decides by what it knows, with records that it has not seen."""
    from gralha.raft.driver import RaftDriver

    def check_leadership(self: Any) -> None:
        state, pending = self.state, self._delivery.pending
        if pending and (not state.is_leader or pending[0].epoch != state.epoch):
            self._delivery.orphan_pending()
        if self._led_epoch >= 0 and (state.leadership is None or self._led_epoch != state.epoch):
            self._led_epoch = -1
            self._listener.on_resigned()
        if state.leadership is not None and self._led_epoch < 0:
            self._led_epoch = state.epoch
            self._listener.on_leader(state.epoch)
            if self._starting is not None and not self._starting.done():
                self._starting.set_result(None)

    RaftDriver._check_leadership = check_leadership  # type: ignore[method-assign]


def forget_leader_epochs() -> None:
    """The leader-epoch checkpoint is not written: a log that was closed cleanly does not know its epochs."""
    from gralha.storage.leader_epochs import LeaderEpochs

    LeaderEpochs.save = lambda self, log_end_offset: None  # type: ignore[method-assign]


def nothing() -> None:
    pass


def nothing_with_three() -> None:
    pass


def nothing_with_three_that_flush() -> None:
    pass


# What each bug needs in order to show. Those of nothing are the faults of all bugs beside it.
BUGS: dict[Callable[[], None], tuple[str, ...]] = {
    nothing: ("power_cut", "reset", "bad_network", "kill"),
    acknowledge_before_flush: ("power_cut",),
    forget_the_tail: ("power_cut",),
    answer_a_retry_with_a_new_offset: ("reset", "bad_network"),
    append_a_retry_again: ("reset", "bad_network"),
    forget_producers_in_a_crash: ("kill",),
    leave_new_segments_out_of_the_folder: ("power_cut",),
    remove_what_metadata_does_not_mention: ("kill",),
}
BUGS_OF_THREE: dict[Callable[[], None], tuple[str, ...]] = {
    nothing_with_three: ("kill", "stop", "freeze", "partition", "one_way_cut", "isolate", "reset"),
    acknowledge_without_followers: ("kill", "partition"),
    truncate_by_high_watermark: ("kill", "stop", "partition"),
    acknowledge_in_another_epoch: ("freeze", "partition", "one_way_cut", "isolate"),
    never_truncate: ("kill", "partition", "isolate"),
    commit_metadata_without_a_majority: ("isolate", "kill", "reset"),
    let_fenced_replicas_be_in_sync: ("kill", "stop", "isolate", "freeze"),
    forget_leader_epochs: ("kill", "stop", "partition", "isolate"),
    take_a_snapshot_for_more_than_it_has: ("kill", "stop"),
    take_a_snapshot_for_less_than_it_has: ("kill", "stop"),
    take_snapshots_of_what_is_not_committed: ("kill", "stop"),
    lead_on_without_a_majority: ("isolate", "partition"),
    decide_before_all_is_replayed: ("isolate", "kill", "reset"),
}
BUGS_OF_THREE_THAT_FLUSH: dict[Callable[[], None], tuple[str, ...]] = {
    nothing_with_three_that_flush: ("power_cut", "power_cut_everywhere", "failing_sync", "failing_write"),
    save_votes_without_a_sync: ("power_cut", "power_cut_everywhere"),
    clear_an_unreadable_vote: ("power_cut", "power_cut_everywhere"),
    live_on_without_a_controller: ("failing_sync",),
}
NOTHINGS = {nothing: SEEDS, nothing_with_three: 4, nothing_with_three_that_flush: 4}
# Metadata changes seldom, unless nodes come and go.
OF_METADATA = (
    commit_metadata_without_a_majority,
    decide_before_all_is_replayed,
    live_on_without_a_controller,
)


def main(name: str) -> int:
    """0 when the bug was noticed; `nothing` is no bug, for comparison, under the faults of all of them."""
    load_sources_only()
    from gralha.simulation.presets import POWER_CUTS, THREE, THREE_FLUSHED
    from gralha.simulation.run import run_seed

    all_bugs = {**BUGS, **BUGS_OF_THREE, **BUGS_OF_THREE_THAT_FLUSH}
    put_back, faults = next((bug, faults) for bug, faults in all_bugs.items() if bug.__name__ == name)
    settings = replace(
        POWER_CUTS,
        faults=faults,
        fault_interval_s=1.5,
        pause_s=0.1,
        topic_configs={"flush.messages": "1", "segment.ms": "4000"},
    )
    if put_back in BUGS_OF_THREE:
        interval_s = 1.5 if put_back in OF_METADATA else 4
        settings = replace(THREE, faults=faults, fault_interval_s=interval_s, pause_s=0.1)
    elif put_back in BUGS_OF_THREE_THAT_FLUSH:
        interval_s = 1.5 if put_back in OF_METADATA else 4
        settings = replace(THREE_FLUSHED, faults=faults, fault_interval_s=interval_s, pause_s=0.3)
    put_back()
    stop_when_noticed()
    seeds = NOTHINGS.get(put_back, SEEDS)
    for seed in range(seeds):
        try:
            report = run_seed(seed, settings)
        except NoticedError as noticed:
            sys.stdout.write(f"seed {seed}: {noticed}\n")
            return 0
        if not report.is_good:
            sys.stdout.write(f"{report}\n")
            return 0
    sys.stdout.write(f"{name} was not noticed in {seeds} runs\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
