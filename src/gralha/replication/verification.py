"""Transactions that write to a partition for the first time, until their coordinator agrees (KIP-890).

A record of a transaction may only be appended if the transaction's coordinator knows of the partition.
Otherwise nobody would ever write the end of the transaction here, and readers of committed records would wait
for ever. So before the first batch of a transaction the leader asks the coordinator. Batches of the same
producer wait meanwhile for the same answer, in their order. Batches of other producers do not.

An end marker of the producer forgets the coordinator's agreement, also one that comes in while the
coordinator is asked: the agreement was about a transaction that is over. With transactions v2 a producer may
begin its next transaction before the marker of the last one is here. That marker has the epoch of the next
transaction, so it forgets earlier epochs only.

A producer may have several requests under way. If the first of them fails, the next ones must not become the
begin of the transaction. So the lowest sequence number that was seen since is remembered.

Leader epochs have a `Verifications` each: a new leader asks again, or has the open transaction in its log.
"""

from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from gralha.protocol.errors import InvalidTxnStateError, OutOfOrderSequenceNumberError
from gralha.protocol.records import BatchHeader
from gralha.storage.log import Log

# Producers that were refused, or that never came back. The oldest are forgotten first, but never those with
# batches that wait.
KEPT_MAX: Final = 1000
# Epochs of one producer. Anybody may claim to have another epoch, and must not be in the way of the one who
# really has it.
EPOCHS_MAX: Final = 5
# This many old producers are tried before one more is kept.
TRIED_MAX: Final = 8

# Gets an error code.
Answered = Callable[[int], None]


class Verification:
    """A question to the coordinator about a producer, and the answer."""

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch: int = epoch
        self.lowest_sequence: i64 = 0
        self.is_verified: bool = False
        # The rules of the producer: with transactions v2, an unknown producer begins with sequence 0.
        self.begins_at_zero: bool = False
        # Those who wait for the coordinator's answer, by the transactional id that they claim to have.
        self._waiting: dict[str, list[Answered]] = {}

    def wait(self, transactional_id: str, answered: Answered) -> bool:
        """Wait for the answer about a transactional id. Returns True if the caller has to ask for it.

        If each batch had its own question, a batch that comes after the first answer would be appended
        before one that still waits.
        """
        waiting = self._waiting.get(transactional_id)
        if waiting is None:
            self._waiting[transactional_id] = [answered]
            return True
        waiting.append(answered)
        return False

    def answer(self, transactional_id: str, error_code: int) -> None:
        """The coordinator has answered."""
        for answered in self._waiting.pop(transactional_id):
            answered(error_code)

    def has_waiting(self) -> bool:
        return len(self._waiting) > 0


class Verifications:
    """The producers of one partition, in one leader epoch, that have no open transaction here."""

    def __init__(self, log: Log, name: str) -> None:
        self._log = log
        self._name = name
        self._known: dict[int, dict[int, Verification]] = {}  # by producer id and epoch

    def is_needed(self, header: BatchHeader) -> bool:
        """Whether the coordinator has to be asked before this batch of a transaction can be appended."""
        if self._log.has_open_transaction(header.producer_id, header.producer_epoch):
            return False
        known = self._find(int(header.producer_id), int(header.producer_epoch))
        return known is None or not known.is_verified

    def begin(self, header: BatchHeader, begins_at_zero: bool) -> Verification:
        """A batch needs the agreement of the coordinator. Call `agreed` with the result when it has come."""
        known = self.begin_at(int(header.producer_id), int(header.producer_epoch), int(header.base_sequence))
        if header.base_sequence < known.lowest_sequence:
            known.lowest_sequence = header.base_sequence
        known.begins_at_zero = begins_at_zero
        return known

    def begin_at(self, producer_id: int, epoch: int, sequence: int = 0) -> Verification:
        """The same for a producer whose batches have no sequence numbers, or this one."""
        known = self._find(producer_id, epoch)
        if known is None:
            known = Verification(producer_id, epoch)
            known.lowest_sequence = sequence
            self._remember(known)
        return known

    def is_current(self, verification: Verification) -> bool:
        """Whether the transaction has neither begun nor ended here since it was asked about."""
        return self._find(verification.producer_id, verification.epoch) is verification

    def agreed(self, verification: Verification) -> None:
        """The coordinator knows of the partition. This counts unless the transaction has ended meanwhile."""
        if self.is_current(verification):
            verification.is_verified = True

    def check(self, header: BatchHeader) -> None:
        """Refuse a batch of a transaction that its coordinator does not know of. Called before an append."""
        if self._log.has_open_transaction(header.producer_id, header.producer_epoch):
            return
        known = self._find(int(header.producer_id), int(header.producer_epoch))
        if known is None or not known.is_verified:
            raise InvalidTxnStateError(
                f"Record was not part of an ongoing transaction of producer {header.producer_id} in "
                f"{self._name}"
            )
        if (
            known.begins_at_zero
            and header.base_sequence != 0
            and not self._log.has_batches_of(known.producer_id)
        ):
            raise OutOfOrderSequenceNumberError(
                f"Invalid sequence number for producer {header.producer_id} in partition {self._name}: "
                f"{header.base_sequence} (incoming seq. number). Expected sequence 0 for transactions v2 "
                "idempotent producer with no existing state."
            )
        if header.base_sequence > known.lowest_sequence:
            raise OutOfOrderSequenceNumberError(
                f"Out of order sequence number for producer {header.producer_id} in partition {self._name}: "
                f"{header.base_sequence} (incoming seq. number), {known.lowest_sequence} (earliest seen "
                "sequence)"
            )

    def begun(self, producer_id: int) -> None:
        """The transaction has a batch here, so that the log knows it."""
        if self._known:
            self._known.pop(producer_id, None)

    def ended(self, producer_id: int, epoch: int, has_new_epoch: bool) -> None:
        """A marker with this epoch was written. With `has_new_epoch` it is about earlier epochs."""
        known = self._known.pop(producer_id, None)
        if known is not None and has_new_epoch:
            for verification in known.values():
                if verification.epoch >= epoch:
                    self._remember(verification)

    def _find(self, producer_id: int, epoch: int) -> Verification | None:
        known = self._known.get(producer_id)
        return None if known is None else known.get(epoch)

    def _remember(self, verification: Verification) -> None:
        epochs = self._known.pop(verification.producer_id, {})
        if len(epochs) >= EPOCHS_MAX:
            for epoch, known in epochs.items():
                if not known.has_waiting():
                    del epochs[epoch]
                    break
        epochs[verification.epoch] = verification
        if len(self._known) >= KEPT_MAX:
            self._forget_one()
        self._known[verification.producer_id] = epochs

    def _forget_one(self) -> None:
        """Forget the oldest producer without batches that wait. Connections limit the others."""
        for _ in range(TRIED_MAX):
            oldest = next(iter(self._known))
            epochs = self._known.pop(oldest)
            if not any(known.has_waiting() for known in epochs.values()):
                return
            self._known[oldest] = epochs
