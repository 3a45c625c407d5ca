"""Known bugs of transactions, put back: each function patches one in.

Each function imports what it patches: `bugs.py` has to load Gralha's sources first.
"""

from typing import Any

from tests.simulation.patching import patch


def take_the_last_stable_offset_for_inclusive() -> None:
    """Redpanda 3036: readers of committed records get the first record of an open transaction."""
    from gralha.storage.log_state import LogState

    last_stable_offset = LogState.last_stable_offset

    def one_more(self: Any) -> int:
        return int(min(last_stable_offset(self) + 1, self.high_watermark))

    patch(LogState, "last_stable_offset", one_more)


def leave_prepared_transactions_to_nobody() -> None:
    """A new coordinator does not send the markers of transactions that are decided already."""
    from gralha.transactions.shard import TransactionShard

    patch(TransactionShard, "on_loaded", lambda self, now_ms: self._arm_expiry(now_ms))


def never_time_out() -> None:
    """A transaction whose producer has died stays open for ever."""
    from gralha.transactions.shard import TransactionShard

    patch(TransactionShard, "_arm_time_out", lambda self, known, started_ms: None)


def let_zombies_write() -> None:
    """A coordinator does not look at the epoch of a producer."""
    from gralha.transactions import deciding

    patch(deciding, "_check_producer", lambda known, producer: None)


def show_aborted_transactions() -> None:
    """A leader does not list the aborted transactions in its responses."""
    from gralha.storage.log import Log

    patch(Log, "aborted_transactions", lambda self, *args: [])


def count_offsets_of_aborted_transactions() -> None:
    """A group takes over the offsets of a transaction that was aborted."""
    from gralha.groups.transactional_offsets import TransactionalOffsets

    end = TransactionalOffsets.end
    patch(TransactionalOffsets, "end", lambda self, producer_id, is_commit: end(self, producer_id, True))


def forget_offsets_of_committed_transactions() -> None:
    """A group forgets the offsets of every transaction."""
    from gralha.groups.transactional_offsets import TransactionalOffsets

    end = TransactionalOffsets.end
    patch(TransactionalOffsets, "end", lambda self, producer_id, is_commit: end(self, producer_id, False))
