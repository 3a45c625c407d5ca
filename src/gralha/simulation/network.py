"""Hosts, the links between them, and TCP connections as processes see them.

A message takes a random time. The messages of one connection stay in order, those of different connections do
not. TCP hides lost packets: data that a link loses, or that cannot pass a cut link, is sent again. A process
only sees that a connection stalls, and sometimes that it breaks. So a cut link keeps the data until it is
healed, and neither side notices the cut. Bytes arrive in other pieces than they were sent in.

When a process is killed, its kernel ends its connections at once. When a host loses power, the other side
does not notice. If the other side sends something after the host is back, it gets a reset. A frozen process
receives nothing, but its kernel accepts connections and keeps their bytes.
"""

import asyncio
import errno
from collections.abc import Callable
from typing import Any, Final

from gralha.simulation.loop import ProcessLoop, World
from gralha.simulation.transport import END, RESET, Item, SimulatedTransport, Stream

Address = tuple[str, int]

LOCAL_DELAY_S: Final = (0.00002, 0.0001)
CONNECT_AGAIN_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
RETRANSMISSION_S: Final = (0.2, 1.6)
# Data that a cut held back arrives this long after the cut is healed: with the next retransmission.
AFTER_CUT_S: Final = (0.01, 0.8)
BREAK_CHANCE: Final = 0.1
FIRST_FREE_PORT: Final = 40_000


class LinkQuality:
    """Delays and losses of messages on all links."""

    def __init__(self) -> None:
        self.delay_s = (0.0002, 0.002)
        self.slow_chance = 0.01
        self.slow_delay_s = (0.005, 0.1)
        self.loss_chance = 0.0


class Host:
    """A machine: its address, its process (if any), its listening ports and its connections."""

    def __init__(self, network: "Network", address: str) -> None:
        self.network = network
        self.address = address
        self.is_up = True
        self.loop: ProcessLoop | None = None
        self.servers: dict[int, SimulatedServer] = {}
        self.transports: dict[SimulatedTransport, None] = {}

    def start_process(self, name: str) -> ProcessLoop:
        """Start a new process after the last one has ended."""
        assert self.loop is None or self.loop.is_dead
        self.is_up = True
        self.loop = ProcessLoop(self.network.world, name, self)
        self.network.retry_held()
        return self.loop

    def kill_process(self) -> None:
        """SIGKILL: the kernel ends its connections."""
        if self.loop is not None:
            self.loop.kill()
        self.servers.clear()
        for transport in list(self.transports):
            transport.die(END if self.network.draw_is_gentle() else RESET)
        self.transports.clear()

    def lose_power(self) -> None:
        """Stop without ending connections: the other sides do not notice."""
        if self.loop is not None:
            self.loop.kill()
        self.is_up = False
        self.servers.clear()
        for transport in self.transports:
            transport.is_closed = True
            self.network.forget_held(transport)
        self.transports.clear()

    # Called by event loops

    def listen(
        self, loop: ProcessLoop, factory: Callable[[], Any], host: str | None, port: int, start: bool
    ) -> "SimulatedServer":
        if port == 0:
            port = self.network.free_port()
        if port in self.servers:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        if host not in (None, "", "0.0.0.0", "localhost", self.address):
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        self.servers[port] = server = SimulatedServer(self, loop, factory, port)
        server.is_listening = start
        return server

    async def connect(self, loop: ProcessLoop, host: str, port: int) -> SimulatedTransport:
        attempt = _Attempt(self, loop, self.network.find(self, host), port)
        try:
            return await attempt.done
        except asyncio.CancelledError:
            attempt.give_up()
            raise


class SimulatedSocket:
    def __init__(self, address: Address) -> None:
        self._address = address

    def getsockname(self) -> Address:
        return self._address


class SimulatedServer:
    def __init__(self, host: Host, loop: ProcessLoop, factory: Callable[[], Any], port: int) -> None:
        self.host = host
        self.loop = loop
        self.factory = factory
        self.port = port
        self.is_listening = False
        self.sockets = [SimulatedSocket((host.address, port))]

    def accept(self, transport: SimulatedTransport) -> None:
        if not transport.is_closed:
            transport.begin(self.factory())

    async def start_serving(self) -> None:
        self.is_listening = True

    def is_serving(self) -> bool:
        return self.is_listening

    def close(self) -> None:
        self.is_listening = False
        if self.host.servers.get(self.port) is self:
            del self.host.servers[self.port]

    async def wait_closed(self) -> None:
        pass

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self.loop

    async def serve_forever(self) -> None:
        await self.loop.create_future()


