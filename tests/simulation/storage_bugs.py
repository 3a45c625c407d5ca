"""Known bugs of logs on disk, put back: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any

from tests.simulation.patching import patch


def forget_the_tail() -> None:
    """Recovery does not check the last segment after a crash."""
    from gralha.storage.recovery import LogLoader

    patch(LogLoader, "_recover", LogLoader._read_end)


def answer_a_retry_with_a_new_offset() -> None:
    from gralha.storage.log import Log

    original = Log._check_producer

    def check(self: Any, *args: Any) -> Any:
        duplicate = original(self, *args)
        if duplicate is not None:
            duplicate.last_offset += self.log_end_offset - duplicate.first_offset
            duplicate.first_offset = self.log_end_offset
        return duplicate

    patch(Log, "_check_producer", check)


def append_a_retry_again() -> None:
    from gralha.storage.log import Log

    patch(Log, "_check_producer", lambda self, *args: None)


def forget_producers_in_a_crash() -> None:
    from gralha.storage.producer_state import ProducerState

    patch(ProducerState, "replay_data", lambda self, header: None)
    patch(ProducerState, "_take_entries", lambda self, *args: None)


def leave_new_segments_out_of_the_folder() -> None:
    from gralha.storage.log_state import LogState

    patch(LogState, "_sync_folder", lambda self: None)


def remove_what_metadata_does_not_mention() -> None:
    """NATS 7556: what the metadata that a broker has at its start does not mention is removed."""
    from gralha.metadata.image import EMPTY_IMAGE
    from gralha.storage.manager import LogManager

    load = LogManager.load

    def load_and_remove(self: Any, now_ms: int, configs_for: Any) -> None:
        load(self, now_ms, configs_for)
        for topic, index in [key for key in self.logs if key[0] not in EMPTY_IMAGE.topics]:
            self.delete(topic, index, now_ms)

    patch(LogManager, "load", load_and_remove)


def forget_leader_epochs() -> None:
    """The leader-epoch checkpoint is not written: a log that was closed cleanly does not know its epochs.

    The metadata log keeps its own. Its nodes would end before a partition shows the bug.
    """
    from gralha.storage.leader_epochs import LeaderEpochs

    save = LeaderEpochs.save

    def save_metadata_only(self: Any, log_end_offset: int, sync_folder: bool = True) -> None:
        if "__cluster_metadata" in self.folder:
            save(self, log_end_offset, sync_folder)

    patch(LeaderEpochs, "save", save_metadata_only)


def forget_segments_that_are_still_there() -> None:
    """Retention forgets a segment before it renames its files. After a failed rename, it comes back."""
    from gralha.storage.log_state import LogState

    doom = LogState._doom

    def forget_and_doom(self: Any, segment: Any, others: list[Any]) -> None:
        self._set_segments(others)
        doom(self, segment, others)

    patch(LogState, "_doom", forget_and_doom)


def drop_the_last_value_of_a_key() -> None:
    """Compaction takes a key's last offset for the first one that it may keep."""
    from gralha.storage.compaction import Compaction

    build_map = Compaction.build_map

    def build_wrong_map(self: Any) -> None:
        build_map(self)
        self.offsets = {key: offset + 1 for key, offset in self.offsets.items()}

    patch(Compaction, "build_map", build_wrong_map)


def remove_segments_that_are_half_as_old() -> None:
    from gralha.storage import log_state, retention

    def count_expired(segments: Any, deletable: int, config: Any, now_ms: int) -> int:
        return retention.count_expired(segments, deletable, config, now_ms + config.retention_ms // 2)

    patch(log_state, "count_expired", count_expired)
