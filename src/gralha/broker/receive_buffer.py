"""The buffer that all connections of a listener receive into, so that no bytes are copied before requests.

Requests refer to ranges of a `bytes` object, and a record batch goes from there to the file. Receiving into a
bytearray and copying it would take a tenth of the time of a large produce. So the buffer *is* a bytes object,
and the socket writes into it. That is safe as long as nobody else has a reference. If a waiting request still
refers to the buffer, the request keeps it and a new one is made. Every reference is in the reference count,
also that of a memoryview.
"""

import ctypes
import sys
from typing import Final

SIZE_BYTES: Final = 1024 * 1024
# Below this a copy is cheap, and a waiting request must not keep a megabyte for a few bytes.
COPIED_BELOW_BYTES: Final = 64 * 1024
_HEADER_SIZE: Final = bytes.__basicsize__ - 1


def writable(data: bytes) -> memoryview:
    """A view to receive into. It is safe only while nobody else has a reference to the object."""
    address = id(data) + _HEADER_SIZE
    return memoryview((ctypes.c_char * len(data)).from_address(address)).cast("B")


class ReceiveBuffer:
    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._data = bytes(SIZE_BYTES)
        self._view = writable(self._data)
        self._own_references = sys.getrefcount(self._data)

    def room(self, kept: bytes) -> memoryview:
        """The room to receive into, after the bytes that were kept from the connection's last read."""
        length = len(kept)
        if length:
            self._view[:length] = kept
        return self._view[length:]

    def received(self, size_bytes: int) -> bytes:
        """The received bytes, perhaps with old bytes after them. Call `release` when they are handled."""
        return self._data if size_bytes >= COPIED_BELOW_BYTES else self._data[:size_bytes]

    def release(self) -> None:
        """The received bytes are handled. They will be overwritten, unless something still refers to them."""
        if sys.getrefcount(self._data) != self._own_references:
            self._renew()
