"""The history of what clients did and saw, and the check that a correct log can explain it.

A history lists sends, polls, seeks and the ends of transactions, each with the times at which it was begun
and completed. `check` looks for the anomalies that Jepsen's Kafka workload defines. Values are unique, so
every observation names one send. An operation without a definite answer (`Outcome.UNKNOWN`) may have happened
or not, and may still happen later.

    lost-write            acknowledged, but nobody read it, although a later record of the log was read
    unseen                acknowledged, but nobody read it or any later record
    duplicate             a value at several offsets
    inconsistent-offsets  an offset with several values
    nonmonotonic-poll     a reader went back without a seek
    poll-skip             a reader skipped a value that is in the log
    nonmonotonic-send     acknowledged before another send began, but after it in the log
    aborted-read          a reader got a value that was refused, or whose transaction was aborted (G1a)
    precommitted-read     a reader got a value before its transaction's commit was requested
    phantom               a reader got a value that nobody sent

This module does not depend on the simulation: the same function checks histories of real clients.
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple


class Outcome(Enum):
    OK = "ok"
    FAILED = "failed"  # for certain
    UNKNOWN = "unknown"


class Send(NamedTuple):
    """A client sent a record. `offset` is the offset in the broker's response."""

    process: str
    partition: str
    value: str
    begun_at: float
    completed_at: float
    outcome: Outcome
    offset: int | None = None
    transaction: str | None = None


class Poll(NamedTuple):
    """The records of one poll, in their order: (offset, value)."""

    process: str
    partition: str
    records: tuple[tuple[int, str], ...]
    begun_at: float
    completed_at: float
    read_committed: bool = False


class Seek(NamedTuple):
    """A reader changed its position in a partition."""

    process: str
    partition: str
    at: float


class TransactionEnd(NamedTuple):
    transaction: str
    is_commit: bool
    begun_at: float
    completed_at: float
    outcome: Outcome


Event = Send | Poll | Seek | TransactionEnd
_KINDS: Final = {kind.__name__: kind for kind in (Send, Poll, Seek, TransactionEnd)}


class Anomaly(NamedTuple):
    kind: str
    partition: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.partition}: {self.detail}"


def check(
    history: Iterable[Event], *, all_was_read: bool = True, final_readers: Sequence[str] = ()
) -> list[Anomaly]:
    """Find all anomalies. Without `all_was_read` values at the end of a log need not have been read.

    `final_readers` are processes that read everything at the end. If there are any, a value counts as read
    only if they saw it, because a value that another reader saw may be lost later.
    """
    return list(_Check(list(history), final_readers).anomalies(all_was_read))


def summary(anomalies: Iterable[Anomaly]) -> str:
    counts = Counter(anomaly.kind for anomaly in anomalies)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "no anomalies"


def to_lines(history: Iterable[Event]) -> Iterator[str]:
    """A history as text, one JSON array a line."""
    for event in history:
        fields = [field.value if isinstance(field, Outcome) else field for field in event]
        yield json.dumps([type(event).__name__, *fields])


def from_lines(lines: Iterable[str]) -> list[Event]:
    events: list[Event] = []
    for line in lines:
        name, *fields = json.loads(line)
        kind = _KINDS[name]
        values = dict(zip(kind._fields, fields, strict=True))
        if "outcome" in values:
            values["outcome"] = Outcome(values["outcome"])
        if "records" in values:
            values["records"] = tuple((offset, value) for offset, value in values["records"])
        events.append(kind(**values))
    return events


