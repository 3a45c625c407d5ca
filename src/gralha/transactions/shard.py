"""All transactional ids of one partition of `__transaction_state`, in memory.

Each request goes to a function of `deciding`, which returns the next `Transaction` of an id. The runtime
appends its record and replays it. When the record of a decided transaction is committed, `on_prepared` is
called, and the broker writes markers to the partitions of the transaction. Then it calls `complete`.

A shard that is loaded from the log gives all decided transactions to `on_prepared` again, because nobody
knows which of their markers are written. A partition takes a marker twice without harm.
"""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import islice
from typing import Final

from gralha.coordination.decision import NOTHING, Decision, Reply
from gralha.coordination.producer import Producer
from gralha.coordination.timers import Timers
from gralha.protocol.batches import NO_PRODUCER_EPOCH
from gralha.protocol.errors import ErrorCode, InvalidRequestError, KafkaError
from gralha.protocol.messages.describe_transactions import TransactionState
from gralha.protocol.messages.end_txn import EndTxnResponse
from gralha.protocol.messages.init_producer_id import InitProducerIdResponse
from gralha.protocol.messages.list_transactions import ListTransactionsResponse
from gralha.transactions import deciding, listing
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.deciding import NewProducerId, ProducerIdentity
from gralha.transactions.partitions import partition_results
from gralha.transactions.records import TRANSACTION_CODEC, TransactionDecision, TransactionRecord
from gralha.transactions.transaction import (
    NO_TIMEOUT_MS,
    PREPARED,
    Partition,
    State,
    Transaction,
)

# The keys of timers. The other timers are of ids, and any text may be an id, so their keys are pairs.
EXPIRY: Final = "transactional.id.expiration"
NEXT_EXPIRY: Final = "transactional.id.expiration: the next ids"
OPEN: Final = frozenset({State.ONGOING})

# Ids that one step of the event loop looks at, to list them or to forget them. The next ones have their turn
# at once, after other requests.
IDS_AT_ONCE: Final = 500

# A client that adds a partition waits this long for the end of its last transaction. Kafka answers
# CONCURRENT_TRANSACTIONS at once, and clients come back after 20 ms or more.
COMPLETION_WAIT_MS: Final = 200


