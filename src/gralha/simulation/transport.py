"""One end of a connection: asyncio's transport over a simulated stream of bytes."""

import asyncio
from collections import deque
from collections.abc import Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from gralha.simulation.loop import ProcessLoop

if TYPE_CHECKING:
    from gralha.simulation.network import Address, Host, Network

# A sender pauses when the receiver has not read this many bytes, and resumes at the second number.
PAUSE_BYTES: Final = 512 * 1024
RESUME_BYTES: Final = 128 * 1024


class Signal(Enum):
    END = auto()  # no bytes follow
    RESET = auto()  # the connection is broken


END: Final = Signal.END
RESET: Final = Signal.RESET
Item = bytes | Signal


class Stream:
    """One direction of a connection: the items in flight, in order."""

    def __init__(self, name: str, sender: "SimulatedTransport", receiver: "SimulatedTransport") -> None:
        self.name = name
        self.sender = sender
        self.receiver = receiver
        self.source = sender.host
        self.target = receiver.host
        self.items: deque[tuple[float, Item]] = deque()
        self.due = 0.0
        self.unread_bytes = 0


class SimulatedTransport(asyncio.Transport):
    """Has the interface of a socket's transport."""

    def __init__(
        self,
        network: "Network",
        name: str,
        host: "Host",
        loop: ProcessLoop,
        peer_host: "Host",
        own_address: "Address",
        peer_address: "Address",
    ) -> None:
        super().__init__({"peername": peer_address, "sockname": own_address})
        self.name = name
        self.host = host
        self.peer_host = peer_host
        self.is_closed = False
        self._network = network
        self._loop = loop
        self._protocol: Any = None
        self._received: deque[Item] = deque()
        self._is_reading = True
        self._read_planned = False
        self._writing_paused = False
        self.outgoing: Stream
        self._incoming: Stream

    def join(self, peer: "SimulatedTransport") -> None:
        """Set the other end."""
        self.outgoing = stream = Stream(self.name, self, peer)
        peer._incoming = stream

    def begin(self, protocol: Any) -> None:
        """Give the connection to the process. Bytes may have arrived before."""
        self._protocol = protocol
        protocol.connection_made(self)
        self._plan_reading()

    # Called by protocols

    def get_protocol(self) -> Any:
        return self._protocol

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self.is_closed

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._plan_reading()

    def get_write_buffer_size(self) -> int:
        return max(0, self.outgoing.unread_bytes - RESUME_BYTES)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_closed or not data:
            return
        stream = self.outgoing
        stream.unread_bytes += len(data)
        self._network.send(stream, bytes(data))
        if stream.unread_bytes > PAUSE_BYTES and not self._writing_paused:
            self._writing_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        """Close this end. Data that was written still arrives."""
        self._leave(END, None)

    def abort(self) -> None:
        self._leave(RESET, None)

    def _leave(self, signal: Signal, error: Exception | None) -> None:
        if not self.is_closed:
            self.die(signal)
            self.host.transports.pop(self, None)
            self._loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        if self._protocol is not None:
            self._protocol.connection_lost(error)

    # Called by the network and the kernel

    def die(self, signal: Signal) -> None:
        """Close this end and send the signal to the other one."""
        if not self.is_closed:
            self.is_closed = True
            if signal is RESET or self._received:
                # A kernel sends a reset, not an end, if the process has not read all bytes.
                signal = RESET
            self._network.send(self.outgoing, signal)

    def break_off(self) -> None:
        """Break the connection for both ends."""
        for end in (self, self.outgoing.receiver):
            if not end.is_closed:
                end._received.append(RESET)
                end._plan_reading()

    def arrive(self, item: Item) -> None:
        """An item arrives at the kernel. On a closed connection the kernel answers with a reset."""
        if self.is_closed:
            if item is not RESET and not self.peer_is_closed():
                self._network.send(self.outgoing, RESET)
            return
        self._received.append(item)
        self._plan_reading()

    def peer_is_closed(self) -> bool:
        return self.outgoing.receiver.is_closed

    def _plan_reading(self) -> None:
        if not self._read_planned and self._received and self._protocol is not None:
            self._read_planned = True
            self._loop.call_soon(self._read)

    def _read(self) -> None:
        """Give the items that have arrived to the process."""
        self._read_planned = False
        received = self._received
        if RESET in received:
            # Unread bytes before the reset are lost.
            received.clear()
            self.is_closed = True
            self.host.transports.pop(self, None)
            self._protocol.connection_lost(ConnectionResetError("Connection reset by peer"))
            return
        while received and self._is_reading and not self.is_closed:
            item = received.popleft()
            if isinstance(item, bytes):
                self._take(item)
            elif not self._protocol.eof_received():
                self.close()

    def _take(self, data: bytes) -> None:
        received = self._received
        while received and isinstance(received[0], bytes):
            data += received.popleft()  # type: ignore[operator]
        size = self._network.draw_split(len(data))
        if isinstance(self._protocol, asyncio.BufferedProtocol):
            buffer = memoryview(self._protocol.get_buffer(-1))
            size = min(size, len(buffer))
            buffer[:size] = data[:size]
            del buffer
            if size < len(data):
                received.appendleft(data[size:])
            self._consumed(size)
            self._protocol.buffer_updated(size)
        else:
            if size < len(data):
                received.appendleft(data[size:])
            self._consumed(size)
            self._protocol.data_received(data[:size])

    def _consumed(self, size: int) -> None:
        stream = self._incoming
        stream.unread_bytes -= size
        sender = stream.sender
        if sender._writing_paused and stream.unread_bytes < RESUME_BYTES and not sender.is_closed:
            sender._writing_paused = False
            sender._loop.call_soon(sender._protocol.resume_writing)
