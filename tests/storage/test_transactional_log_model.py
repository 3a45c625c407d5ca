"""The log with transactions against a model: random sequences with crashes, truncation and retention.

It has all events of `test_log_model.py`, and those of three producers: a batch in a transaction, and a marker
that commits or aborts. The model is only a list of the written batches. From it follow

- the last stable offset,
- the aborted transactions that a fetch of any range must name, and those that it may name,
- the records that a reader of committed records gets from any offset on.

After a restart or a truncation the log may know less, as Kafka's does. Retention may have removed the begin
of a transaction: `known_from` is the first offset that the log must know. And a snapshot has no transaction
that has ended: `ended_before` is the offset below which a marker counts, also if it is above the high
watermark.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.messages.fetch import AbortedTransaction, PartitionData
from gralha.simulation.reading import read_records
from gralha.storage.log import COORDINATOR
from tests.storage.logs import NOW, as_records, batch
from tests.storage.test_log_model import FRACTION, LogMachine

PRODUCERS = st.sampled_from([901, 902, 903])
ALL = 1 << 20


class Piece(NamedTuple):
    """A batch of a transaction, or the marker that ends one."""

    producer_id: int
    first: int
    last: int
    is_marker: bool = False
    is_commit: bool = False


class Transaction(NamedTuple):
    """The offsets of its first record and of its marker, which is -1 while it is open."""

    producer_id: int
    first: int
    marker: int
    is_commit: bool


class TransactionalLogMachine(LogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[Piece] = []
        self.sequences: dict[int, int] = {}
        self.known_from = 0
        self.ended_before = 0

    # What happens

    @rule(producer_id=PRODUCERS, count=st.integers(1, 3))
    def append_in_a_transaction(self, producer_id: int, count: int) -> None:
        sequence = self.sequences.get(producer_id, 0)
        data = batch(
            count, NOW, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True
        )
        self.log.append_as_leader(as_records(data), self.epoch, NOW)
        self.sequences[producer_id] = sequence + count
        self.pieces.append(Piece(producer_id, self.end, self.end + count - 1))
        self._written(data, NOW)

    @rule(producer_id=PRODUCERS, is_commit=st.booleans())
    def end_a_transaction(self, producer_id: int, is_commit: bool) -> None:
        """There need not be one: a coordinator repeats markers."""
        data = encode_end_marker(
            commit=is_commit, coordinator_epoch=0, producer_id=producer_id, producer_epoch=0, timestamp_ms=NOW
        )
        self.log.append_as_leader(as_records(data), self.epoch, NOW, origin=COORDINATOR)
        self.pieces.append(Piece(producer_id, self.end, self.end, True, is_commit))
        self._written(data, NOW)

    def _restarted(self) -> None:
        """Also called after a truncation: the state is rebuilt from a snapshot and the batches after it."""
        super()._restarted()
        self.pieces = [piece for piece in self.pieces if piece.last < self.end]
        self.known_from = max(self.known_from, int(self.log.segments[0].base_offset))
        self.ended_before = self.end
        self.sequences = {}
        for entry in self.log.active_producers():
            if entry.producer_id > 900:
                self.sequences[int(entry.producer_id)] = int(entry.last_sequence()) + 1

    @rule(distance=st.integers(-5, 50))
    def start_anew(self, distance: int) -> None:
        super().start_anew(distance)
        self.pieces, self.sequences, self.known_from, self.ended_before = [], {}, 0, 0

    # What the model says

    def transactions(self, since: int = 0) -> list[Transaction]:
        """All transactions from an offset on, in the order of their ends."""
        ended: list[Transaction] = []
        begun: dict[int, int] = {}
        for piece in self.pieces:
            if piece.last < since:
                continue
            if not piece.is_marker:
                begun.setdefault(piece.producer_id, piece.first)
            elif piece.producer_id in begun:
                first = begun.pop(piece.producer_id)
                ended.append(Transaction(piece.producer_id, first, piece.first, piece.is_commit))
        still = sorted((first, producer_id) for producer_id, first in begun.items())
        return ended + [Transaction(producer_id, first, -1, False) for first, producer_id in still]

    def stable(self, since: int, ended_before: int) -> int:
        ended_before = max(ended_before, self.high_watermark)
        unstable = [
            max(one.first, self.start)
            for one in self.transactions(since)
            if one.marker < 0 or one.marker >= ended_before
        ]
        return min([*unstable, self.high_watermark])

    def aborted(self, since: int, start: int, end: int) -> set[tuple[int, int]]:
        return {
            (one.producer_id, one.first)
            for one in self.transactions(since)
            if one.marker >= start and not one.is_commit and one.first < end
        }

    # What must be equal

    @invariant()
    def the_last_stable_offset_follows(self) -> None:
        if hasattr(self, "folder"):
            stable = int(self.log.last_stable_offset())
            assert self.stable(0, 0) <= stable <= self.stable(self.known_from, self.ended_before)
            assert self.start <= stable <= self.high_watermark

    @precondition(lambda self: self.pieces)
    @rule(fraction=FRACTION, end_fraction=FRACTION)
    def name_the_aborted(self, fraction: float, end_fraction: float) -> None:
        start = self._offset(fraction, self.start, self.end)
        end = self._offset(end_fraction, start, self.end)
        named = [(int(one), int(first)) for one, first in self.log.aborted_transactions(start, end, True)]
        assert len(set(named)) == len(named)
        if self.known_from == 0:
            assert set(named) == self.aborted(0, start, end)
        else:
            # Which of two begins the log knows depends on its snapshots.
            producers = {producer_id for producer_id, _ in named}
            must = {producer_id for producer_id, _ in self.aborted(self.known_from, start, end)}
            assert must <= producers
            assert producers <= {producer_id for producer_id, _ in self.aborted(0, start, end)}

    @rule(fraction=FRACTION, max_bytes=st.sampled_from([100, 500, ALL]))
    def read_what_is_committed(self, fraction: float, max_bytes: int) -> None:
        """A reader fetches until it is at the end, as consumers do."""
        stable = int(self.log.last_stable_offset())
        offset = min(self._offset(fraction, self.start, self.end), stable)
        first = offset
        found: list[int] = []
        while offset < stable:
            read = self.log.read(offset, max_bytes, stable, True, True)
            size = read.size()
            named = self.log.aborted_transactions(offset, stable, True, size)
            answer = PartitionData(
                records=read, aborted_transactions=[AbortedTransaction(*one) for one in named]
            )
            records, after = read_records(answer, offset, reads_committed=True)
            if after == offset:
                break  # the rest is a gap
            found += [int(record.offset) for record in records]
            offset = after
        assert found == self._committed(first, stable)

    def _committed(self, start: int, end: int) -> list[int]:
        hidden = {
            offset
            for one in self.transactions()
            for piece in self.pieces
            if piece.producer_id == one.producer_id
            and one.first <= piece.first
            and (one.marker < 0 or piece.first <= one.marker)
            and (piece.is_marker or not one.is_commit)
            for offset in range(piece.first, piece.last + 1)
        } | {piece.first for piece in self.pieces if piece.is_marker}
        return [
            offset
            for written in self.model
            if written.last < end
            for offset in range(written.first, written.last + 1)
            if offset >= start and offset not in hidden
        ]


TestTransactionalLogMachine = TransactionalLogMachine.TestCase
TestTransactionalLogMachine.settings = settings(
    max_examples=150,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
