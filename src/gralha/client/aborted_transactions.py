"""Finds the batches of aborted transactions, for readers of committed records.

A fetch response lists its aborted transactions, each with a producer id and a first offset. From that offset
on, all transactional batches of the producer are aborted, up to its next abort marker.
"""

from gralha.protocol.batches import BatchHeader
from gralha.protocol.control_records import ABORT, control_type
from gralha.protocol.messages.fetch import AbortedTransaction
from gralha.protocol.records import decode_records


class AbortedTransactions:
    """The aborted transactions of one response. Ask for its batches in order."""

    def __init__(self, transactions: list[AbortedTransaction]) -> None:
        self._ahead = sorted(transactions, key=lambda transaction: transaction.first_offset, reverse=True)
        self._producers: set[int] = set()

    def void(self, data: bytes, position: int, header: BatchHeader) -> bool:
        """Returns True if a reader must skip this batch: it was aborted, or is a control batch."""
        while self._ahead and self._ahead[-1].first_offset <= header.last_offset:
            self._producers.add(self._ahead.pop().producer_id)
        if header.is_control:
            if any(control_type(record.key) == ABORT for record in decode_records(data, position, header)):
                self._producers.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._producers
