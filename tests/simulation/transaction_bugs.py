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


def coordinate_before_all_is_loaded() -> None:
    """Redpanda 5025: a new coordinator does not read the records of the earlier ones before it decides."""
    from gralha.coordination.runtime import Runtime
    from gralha.transactions.shard import TransactionShard

    replay_log = Runtime._replay_log

    async def read_nothing(self: Any) -> None:
        if not isinstance(self.shard, TransactionShard):
            await replay_log(self)

    patch(Runtime, "_replay_log", read_nothing)


def take_an_unclear_end_for_a_refusal() -> None:
    """Redpanda 3616: EndTxn is refused for good although its decision is in the log, and may be committed."""
    from gralha.coordination.runtime import Runtime
    from gralha.protocol.errors import ErrorCode
    from gralha.protocol.messages.end_txn import EndTxnResponse

    call = Runtime.call

    def call_and_refuse(self: Any, decide: Any, failed: Any) -> Any:
        is_decided = False

        def decide_and_keep(shard: Any, reply: Any, now_ms: int) -> Any:
            nonlocal is_decided
            decision = decide(shard, reply, now_ms)
            is_decided = isinstance(decision.response, EndTxnResponse) and bool(decision.records)
            return decision

        def unclear(error: Any) -> Any:
            return EndTxnResponse(error_code=ErrorCode.INVALID_TXN_STATE) if is_decided else failed(error)

        return call(self, decide_and_keep, unclear)

    patch(Runtime, "call", call_and_refuse)


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
