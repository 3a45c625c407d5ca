"""Known bugs of the quorum and of the controller, put back: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any

from tests.simulation.patching import patch


def commit_metadata_without_a_majority() -> None:
    from gralha.raft.leadership import Leadership

    def majority_offset(self: Any, voters: Any) -> Any:
        return max(replica.end_offset for replica in self.progress.values())

    patch(Leadership, "majority_offset", majority_offset)


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

    patch(Snapshotter, "_take", wrong)


def take_snapshots_of_what_is_not_committed() -> None:
    """KAFKA-14618: a snapshot has the high watermark at most."""
    from gralha.raft.snapshotting import Snapshotter

    take = Snapshotter._take

    def wrong(self: Any, snapshot_id: Any, *rest: Any) -> Any:
        epoch = self._log.log.epochs.latest
        return take(self, type(snapshot_id)(int(self._log.end_offset), epoch), *rest)

    patch(Snapshotter, "_take", wrong)


def save_votes_without_a_sync() -> None:
    """KAFKA-16526: quorum-state is written in place, and not synced."""
    from gralha.raft import driver

    patch(driver, "write_quorum_state", _write_in_place)


def clear_an_unreadable_vote() -> None:
    """KAFKA-16526: in addition, a quorum-state file that cannot be read counts as missing."""
    from gralha.raft import driver, quorum_state

    read = quorum_state._read

    def read_or_clear(disk: Any, folder: str) -> Any:
        try:
            return read(disk, folder)
        except quorum_state.QuorumStateError:
            return None

    patch(driver, "write_quorum_state", _write_in_place)
    patch(quorum_state, "_read", read_or_clear)


def _write_in_place(disk: Any, folder: str, state: Any, static_voters: Any) -> None:
    from gralha.raft.quorum_state import write_quorum_state

    class InPlace:
        def write_file_atomically(self, path: str, data: bytes) -> None:
            disk.write_file(path, data)

    write_quorum_state(InPlace(), folder, state, static_voters)  # type: ignore[arg-type]


def lead_on_without_a_majority() -> None:
    """KAFKA-15489: a leader of the quorum does not resign if no voter fetches from it."""
    from gralha.raft.leader import Leader
    from gralha.raft.timeouts import NEVER

    begin = Leader.begin

    def begin_without_a_deadline(self: Any) -> None:
        self.leadership._quorum_timeout_ms = NEVER
        self.leadership.quorum_deadline_ms = NEVER
        begin(self)

    patch(Leader, "begin", begin_without_a_deadline)


def live_on_without_a_controller() -> None:
    """KAFKA-14275: a controller that has failed ends, but its process does not."""
    from gralha.broker.node import Node

    patch(Node, "_fail", lambda self, error: None)


def decide_before_all_is_replayed() -> None:
    """Redpanda 5025: a new controller decides before it has replayed all records."""
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

    patch(RaftDriver, "_check_leadership", check_leadership)
