"""Batches of transactions wait for the coordinator's agreement, and what makes the agreement void."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gralha.metadata.image import BrokerRegistration
from gralha.protocol.errors import InvalidTxnStateError, OutOfOrderSequenceNumberError
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import BatchHeader, Record, encode_batch, read_header
from gralha.replication.cluster_view import ClusterView
from gralha.replication.partition import Partition
from gralha.replication.verification import EPOCHS_MAX, KEPT_MAX, Verification, Verifications
from tests.storage.disks import QuietDisk
from tests.storage.logs import make_log

NOW_MS = 1_700_000_000_000
PRODUCER = 7


class Leader:
    """A partition with one replica, and producers with transactions."""

    def __init__(self, folder: Path) -> None:
        registered: dict[int, BrokerRegistration] = {}
        cluster = ClusterView(lambda: 0, registered.get, lambda: 10, lambda *_: None, 1000)
        self.partition = Partition("t", bytes(16), 0, make_log(QuietDisk(), folder), 1, cluster)
        self.epoch = 0
        self.lead()

    def lead(self) -> None:
        """Begin a new leader epoch."""
        self.epoch += 1
        self.partition.change_leader(1, self.epoch, [1], [1])

    def needs(self, sequence: int = 0, epoch: int = 0, producer_id: int = PRODUCER) -> bool:
        """Whether the coordinator has to be asked about a batch."""
        return self.verifications.is_needed(header_of(batch(sequence, epoch, producer_id)))

    def ask(
        self, sequence: int = 0, epoch: int = 0, producer_id: int = PRODUCER, begins_at_zero: bool = False
    ) -> Verification:
        return self.verifications.begin(header_of(batch(sequence, epoch, producer_id)), begins_at_zero)

    def agree(self, verification: Verification) -> None:
        self.verifications.agreed(verification)

    def append(self, sequence: int = 0, epoch: int = 0, producer_id: int = PRODUCER) -> int:
        data = batch(sequence, epoch, producer_id)
        return self.partition.led().append(RecordBytes(data, 0, len(data)), 1, NOW_MS).first_offset

    def end(
        self,
        epoch: int = 0,
        is_commit: bool = True,
        producer_id: int = PRODUCER,
        has_new_epoch: bool = False,
    ) -> None:
        self.partition.led().append_marker(producer_id, epoch, 0, is_commit, has_new_epoch, NOW_MS)

    @property
    def verifications(self) -> Verifications:
        return self.partition.led().verifications


def batch(sequence: int, epoch: int, producer_id: int) -> bytes:
    return encode_batch(
        [Record(b"k", b"v", NOW_MS)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )


def header_of(data: bytes) -> BatchHeader:
    return read_header(data, 0)


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[Leader]:
    made = Leader(tmp_path)
    yield made
    made.partition.log.close()


def test_the_first_batch_of_a_transaction_needs_an_agreement(leader: Leader) -> None:
    assert leader.needs()
    with pytest.raises(InvalidTxnStateError, match="not part of an ongoing transaction of producer 7 in t-0"):
        leader.append()
    asked = leader.ask()
    assert leader.needs()
    with pytest.raises(InvalidTxnStateError):
        leader.append()
    leader.agree(asked)
    assert not leader.needs()
    assert leader.append() == 0


def test_later_batches_need_none(leader: Leader) -> None:
    leader.agree(leader.ask())
    leader.append()
    assert not leader.needs(1)
    assert leader.append(1) == 1


def test_each_transaction_needs_one(leader: Leader) -> None:
    leader.agree(leader.ask())
    leader.append()
    leader.end()
    assert leader.needs(1)
    with pytest.raises(InvalidTxnStateError):
        leader.append(1)


def test_an_end_meanwhile_makes_the_agreement_void(leader: Leader) -> None:
    """The coordinator has agreed to a transaction that is over (KIP-890)."""
    asked = leader.ask()
    leader.end()
    assert not leader.verifications.is_current(asked)
    leader.agree(asked)
    assert leader.needs()
    with pytest.raises(InvalidTxnStateError):
        leader.append()


def test_an_end_after_the_agreement_makes_it_void(leader: Leader) -> None:
    leader.agree(leader.ask())
    leader.end()
    with pytest.raises(InvalidTxnStateError):
        leader.append()


def test_an_end_of_another_producer_does_not(leader: Leader) -> None:
    leader.agree(leader.ask())
    leader.end(producer_id=8)
    assert leader.append() == 1


def test_batches_of_one_producer_share_an_agreement(leader: Leader) -> None:
    first, second = leader.ask(0), leader.ask(1)
    assert first is second
    leader.agree(first)
    assert (leader.append(0), leader.append(1)) == (0, 1)


def test_a_later_batch_does_not_begin_the_transaction(leader: Leader) -> None:
    """The first of two batches failed. The second one must not become the first."""
    leader.ask(3)
    second = leader.ask(4)
    leader.agree(second)
    with pytest.raises(OutOfOrderSequenceNumberError, match=r"4 \(incoming .* 3 \(earliest seen"):
        leader.append(4)
    assert leader.append(3) == 0


def test_with_v2_an_unknown_producer_begins_with_sequence_0(leader: Leader) -> None:
    leader.agree(leader.ask(3, begins_at_zero=True))
    with pytest.raises(OutOfOrderSequenceNumberError, match="Expected sequence 0"):
        leader.append(3)
    leader.agree(leader.ask(0, begins_at_zero=True))
    assert leader.append(0) == 0


def test_with_v1_an_unknown_producer_begins_anywhere(leader: Leader) -> None:
    leader.agree(leader.ask(3))
    assert leader.append(3) == 0


def test_an_agreement_is_for_one_epoch(leader: Leader) -> None:
    leader.agree(leader.ask(epoch=0))
    assert leader.needs(epoch=1)
    with pytest.raises(InvalidTxnStateError):
        leader.append(epoch=1)


def test_a_false_epoch_is_not_in_the_way_of_the_true_one(leader: Leader) -> None:
    """Anybody may send a batch with a newer epoch. The coordinator refuses it, but not the producer's own."""
    false = leader.ask(epoch=5)
    true = leader.ask(epoch=1)
    leader.agree(true)
    assert leader.needs(epoch=5)
    with pytest.raises(InvalidTxnStateError):
        leader.append(epoch=5)
    assert leader.append(epoch=1) == 0
    leader.agree(false)  # void: the transaction has begun
    assert leader.needs(epoch=5)


