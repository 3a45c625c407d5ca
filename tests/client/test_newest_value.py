"""The newest committed value of a key, among transactions that were committed, aborted, or are open."""

from __future__ import annotations

from gralha.client.newest_value import NewestValue
from gralha.protocol.control_records import encode_end_marker
from gralha.protocol.records import Record, encode_batch

KEY, OTHER = b"key", b"other"


class Log:
    """Batches of the topic, in order."""

    def __init__(self) -> None:
        self.data = b""
        self.end = 0

    def write(
        self, producer_id: int, value: bytes | None, key: bytes = KEY, transactional: bool = True
    ) -> None:
        record = Record(key, value, 0)
        self.data += encode_batch(
            [record],
            base_offset=self.end,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            transactional=transactional,
        )
        self.end += 1

    def mark(self, producer_id: int, *, commit: bool) -> None:
        marker = encode_end_marker(
            commit=commit, coordinator_epoch=0, producer_id=producer_id, producer_epoch=0, timestamp_ms=0
        )
        offset = self.end.to_bytes(8, "big")
        self.data += offset + marker[8:]
        self.end += 1

    def scanned(self, scan: NewestValue | None = None) -> NewestValue:
        found = scan or NewestValue(KEY)
        found.feed(self.data, 0, len(self.data))
        assert found.next_offset == self.end
        return found


def test_a_value_counts_when_its_transaction_is_committed() -> None:
    log = Log()
    log.write(1, b"1")
    scan = log.scanned()
    assert (scan.value, scan.has_open) == (None, True)
    log.mark(1, commit=True)
    log.write(1, b"2")
    log.mark(1, commit=False)
    # The same scan goes on, and reads what it knows already only once.
    scan = log.scanned(scan)
    assert (scan.value, scan.has_open) == (b"1", False)


def test_open_transactions_of_other_keys_do_not_matter() -> None:
    log = Log()
    log.write(9, b"8", OTHER)
    log.write(1, b"1")
    log.mark(1, commit=True)
    scan = log.scanned()
    assert (scan.value, scan.has_open) == (b"1", False)


def test_a_tombstone_of_any_producer_removes_a_value() -> None:
    log = Log()
    log.write(1, b"1")
    log.mark(1, commit=True)
    log.write(-1, None, transactional=False)
    assert log.scanned().value is None
