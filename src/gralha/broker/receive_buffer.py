"""The buffer that all connections of a listener receive into: nothing is copied between socket and requests.

Requests refer to ranges of a `bytes` object, and a record batch goes from there into the file. Receiving into
a bytearray and copying that takes a tenth of the time of a large produce. So the buffer *is* a bytes object,
which the socket writes into. That is sound as long as nobody else can look: if a request still refers to it
after it was handled (because it waits), the buffer is left to that request and a new one is made. Every
reference shows in the reference count, also that of a memoryview.
"""

import ctypes
import sys
from typing import Final

SIZE_BYTES: Final = 1024 * 1024
# Below this the copy is cheap, and a request that waits must not keep a megabyte for a few bytes.
COPIED_BELOW_BYTES: Final = 64 * 1024
_HEADER_SIZE: Final = bytes.__basicsize__ - 1


def writable(data: bytes) -> memoryview:
    """A view to receive into. Sound only while nobody else has looked at the object."""
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
        """Room to receive into, behind what was kept of the connection's last read."""
        length = len(kept)
        if length:
            self._view[:length] = kept
        return self._view[length:]

    def received(self, size_bytes: int) -> bytes:
        """What has arrived, perhaps with debris behind it. Call `release` after it was handled."""
        return self._data if size_bytes >= COPIED_BELOW_BYTES else self._data[:size_bytes]

    def release(self) -> None:
        """What was received has been handled: it is overwritten next, unless somebody still refers to it."""
        if sys.getrefcount(self._data) != self._own_references:
            self._renew()