def test_a_zombie_is_not_in_the_way_either(leader: Leader) -> None:
    true = leader.ask(epoch=1)
    leader.ask(epoch=0)
    leader.agree(true)
    assert leader.append(epoch=1) == 0


def test_an_end_makes_the_agreements_of_all_epochs_void(leader: Leader) -> None:
    asked = [leader.ask(epoch=epoch) for epoch in (1, 2)]
    leader.end(epoch=1)
    for one in asked:
        leader.agree(one)
    assert leader.needs(epoch=1)
    assert leader.needs(epoch=2)


def test_with_v2_the_end_of_the_last_transaction_keeps_the_agreement_about_the_next_one(
    leader: Leader,
) -> None:
    """EndTxn gives the next epoch to the producer, and the marker, which comes later, has the same epoch."""
    leader.agree(leader.ask(epoch=1, begins_at_zero=True))
    leader.append(epoch=1)
    asked = leader.ask(epoch=2, begins_at_zero=True)
    leader.end(epoch=2, has_new_epoch=True)
    leader.agree(asked)
    assert leader.append(epoch=2) == 2


def test_with_v2_the_end_of_a_transaction_makes_the_agreement_about_it_void(leader: Leader) -> None:
    asked = leader.ask(epoch=1, begins_at_zero=True)
    leader.end(epoch=2, has_new_epoch=True)
    leader.agree(asked)
    assert leader.needs(epoch=1)
    with pytest.raises(InvalidTxnStateError):
        leader.append(epoch=1)


def test_a_new_leader_epoch_asks_again(leader: Leader) -> None:
    leader.agree(leader.ask())
    leader.lead()
    assert leader.needs()


def test_a_new_leader_epoch_knows_the_open_transactions_of_the_log(leader: Leader) -> None:
    leader.agree(leader.ask())
    leader.append()
    leader.lead()
    assert not leader.needs(1)
    assert leader.append(1) == 1


def test_what_was_never_answered_is_not_kept_for_ever(leader: Leader) -> None:
    first = leader.ask(producer_id=0)
    for producer_id in range(1, KEPT_MAX + 1):
        leader.ask(producer_id=producer_id)
    leader.agree(first)
    assert leader.needs(producer_id=0)
    leader.agree(leader.ask(producer_id=KEPT_MAX))
    assert not leader.needs(producer_id=KEPT_MAX)


def test_producers_whose_batches_wait_are_all_kept(leader: Leader) -> None:
    answers: list[int] = []
    waiting = [leader.ask(producer_id=producer_id) for producer_id in range(KEPT_MAX)]
    for verification in waiting:
        assert verification.wait("t", answers.append)
    waiting += [leader.ask(producer_id=KEPT_MAX + more) for more in range(50)]
    assert all(leader.verifications.is_current(one) for one in waiting)
    waiting[0].answer("t", 0)
    leader.ask(producer_id=2 * KEPT_MAX)
    assert answers == [0]
    assert all(leader.verifications.is_current(one) for one in waiting[1:KEPT_MAX])


def test_an_epoch_whose_batches_wait_is_kept(leader: Leader) -> None:
    oldest = leader.ask(epoch=0)
    assert oldest.wait("t", lambda code: None)
    others = [leader.ask(epoch=epoch) for epoch in range(1, EPOCHS_MAX + 1)]
    assert leader.verifications.is_current(oldest)
    assert not leader.verifications.is_current(others[0])


def test_batches_that_wait_are_answered_once_in_their_order(leader: Leader) -> None:
    answers: list[tuple[str, int]] = []
    verification = leader.ask()
    assert verification.wait("t", lambda code: answers.append(("first", code)))
    assert not verification.wait("t", lambda code: answers.append(("second", code)))
    assert verification.wait("false", lambda code: answers.append(("another id", code)))
    verification.answer("t", 0)
    assert answers == [("first", 0), ("second", 0)]
    assert verification.has_waiting()
    assert verification.wait("t", lambda code: answers.append(("third", code)))
    verification.answer("false", 47)
    assert answers[2:] == [("another id", 47)]


def test_the_epochs_of_a_producer_are_not_kept_for_ever(leader: Leader) -> None:
    oldest, *others = [leader.ask(epoch=epoch) for epoch in range(EPOCHS_MAX + 1)]
    assert not leader.verifications.is_current(oldest)
    assert all(leader.verifications.is_current(one) for one in others)
