"""Checks of what clients saw of compacted topics and of topics with retention.ms.

    key-lost           the last acknowledged value of a key is gone, or the log has an older value
    deleted-too-early  a record is gone that was younger than retention.ms
    not-deleted        nothing was removed at all, so the other checks prove nothing

The check of a compacted log takes the records of a last reader, from the start on. A tombstone is a value
like every other: it stays for delete.retention.ms, which is longer than a run.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gralha.simulation.history import Anomaly, Event, Outcome, Poll, Send, check

# Anomalies that do not count for a compacted log.
_OF_ALL_RECORDS: Final = ("lost-write", "unseen", "poll-skip")
# The clocks of brokers and clients differ by at most this much.
_CLOCKS_S: Final = 0.6

# By partition: the start offsets of its log, and when each was first seen.
Starts = dict[str, list[tuple[float, int]]]


def check_compacted(history: list[Event], final_reader: str) -> list[Anomaly]:
    found = [
        anomaly
        for anomaly in check(history, final_readers=[final_reader])
        if anomaly.kind not in _OF_ALL_RECORDS
        # The name of a tombstone has its offset, which is unknown if it was not acknowledged.
        and not (anomaly.kind == "phantom" and "=deleted@" in anomaly.detail)
    ]
    return [*found, *_lost_keys(history, final_reader)]


def _lost_keys(history: list[Event], final_reader: str) -> Iterator[Anomaly]:
    read: dict[tuple[str, str], tuple[int, str]] = {}
    sent: dict[tuple[str, str], Send] = {}
    acknowledged = kept = 0
    for event in history:
        if isinstance(event, Poll) and event.process == final_reader:
            for offset, value in event.records:
                kept += 1
                read[event.partition, _key(value)] = offset, value
        elif isinstance(event, Send) and event.outcome is Outcome.OK and event.offset is not None:
            acknowledged += 1
            last = sent.get((event.partition, _key(event.value)))
            if last is None or last.offset is None or last.offset < event.offset:
                sent[event.partition, _key(event.value)] = event
    for (partition, key), send in sent.items():
        assert send.offset is not None
        offset, value = read.get((partition, key), (-1, "nothing"))
        if offset < send.offset or (offset == send.offset and value != send.value):
            detail = f"{key}: {send.value} at offset {send.offset}, acknowledged at {send.completed_at:.3f}; "
            yield Anomaly("key-lost", partition, f"{detail}read was {value} at offset {offset}")
    if kept >= acknowledged:
        yield Anomaly("not-deleted", "all partitions", f"{kept} records of {acknowledged} are there")


def _key(value: str) -> str:
    return value.partition("=")[0]


def check_retained(
    history: list[Event], final_reader: str, starts: Starts, retention_s: float
) -> list[Anomaly]:
    """As `check`, for records that are still in the logs. The others must not be removed too early."""
    last_starts = {partition: max(offset for _, offset in seen) for partition, seen in starts.items()}
    kept: list[Event] = []
    for event in history:
        start = last_starts.get(getattr(event, "partition", ""), 0)
        if isinstance(event, Poll):
            records = tuple(record for record in event.records if record[0] >= start)
            kept.append(event._replace(records=records))
        elif not isinstance(event, Send) or event.offset is None or event.offset >= start:
            kept.append(event)
    found = check(kept, final_readers=[final_reader])
    found += _removed_too_early(history, starts, retention_s)
    if not any(last_starts.values()):
        found.append(Anomaly("not-deleted", "all partitions", "all logs begin at offset 0"))
    return found


def _removed_too_early(history: list[Event], starts: Starts, retention_s: float) -> Iterator[Anomaly]:
    by_partition: dict[str, list[Send]] = defaultdict(list)
    for event in history:
        if isinstance(event, Send) and event.outcome is Outcome.OK and event.offset is not None:
            by_partition[event.partition].append(event)
    for partition, sends in by_partition.items():
        for send in sends:
            assert send.offset is not None
            removed_at = min(
                (at for at, start in starts.get(partition, []) if start > send.offset), default=None
            )
            # The record is not older than its send.
            if removed_at is not None and removed_at - send.begun_at < retention_s - _CLOCKS_S:
                detail = f"{send.value} at offset {send.offset}, sent at {send.begun_at:.3f}, was gone at "
                yield Anomaly("deleted-too-early", partition, f"{detail}{removed_at:.3f}")