class _Attempt:
    """An attempt to connect: a SYN and its answer. The SYN is sent again if no answer comes."""

    def __init__(self, source: Host, loop: ProcessLoop, target: Host | None, port: int) -> None:
        self.source = source
        self.target = target
        self.port = port
        self.network = source.network
        self.tries = 0
        self.transport: SimulatedTransport | None = None
        self.done: asyncio.Future[SimulatedTransport] = loop.create_future()
        self.loop = loop
        self._try()

    def _try(self) -> None:
        if self.done.done() or self.loop.is_dead:
            return
        if self.target is None:
            self._fail(OSError(errno.EHOSTUNREACH, "No route to host"))
            return
        network = self.network
        if self.tries == len(CONNECT_AGAIN_S):
            self._fail(TimeoutError(errno.ETIMEDOUT, "Connection timed out"))
            return
        wait_s = CONNECT_AGAIN_S[self.tries]
        self.tries += 1
        there_s = network.draw_delay(self.source, self.target)
        network.world.call_later(there_s, self._arrive, self.target)
        network.world.call_later(wait_s, self._try)

    def _arrive(self, target: Host) -> None:
        network = self.network
        if self.transport is not None or self.done.done() or self.loop.is_dead:
            return
        passes = network.passes(self.source, target) and network.passes(target, self.source)
        if not passes or not target.is_up:
            return
        back_s = network.draw_delay(target, self.source)
        server = target.servers.get(self.port)
        if server is None or not server.is_listening:
            self._later(back_s, self._fail, ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"))
            return
        near, far = network.pair(self.source, self.loop, target, server.loop, self.port)
        self.transport = near
        server.loop.call_soon(server.accept, far)
        self._later(back_s, self._succeed)

    def _later(self, delay_s: float, callback: Callable[..., object], *args: object) -> None:
        self.loop.call_later(delay_s, callback, *args)

    def _succeed(self) -> None:
        if not self.done.done() and self.transport is not None:
            self.done.set_result(self.transport)

    def _fail(self, error: OSError) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def give_up(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class Network:
    def __init__(self, world: World) -> None:
        self.world = world
        self.quality = LinkQuality()
        self.hosts: dict[str, Host] = {}
        self._random = world.random("network")
        self._cut: dict[tuple[str, str], None] = {}
        # Streams whose next item is held by a cut link or a host without power.
        self._held: dict[Stream, None] = {}
        self._next_port = FIRST_FREE_PORT
        self._connections = 0

    def add_host(self, address: str) -> Host:
        self.hosts[address] = host = Host(self, address)
        return host

    def find(self, asking: Host, name: str) -> Host | None:
        return asking if name == "localhost" else self.hosts.get(name)

    def free_port(self) -> int:
        self._next_port += 1
        return self._next_port

    # Faults

    def cut(self, source: str, target: str) -> None:
        """Cut the link in one direction."""
        self._cut[source, target] = None
        self.world.note(f"cut {source} > {target}")

    def heal(self) -> None:
        """Heal all links."""
        if self._cut:
            self.world.note("heal")
            self._cut.clear()
            self.retry_held()

    def passes(self, source: Host, target: Host) -> bool:
        return source is target or (source.address, target.address) not in self._cut

    def reset_connections(self, source: str, target: str) -> int:
        """Break all connections between two hosts, like a router that lost its state. Returns how many."""
        broken = [
            transport
            for transport in self.hosts[source].transports
            if transport.peer_host.address == target and not transport.is_closed
        ]
        for transport in broken:
            transport.break_off()
        return len(broken)

    def retry_held(self) -> None:
        """Send held data again, because links or hosts have come back."""
        for stream in self._held:
            self.world.call_later(self._random.uniform(*AFTER_CUT_S), self._send_again, stream)

    def forget_held(self, transport: SimulatedTransport) -> None:
        """Drop held data, because the kernel that would send it again is gone."""
        if self._held.pop(transport.outgoing, False) is None:
            transport.outgoing.items.clear()

    # Chance

    def draw_delay(self, source: Host, target: Host) -> float:
        random, quality = self._random, self.quality
        if source is target:
            return random.uniform(*LOCAL_DELAY_S)
        slow = random.random() < quality.slow_chance
        return random.uniform(*(quality.slow_delay_s if slow else quality.delay_s))

    def draw_is_gentle(self) -> bool:
        return self._random.random() < 0.5

    def draw_split(self, size: int) -> int:
        """How many of the available bytes are received at once."""
        return self._random.randint(1, size) if self._random.random() < 0.05 else size

    # Connections

    def pair(
        self, source: Host, source_loop: ProcessLoop, target: Host, target_loop: ProcessLoop, port: int
    ) -> tuple[SimulatedTransport, SimulatedTransport]:
        self._connections += 1
        name = f"connection {self._connections}"
        near_address, far_address = (source.address, self.free_port()), (target.address, port)
        near = SimulatedTransport(self, name, source, source_loop, target, near_address, far_address)
        far = SimulatedTransport(self, name, target, target_loop, source, far_address, near_address)
        near.join(far)
        far.join(near)
        source.transports[near] = None
        target.transports[far] = None
        self.world.note(f"{name} {near_address} > {far_address}")
        return near, far

    def send(self, stream: Stream, item: Item) -> None:
        """Send an item after all earlier items of the stream."""
        world = self.world
        delay_s = self.draw_delay(stream.source, stream.target)
        if stream.source is not stream.target and self._random.random() < self.quality.loss_chance:
            delay_s += self._random.uniform(*RETRANSMISSION_S)
            if self._random.random() < BREAK_CHANCE:
                world.call_later(delay_s, stream.sender.break_off)
        stream.due = max(stream.due, world.now + delay_s)
        stream.items.append((stream.due, item))
        world.call_at(stream.due, self._pass_on, stream)

    def _pass_on(self, stream: Stream) -> None:
        """Deliver an item that is due. A cut link holds it and all later items back."""
        if stream in self._held:
            return
        if self._is_open(stream):
            self._arrive(stream)
        elif stream.items:
            self._held[stream] = None

    def _send_again(self, stream: Stream) -> None:
        if stream in self._held and self._is_open(stream):
            del self._held[stream]
            self._arrive(stream)

    def _is_open(self, stream: Stream) -> bool:
        return stream.target.is_up and self.passes(stream.source, stream.target)

    def _arrive(self, stream: Stream) -> None:
        world = self.world
        while stream.items and stream.items[0][0] <= world.now:
            item = stream.items.popleft()[1]
            data = item if isinstance(item, bytes) else item.name.encode()
            world.note(f"{stream.name} {stream.source.address} > {stream.target.address}", data)
            stream.receiver.arrive(item)
