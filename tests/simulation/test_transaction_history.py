"""The checks of transactions: histories with an anomaly, and similar ones without."""

from gralha.protocol.batches import batches
from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.messages.fetch import AbortedTransaction, PartitionData
from gralha.protocol.primitives import RecordBytes
from gralha.protocol.records import Record, encode_batch
from gralha.simulation.history import Event, Outcome, Poll, Send
from gralha.simulation.reading import read_records
from gralha.simulation.transaction_history import Began, Used, check_counts, check_transactions


def send(value: str, transaction: str, partition: str = "t-0") -> Send:
    return Send("t0.1", partition, value, 0, 1, Outcome.OK, 0, transaction)


def final(*values: str, partition: str = "t-0", process: str = "final") -> Poll:
    return Poll(process, partition, tuple(enumerate(values)), 90, 91, True)


def began(epoch: int, at: float, process: str) -> Began:
    return Began(process, "t0", 7, epoch, at)


def used(epoch: int, at: float, process: str, what: str = "write") -> Used:
    return Used(process, "t0", 7, epoch, at, what)


def kinds(uses: list[Began | Used], history: list[Event]) -> list[str]:
    return [anomaly.kind for anomaly in check_transactions(uses, history, ("final",))]


def test_a_transaction_is_read_as_a_whole_or_not_at_all() -> None:
    written = [send("a", "x"), send("b", "x", "t-1")]
    assert kinds([], [*written, final("a"), final("b", partition="t-1")]) == []
    assert kinds([], [*written]) == []
    assert kinds([], [*written, final("a")]) == ["torn-transaction"]
    assert kinds([], [*written, final("a"), final("b", partition="t-1", process="another")]) == [
        "torn-transaction"
    ]


def test_a_fenced_producer_neither_writes_nor_commits() -> None:
    lives: list[Began | Used] = [began(0, 1, "t0.1"), began(1, 5, "t0.2")]
    assert kinds([*lives, used(0, 4, "t0.1"), used(1, 6, "t0.2")], []) == []
    assert kinds([*lives, used(0, 6, "t0.1")], []) == ["zombie-write"]
    assert kinds([*lives, used(0, 6, "t0.1", "commit")], []) == ["zombie-commit"]


def test_a_life_that_begins_again_does_not_fence_itself() -> None:
    assert kinds([began(0, 1, "t0.1"), began(1, 5, "t0.1"), used(0, 6, "t0.1")], []) == []


def counted(*events: Event) -> list[str]:
    return [anomaly.kind for anomaly in check_counts(list(events), "final", "outputs")]


def test_each_input_is_counted_once() -> None:
    inputs = final("a", "b")
    assert counted(inputs, final("a<x0.1/1", "b<x0.1/2", process="outputs")) == []
    assert counted(inputs, final("a<x0.1/1", process="outputs")) == ["not-counted"]
    assert counted(inputs, final("a<x0.1/1", "b<x0.1/1", "b<x0.2/1", process="outputs")) == ["counted-twice"]


# Reading


def batch(offset: int, value: str, producer_id: int) -> bytes:
    return encode_batch(
        [Record(None, value.encode(), 0)],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=offset,
        transactional=True,
    )


def marker(offset: int, producer_id: int, commit: bool) -> bytes:
    data = bytearray(
        encode_end_marker(
            commit=commit, coordinator_epoch=0, producer_id=producer_id, producer_epoch=0, timestamp_ms=0
        )
    )
    data[0:8] = offset.to_bytes(8, "big")
    assert [header.is_control for _, header in batches(bytes(data), 0, len(data))] == [True]
    return bytes(data)


def test_a_reader_of_committed_records_leaves_out_aborted_transactions() -> None:
    log = b"".join(
        [
            batch(0, "aborted", 1),
            batch(1, "committed", 2),
            marker(2, 1, commit=False),
            batch(3, "next", 1),
            marker(4, 2, commit=True),
            marker(5, 1, commit=True),
        ]
    )
    answer = PartitionData(
        partition_index=0,
        records=RecordBytes(log, 0, len(log)),
        aborted_transactions=[AbortedTransaction(1, 0)],
    )
    committed, everything = read_records(answer, 0, True), read_records(answer, 0, False)
    assert [record.value for record in committed.records] == [b"committed", b"next"]
    assert [record.value for record in everything.records] == [b"aborted", b"committed", b"next"]
    assert committed.position == everything.position == 6
    assert [record.value for record in read_records(answer, 3, True).records] == [b"next"]
