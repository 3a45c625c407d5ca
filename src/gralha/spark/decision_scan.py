"""Finds the newest decision of a key among the batches of the topic of decisions. Pure: it is fed what was
fetched.

The scan reads records of open transactions too, and follows the markers itself. A reader of committed records
would stop at the first open transaction, also if that is the one of another query whose driver has just died.
A broker compacts a transaction's markers away only after its records, so no record is without its marker.
"""

from gralha.client.errors import ClientError
from gralha.protocol.batches import batches
from gralha.protocol.control_records import ABORT, COMMIT, control_type
from gralha.protocol.records import decode_records
from gralha.spark.decisions import Decision


class DecisionScan:
    """The position in the log, and the newest decision before it."""

    def __init__(self, key: bytes) -> None:
        self.next_offset = 0
        self.newest: Decision | None = None
        self._key = key
        # Records whose transaction has no marker yet, by producer id.
        self._open: dict[int, list[tuple[int, bytes | None]]] = {}

    @property
    def has_open(self) -> bool:
        """Returns True if a transaction of this key is open, so that its outcome is not known yet."""
        return bool(self._open)

    def feed(self, data: bytes, start: int, end: int) -> None:
        """Reads the batches between two positions."""
        for position, header in batches(data, start, end):
            if header.next_offset <= self.next_offset:
                continue
            records = decode_records(data, position, header)
            self.next_offset = header.next_offset
            if header.is_control:
                for record in records:
                    self._marker(header.producer_id, control_type(record.key))
                continue
            found = [(header.base_offset, record.value) for record in records if record.key == self._key]
            if not found:
                continue
            if header.is_transactional:
                self._open.setdefault(header.producer_id, []).extend(found)
            else:
                self._take(found)

    def _marker(self, producer_id: int, kind: int) -> None:
        if kind == COMMIT:
            self._take(self._open.pop(producer_id, []))
        elif kind == ABORT:
            self._open.pop(producer_id, None)

    def _take(self, found: list[tuple[int, bytes | None]]) -> None:
        for offset, value in found:
            try:
                self.newest = None if value is None else Decision.from_json(value)
            except (ValueError, KeyError, TypeError) as error:
                raise ClientError(
                    f"The decision of {self._key.decode()} at offset {offset} cannot be read: {error!r}. A "
                    "newer version of Gralha may have written it."
                ) from error