class _Check:
    def __init__(self, history: list[Event], final_readers: Sequence[str]) -> None:
        self.history = history
        self.sends: dict[tuple[str, str], Send] = {}
        self.polls: list[Poll] = []
        self.ends: dict[str, TransactionEnd] = {}
        # By partition: the values that readers saw, and those that readers or acknowledgements named.
        self.read: dict[str, dict[str, int]] = defaultdict(dict)
        self.values_at: dict[str, dict[int, list[str]]] = defaultdict(dict)
        self.offsets_of: dict[str, dict[str, list[int]]] = defaultdict(dict)
        for event in history:
            if isinstance(event, Send):
                self.sends[event.partition, event.value] = event
                if event.outcome is Outcome.OK and event.offset is not None:
                    self._saw(event.partition, event.offset, event.value)
            elif isinstance(event, Poll):
                self.polls.append(event)
                for offset, value in event.records:
                    self._saw(event.partition, offset, value)
                    if not final_readers or event.process in final_readers:
                        self.read[event.partition][value] = offset
            elif isinstance(event, TransactionEnd):
                self.ends[event.transaction] = event

    def _saw(self, partition: str, offset: int, value: str) -> None:
        values = self.values_at[partition].setdefault(offset, [])
        if value not in values:
            values.append(value)
        offsets = self.offsets_of[partition].setdefault(value, [])
        if offset not in offsets:
            offsets.append(offset)

    def outcome(self, send: Send) -> Outcome:
        """The outcome of a send, or of its transaction."""
        if send.transaction is None or send.outcome is Outcome.FAILED:
            return send.outcome
        end = self.ends.get(send.transaction)
        if end is None or end.outcome is not Outcome.OK:
            return Outcome.UNKNOWN
        return send.outcome if end.is_commit else Outcome.FAILED

    def anomalies(self, all_was_read: bool) -> Iterator[Anomaly]:
        yield from self._unread(all_was_read)
        yield from self._ambiguous_places()
        yield from self._readers()
        yield from self._senders()
        yield from self._wrong_reads()

    def _unread(self, all_was_read: bool) -> Iterator[Anomaly]:
        last_read = {partition: max(read.values()) for partition, read in self.read.items()}
        for send in self.sends.values():
            if self.outcome(send) is not Outcome.OK or send.value in self.read[send.partition]:
                continue
            last = last_read.get(send.partition, -1)
            where = f"{send.value} of {send.process}, acknowledged at {send.completed_at:.3f}"
            if send.offset is not None and send.offset < last:
                detail = f"{where} with offset {send.offset}; offset {last} was read"
                yield Anomaly("lost-write", send.partition, detail)
            elif all_was_read:
                detail = f"{where} with offset {send.offset}; read up to offset {last}"
                yield Anomaly("unseen", send.partition, detail)

    def _ambiguous_places(self) -> Iterator[Anomaly]:
        for partition, offsets_of in self.offsets_of.items():
            for value, offsets in offsets_of.items():
                if len(offsets) > 1:
                    yield Anomaly("duplicate", partition, f"{value} at offsets {sorted(offsets)}")
        for partition, values_at in self.values_at.items():
            for offset, values in values_at.items():
                if len(values) > 1:
                    yield Anomaly("inconsistent-offsets", partition, f"offset {offset} has {values}")

    # Readers

    def _readers(self) -> Iterator[Anomaly]:
        visible = {partition: self._visible(partition) for partition in self.values_at}
        positions: dict[tuple[str, str], int] = {}
        for event in self.history:
            if isinstance(event, Seek):
                positions.pop((event.process, event.partition), None)
            elif isinstance(event, Poll):
                for offset, value in event.records:
                    before = positions.get((event.process, event.partition))
                    if before is not None:
                        yield from self._step(event, visible[event.partition], before, offset, value)
                    positions[event.process, event.partition] = offset

    def _visible(self, partition: str) -> list[int]:
        """The offsets that no reader may skip."""
        offsets = []
        for offset, values in self.values_at[partition].items():
            send = self.sends.get((partition, values[0]))
            if send is None or send.transaction is None or self.outcome(send) is Outcome.OK:
                offsets.append(offset)
        return sorted(offsets)

    def _step(
        self, poll: Poll, visible: list[int], before: int, offset: int, value: str
    ) -> Iterator[Anomaly]:
        when = f"{poll.process} at {poll.completed_at:.3f}"
        if offset <= before:
            detail = f"{when}: offset {offset} ({value}) after offset {before}"
            yield Anomaly("nonmonotonic-poll", poll.partition, detail)
        elif offset > before + 1:
            skipped = visible[bisect_left(visible, before + 1) : bisect_left(visible, offset)]
            if skipped:
                detail = f"{when}: from offset {before} to {offset}, over {skipped[:5]}"
                yield Anomaly("poll-skip", poll.partition, detail)

    # Senders

    def _senders(self) -> Iterator[Anomaly]:
        """A record that was acknowledged before another send began must come first in the log."""
        by_partition: dict[str, list[Send]] = defaultdict(list)
        for send in self.sends.values():
            if send.outcome is Outcome.OK and send.offset is not None:
                by_partition[send.partition].append(send)
        for partition, sends in by_partition.items():
            completions = sorted(sends, key=lambda send: send.completed_at)
            highest: Send | None = None
            index = 0
            for send in sorted(sends, key=lambda send: send.begun_at):
                while index < len(completions) and completions[index].completed_at < send.begun_at:
                    if highest is None or _offset(completions[index]) > _offset(highest):
                        highest = completions[index]
                    index += 1
                if highest is not None and _offset(send) < _offset(highest):
                    detail = f"{send.value} at offset {send.offset} was begun after {highest.value} "
                    detail += f"had been acknowledged at offset {highest.offset}"
                    yield Anomaly("nonmonotonic-send", partition, detail)

    # Values that must not be read

    def _wrong_reads(self) -> Iterator[Anomaly]:
        for poll in self.polls:
            for offset, value in poll.records:
                send = self.sends.get((poll.partition, value))
                where = f"{value} at offset {offset} by {poll.process} at {poll.completed_at:.3f}"
                if send is None:
                    yield Anomaly("phantom", poll.partition, where)
                elif send.outcome is Outcome.FAILED:
                    yield Anomaly("aborted-read", poll.partition, f"{where}: it was refused")
                elif send.transaction is not None and poll.read_committed:
                    yield from self._wrong_committed_read(poll, send, where)

    def _wrong_committed_read(self, poll: Poll, send: Send, where: str) -> Iterator[Anomaly]:
        end = self.ends.get(send.transaction or "")
        if end is None or (end.is_commit and poll.completed_at < end.begun_at):
            yield Anomaly("precommitted-read", poll.partition, where)
        elif not end.is_commit and end.outcome is not Outcome.FAILED:
            yield Anomaly("aborted-read", poll.partition, f"{where}: its transaction was aborted")


def _offset(send: Send) -> int:
    assert send.offset is not None
    return send.offset