class TransactionShard:
    codec = TRANSACTION_CODEC

    def __init__(
        self,
        config: TransactionsConfig,
        version: Callable[[], int],
        new_producer_id: NewProducerId,
        on_prepared: Callable[[Transaction], None],
    ) -> None:
        """`version` returns the level of transaction.version. `on_prepared` must not decide anything."""
        self.transactions: dict[str, Transaction] = {}
        # The ids with an open transaction, in the order of their begin. There are few of them.
        self._open: dict[str, None] = {}
        # The ids with a decided transaction whose markers are owed.
        self._prepared: dict[str, None] = {}
        self.timers = Timers()
        self._config = config
        self._version = version
        self._new_producer_id = new_producer_id
        self._on_prepared = on_prepared
        # Clients whose last transaction is being completed, by id.
        self._waiting: dict[str, list[tuple[Reply, Callable[[int], TransactionDecision]]]] = {}

    # Requests

    def begin(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdentity | None,
        now_ms: int,
        enables_2pc: bool = False,
        keeps_prepared: bool = False,
    ) -> TransactionDecision:
        """InitProducerId: a producer begins, and all earlier producers of the id are fenced.

        With `enables_2pc` the transactions have no timeout. With `keeps_prepared` an open transaction is not
        aborted (KIP-939).
        """
        if not transactional_id:
            raise InvalidRequestError("The transactional id is empty")
        timeout_ms = self._timeout_ms(timeout_ms, enables_2pc)
        if keeps_prepared and expected is not None:
            raise InvalidRequestError("A producer that keeps a transaction must not name an earlier one")
        known = self.transactions.get(transactional_id)
        if known is None:
            known = Transaction(
                transactional_id, self._new_producer_id(), NO_PRODUCER_EPOCH, timeout_ms, now_ms
            )
        if keeps_prepared and known.state is State.ONGOING:
            return self._keep(known, timeout_ms, now_ms)
        begun = deciding.begin(known, expected, timeout_ms, self._version(), self._new_producer_id, now_ms)
        if begun.is_abort:
            waiting = InitProducerIdResponse(
                error_code=ErrorCode.CONCURRENT_TRANSACTIONS, producer_id=-1, producer_epoch=-1
            )
            return self._decided(begun.transaction)._replace(response=waiting)
        response = InitProducerIdResponse(
            producer_id=begun.transaction.producer_id, producer_epoch=begun.transaction.epoch
        )
        return Decision(response, [self._record(begun.transaction)])

    def _timeout_ms(self, timeout_ms: int, enables_2pc: bool) -> int:
        """The timeout of a producer's transactions."""
        if enables_2pc:
            if not self._config.transaction_two_phase_commit_enable:
                raise KafkaError(
                    "This broker allows no two-phase commit (transaction.two.phase.commit.enable)",
                    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                )
            return NO_TIMEOUT_MS
        if not 0 < timeout_ms <= self._config.transaction_max_timeout_ms:
            raise KafkaError(
                f"The transaction timeout must be between 1 and {self._config.transaction_max_timeout_ms} ms "
                "(transaction.max.timeout.ms)",
                ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            )
        return timeout_ms

    def _keep(self, known: Transaction, timeout_ms: int, now_ms: int) -> TransactionDecision:
        kept = deciding.keep(known, timeout_ms, self._version(), self._new_producer_id, now_ms)
        producer_id, epoch = kept.owner
        response = InitProducerIdResponse(
            producer_id=producer_id,
            producer_epoch=epoch,
            ongoing_txn_producer_id=kept.producer_id,
            ongoing_txn_producer_epoch=kept.epoch,
        )
        return Decision(response, [self._record(kept)])

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[Partition],
        version: int,
        now_ms: int,
    ) -> TransactionDecision:
        """AddPartitionsToTxn, AddOffsetsToTxn: the producer will write to partitions."""
        known = self._known(transactional_id)
        added = deciding.add(known, producer, frozenset(partitions), version, now_ms)
        response = partition_results(transactional_id, dict.fromkeys(partitions, ErrorCode.NONE))
        return Decision(response, () if added is None else [self._record(added)])

    def add_partitions_soon(
        self,
        reply: Reply,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[Partition],
        version: int,
        now_ms: int,
    ) -> TransactionDecision:
        """Like `add_partitions`, for a client that may wait until its last transaction is complete."""

        def add(now_ms: int) -> TransactionDecision:
            return self.add_partitions(transactional_id, producer, partitions, version, now_ms)

        known = self.transactions.get(transactional_id)
        if known is None or known.state not in PREPARED or (known.producer_id, known.epoch) != producer:
            return add(now_ms)
        self._waiting.setdefault(transactional_id, []).append((reply, add))
        if self.timers.deadline_ms(("waiting", transactional_id)) is None:
            self._wake_at(transactional_id, now_ms + COMPLETION_WAIT_MS)
        return NOTHING

    def _wake_at(self, transactional_id: str, at_ms: int) -> None:
        self.timers.schedule(("waiting", transactional_id), at_ms, partial(self._wake, transactional_id))

    def _wake(self, transactional_id: str, now_ms: int) -> TransactionDecision:
        """Decide on the request of a client that has waited."""
        waiting = self._waiting.get(transactional_id, [])
        if not waiting:
            return NOTHING
        reply, decide = waiting.pop(0)
        if waiting:
            self._wake_at(transactional_id, now_ms)
        else:
            del self._waiting[transactional_id]
        try:
            decision = decide(now_ms)
        except KafkaError as error:
            reply.fail(error)
            return NOTHING
        response = decision.response
        assert response is not None
        return decision._replace(
            response=None, then=lambda: reply.send(response), on_failed=lambda error: reply.fail(error)
        )

    def verify_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[Partition]
    ) -> TransactionDecision:
        """A leader asks which partitions a transaction has."""
        has = deciding.verify(self._known(transactional_id), producer)
        return Decision(
            partition_results(
                transactional_id,
                {
                    one: ErrorCode.NONE if one in has else ErrorCode.TRANSACTION_ABORTABLE
                    for one in partitions
                },
            )
        )

    def end(
        self, transactional_id: str, producer: ProducerIdentity, is_commit: bool, version: int, now_ms: int
    ) -> TransactionDecision:
        """EndTxn: the producer commits or aborts. The answer leaves when the decision is committed."""
        known = self._known(transactional_id)
        ended = deciding.end(known, producer, is_commit, version, self._new_producer_id, now_ms)
        if ended is None:
            return Decision(EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch))
        after = ended.completed(now_ms)
        response = EndTxnResponse(producer_id=after.producer_id, producer_epoch=after.epoch)
        return self._decided(ended)._replace(response=response)

    def describe(self, transactional_id: str) -> TransactionDecision:
        """DescribeTransactions: one id."""
        if not transactional_id:
            raise InvalidRequestError("The transactional id is empty")
        known = self.transactions.get(transactional_id)
        if known is None:
            response = TransactionState(
                transactional_id=transactional_id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            )
        else:
            response = listing.described(known)
        return Decision(response)

    def list(self, wanted: listing.Filter, now_ms: int) -> Iterator[tuple[ListTransactionsResponse, bool]]:
        """ListTransactions: the ids that pass a filter, in steps, and whether there are more steps."""
        asked = iter([*(self._open if wanted.states == OPEN else self.transactions)])
        has_more = True
        while has_more:
            part = [*islice(asked, IDS_AT_ONCE)]
            has_more = len(part) == IDS_AT_ONCE
            found = (self.transactions.get(transactional_id) for transactional_id in part)
            states = [listing.listed(one) for one in found if one is not None and wanted.takes(one, now_ms)]
            yield ListTransactionsResponse(transaction_states=states), has_more

    # The end of a transaction

    def complete(self, prepared: Transaction, now_ms: int) -> TransactionDecision:
        """All partitions of a decided transaction have its marker."""
        if self.transactions.get(prepared.transactional_id) != prepared:
            return NOTHING  # another coordinator was faster
        return Decision(records=[self._record(prepared.completed(now_ms))])

    def _decided(self, prepared: Transaction) -> TransactionDecision:
        return Decision(records=[self._record(prepared)], on_committed=partial(self._on_prepared, prepared))

    def _time_out(self, transactional_id: str, now_ms: int) -> TransactionDecision:
        """Abort a transaction that is open for too long. Its producer needs a new epoch from now on.

        The timer counts, not the clock: when somebody sets the clock, the runtime moves the timers.
        """
        known = self.transactions.get(transactional_id)
        if known is None or known.state is not State.ONGOING:
            return NOTHING
        return self._decided(deciding.abort(known, self._version(), self._new_producer_id, now_ms))

    # Ids that nobody uses

    def _expire(self, now_ms: int) -> TransactionDecision:
        self._arm_expiry(now_ms)
        return self._expire_next(iter([*self.transactions]), now_ms)

    def _expire_next(self, ids: Iterator[str], now_ms: int) -> TransactionDecision:
        part = [*islice(ids, IDS_AT_ONCE)]
        if len(part) == IDS_AT_ONCE:
            self.timers.schedule(NEXT_EXPIRY, now_ms, partial(self._expire_next, ids))
        before_ms = now_ms - self._config.transactional_id_expiration_ms
        found = (self.transactions.get(transactional_id) for transactional_id in part)
        records = [
            TransactionRecord(one.transactional_id, None)
            for one in found
            if one is not None
            and one.updated_ms <= before_ms
            and one.state is not State.ONGOING
            and one.state not in PREPARED
        ]
        return Decision(records=records, is_atomic=False)

    def _arm_expiry(self, now_ms: int) -> None:
        interval_ms = self._config.transaction_remove_expired_transaction_cleanup_interval_ms
        self.timers.schedule(EXPIRY, now_ms + interval_ms, self._expire)

    # The log

    def replay(self, record: TransactionRecord, producer: Producer | None = None) -> None:
        """Take over what a record says."""
        transactional_id = record.transactional_id
        before = self.transactions.get(transactional_id)
        if record.transaction is None:
            self.transactions.pop(transactional_id, None)
            self._open.pop(transactional_id, None)
            self._prepared.pop(transactional_id, None)
            self.timers.cancel(_time_out_of(transactional_id))
            return
        self.transactions[transactional_id] = record.transaction
        if record.transaction.state in PREPARED:
            self._prepared[transactional_id] = None
        else:
            self._prepared.pop(transactional_id, None)
        if transactional_id in self._waiting and record.transaction.state not in PREPARED:
            self._wake_at(transactional_id, record.transaction.updated_ms)
        if record.transaction.state is not State.ONGOING:
            self._open.pop(transactional_id, None)
            self.timers.cancel(_time_out_of(transactional_id))
        elif before is None or before.state is not State.ONGOING or before.owner != record.transaction.owner:
            self._open[transactional_id] = None
            self.timers.cancel(_time_out_of(transactional_id))
            self._arm_time_out(record.transaction, record.transaction.timeout_since_ms)

    def replay_end_of_transaction(self, producer: Producer, is_commit: bool) -> None:
        """The records of this topic are never a part of a transaction."""

    def on_loaded(self, now_ms: int) -> None:
        """All records are replayed: start the timers, and send the markers of decided transactions again."""
        self._arm_expiry(now_ms)
        for transactional_id in self._prepared:
            known = self.transactions[transactional_id]
            key = ("markers", transactional_id)
            self.timers.schedule(key, now_ms, partial(self._send_markers_again, known))
        for transactional_id in self._open:
            known = self.transactions[transactional_id]
            if known.timeout_since_ms > now_ms:
                # The clock of the last coordinator was ahead of this one, perhaps by hours.
                self._arm_time_out(known, now_ms)

    def _send_markers_again(self, prepared: Transaction, _now_ms: int) -> TransactionDecision:
        if self.transactions.get(prepared.transactional_id) != prepared:
            return NOTHING  # it is complete, and its markers could end the next transaction
        return Decision(on_committed=partial(self._on_prepared, prepared))

    def _arm_time_out(self, known: Transaction, since_ms: int) -> None:
        if known.timeout_ms < NO_TIMEOUT_MS:
            self.timers.schedule(
                _time_out_of(known.transactional_id),
                since_ms + known.timeout_ms,
                partial(self._time_out, known.transactional_id),
            )

    def _known(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise InvalidRequestError("The transactional id is empty")
        known = self.transactions.get(transactional_id)
        if known is None:
            raise deciding.other_producer(transactional_id)
        return known

    def _record(self, transaction: Transaction) -> TransactionRecord:
        # Version 0 has no place for the producer of a kept transaction.
        version = 1 if transaction.is_kept else min(self._version(), 1)
        return TransactionRecord(transaction.transactional_id, transaction, version)


def _time_out_of(transactional_id: str) -> tuple[str, str]:
    """The key of the timer that ends an open transaction."""
    return ("timeout", transactional_id)
