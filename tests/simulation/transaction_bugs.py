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


def send_markers_before_the_decision_is_committed() -> None:
    """A coordinator that dies after that forgets the decision, and the next one decides otherwise."""
    from gralha.coordination.decision import Decision
    from gralha.transactions.shard import TransactionShard

    def decided(self: Any, prepared: Any) -> Any:
        self._on_prepared(prepared)
        return Decision(records=[self._record(prepared)])

    patch(TransactionShard, "_decided", decided)


def leave_prepared_transactions_to_nobody() -> None:
    """A new coordinator does not send the markers of transactions that are decided already."""
    from gralha.transactions.shard import TransactionShard

    patch(TransactionShard, "on_loaded", lambda self, now_ms: self._arm_expiry(now_ms))


def let_late_requests_into_the_next_transaction() -> None:
    """Without an epoch for each transaction (KIP-890), an EndTxn that comes in late ends the next one.

    Clients with transactions v1 must wait for long. These give their requests up sooner.
    """
    from gralha.simulation import transactional

    patch(transactional, "LONG_TIMEOUT_MS", 300)


def append_what_no_coordinator_knows_of() -> None:
    """A batch that comes in after the end of its transaction begins one that nobody ends (KIP-890)."""
    from gralha.broker.broker import Broker

    patch(Broker, "verifies_transactions", lambda self: False)


def take_markers_of_replaced_coordinators() -> None:
    """A marker that was sent by an earlier coordinator comes in late, and ends the next transaction."""
    from gralha.storage.producer_state import ProducerState

    check_marker = ProducerState.check_marker

    def check(self: Any, header: Any, offset: int, coordinator_epoch: int) -> None:
        check_marker(self, header, offset, 1 << 30)

    patch(ProducerState, "check_marker", check)


def never_time_out() -> None:
    """A transaction whose producer has died stays open for ever."""
    from gralha.transactions.shard import TransactionShard

    patch(TransactionShard, "_arm_time_out", lambda self, known: None)


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
