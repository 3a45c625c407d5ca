"""What a reader takes from a Fetch response: the records from its position on.

A reader of committed records (`read_committed`) leaves out aborted transactions, as Kafka's clients do. The
broker lists the producers of aborted transactions and their first offsets. An aborted transaction goes on
until the abort marker of its producer.
"""

from typing import Final, NamedTuple

from gralha.protocol.batches import batches
from gralha.protocol.messages.fetch import PartitionData
from gralha.protocol.records import BatchHeader, Record, decode_records

# The types in the keys of control records, after two bytes of version.
_ABORT: Final = b"\x00\x00"


class Read(NamedTuple):
    """The records, and the reader's next position."""

    records: list[Record]
    position: int


def read_records(answer: PartitionData, position: int, reads_committed: bool) -> Read:
    found: list[Record] = []
    data = answer.records
    if data is None:
        return Read(found, position)
    aborted = _Aborted(answer) if reads_committed else None
    after = position
    for place, header in batches(data.data, data.start, data.end):
        if aborted is not None and aborted.hides(header, data.data, place):
            pass
        elif not header.is_control:
            found += [
                record for record in decode_records(data.data, place, header) if record.offset >= position
            ]
        after = max(after, int(header.next_offset))
    return Read(found, after)


class _Aborted:
    """The producers whose transactions are aborted at the present place in the log."""

    def __init__(self, answer: PartitionData) -> None:
        listed = answer.aborted_transactions or []
        self._coming = sorted(((int(one.first_offset), int(one.producer_id)) for one in listed), reverse=True)
        self._now: set[int] = set()

    def hides(self, header: BatchHeader, data: bytes, place: int) -> bool:
        """Whether the next batch belongs to an aborted transaction."""
        while self._coming and self._coming[-1][0] < header.next_offset:
            self._now.add(self._coming.pop()[1])
        if header.is_control:
            (marker,) = decode_records(data, place, header)
            if (marker.key or b"")[2:4] == _ABORT:
                self._now.discard(int(header.producer_id))
            return False
        return bool(header.is_transactional) and int(header.producer_id) in self._now
