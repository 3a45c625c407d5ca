"""Connections as processes see them, on links that delay, lose, cut and break."""

import asyncio
from collections.abc import Callable

import pytest

from gralha.simulation.loop import ProcessLoop, World
from gralha.simulation.network import Network
from gralha.simulation.transport import PAUSE_BYTES


class Recorder(asyncio.Protocol):
    def __init__(self) -> None:
        self.received = b""
        self.pieces = 0
        self.lost: list[str] = []
        self.pauses: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.pieces += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(type(exc).__name__)

    def pause_writing(self) -> None:
        self.pauses.append("pause")

    def resume_writing(self) -> None:
        self.pauses.append("resume")


class Buffered(asyncio.BufferedProtocol):
    """Has room for a few bytes only."""

    def __init__(self) -> None:
        self.room = bytearray(7)
        self.received = b""

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self.room)

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self.room[:nbytes]


class Pair:
    """A client and a server on two hosts."""

    def __init__(self, seed: int = 1, factory: Callable[[], asyncio.BaseProtocol] = Recorder) -> None:
        self.world = World(seed)
        self.network = Network(self.world)
        self.near_host, self.far_host = self.network.add_host("near"), self.network.add_host("far")
        self.near_loop = self.near_host.start_process("near")
        self.far_loop = self.far_host.start_process("far")
        self.accepted: list[asyncio.BaseProtocol] = []
        self.factory = factory

    def run(self, seconds: float = 1) -> None:
        self.world.run(lambda: False, self.world.now + seconds)

    def in_process(self, loop: ProcessLoop, coroutine: object) -> "asyncio.Task[object]":
        return loop.create_task(coroutine)  # type: ignore[arg-type]

    def listen(self, port: int = 1000, **options: object) -> None:
        def accept() -> asyncio.BaseProtocol:
            self.accepted.append(self.factory())
            return self.accepted[-1]

        self.in_process(self.far_loop, self.far_loop.create_server(accept, "far", port, **options))
        self.run()

    def connect(self) -> "asyncio.Task[object]":
        return self.in_process(self.near_loop, self.near_loop.create_connection(Recorder, "far", 1000))

    def connected(self) -> tuple[Recorder, Recorder]:
        self.listen()
        connecting = self.connect()
        self.run()
        near = connecting.result()[1]  # type: ignore[index]
        far = self.accepted[-1]
        assert isinstance(near, Recorder)
        assert isinstance(far, Recorder)
        return near, far


def test_bytes_arrive_in_order_and_not_at_once() -> None:
    pair = Pair()
    near, far = pair.connected()
    for number in range(200):
        near.transport.write(b"%03d" % number)
    assert far.received == b""
    pair.run()
    assert far.received == b"".join(b"%03d" % number for number in range(200))
    far.transport.writelines([b"an", bytearray(b"sw"), memoryview(b"er")])
    pair.run()
    assert near.received == b"answer"
    assert far.transport.get_extra_info("peername")[0] == "near"
    assert near.transport.get_extra_info("peername") == ("far", 1000)


def test_bytes_arrive_in_other_pieces_than_they_were_sent_in() -> None:
    pair = Pair()
    near, far = pair.connected()
    for _ in range(300):
        near.transport.write(b"x" * 10)
        pair.run(0.01)
    assert len(far.received) == 3000
    assert far.pieces != 300


def test_a_buffered_protocol_gets_all_bytes_through_a_small_buffer() -> None:
    pair = Pair(factory=Buffered)
    pair.listen()
    connecting = pair.connect()
    pair.run()
    connecting.result()[1].transport.write(bytes(range(100)))  # type: ignore[index]
    pair.run()
    buffered = pair.accepted[0]
    assert isinstance(buffered, Buffered)
    assert buffered.received == bytes(range(100))


def test_nobody_listens() -> None:
    pair = Pair()
    connecting = pair.connect()
    pair.run()
    assert isinstance(connecting.exception(), ConnectionRefusedError)


def test_an_address_that_is_only_taken_refuses() -> None:
    pair = Pair()
    pair.listen(start_serving=False)
    connecting = pair.connect()
    pair.run()
    assert isinstance(connecting.exception(), ConnectionRefusedError)


def test_an_address_is_taken_once() -> None:
    pair = Pair()
    pair.listen()
    second = pair.in_process(pair.far_loop, pair.far_loop.create_server(Recorder, "far", 1000))
    pair.run()
    with pytest.raises(OSError, match="in use"):
        second.result()


def test_connecting_over_a_cut_link_is_tried_until_it_is_healed() -> None:
    pair = Pair()
    pair.listen()
    pair.network.cut("far", "near")
    connecting = pair.connect()
    pair.run(2)
    assert not connecting.done()
    pair.network.heal()
    pair.run(3)
    assert connecting.exception() is None


def test_connecting_is_given_up_in_the_end() -> None:
    pair = Pair()
    pair.listen()
    pair.network.cut("near", "far")
    connecting = pair.connect()
    pair.run(120)
    assert isinstance(connecting.exception(), TimeoutError)


def test_a_cut_holds_one_direction_until_it_is_healed() -> None:
    pair = Pair()
    near, far = pair.connected()
    pair.network.cut("near", "far")
    near.transport.write(b"held")
    far.transport.write(b"passes")
    pair.run(100)
    assert (near.received, far.received) == (b"passes", b"")
    near.transport.write(b" back")
    pair.network.heal()
    pair.run()
    assert far.received == b"held back"
    assert (near.lost, far.lost) == ([], [])


def test_a_killed_process_closes_its_connections() -> None:
    endings = set()
    for seed in range(10):
        pair = Pair(seed)
        near, far = pair.connected()
        far.transport.write(b"last words")
        pair.far_host.kill_process()
        pair.run()
        assert len(near.lost) == 1
        assert far.lost == []
        endings.add((near.lost[0], near.received))
    assert ("NoneType", b"last words") in endings
    assert any(name == "ConnectionResetError" for name, _ in endings)


def test_without_power_nobody_is_told_until_somebody_speaks() -> None:
    pair = Pair()
    near, _ = pair.connected()
    pair.far_host.lose_power()
    near.transport.write(b"hello?")
    pair.run(100)
    assert near.lost == []
    pair.far_host.start_process("far again")
    pair.run()
    assert near.lost == ["ConnectionResetError"]


def test_a_frozen_process_is_connected_to_and_receives_later() -> None:
    pair = Pair()
    pair.listen()
    pair.far_loop.freeze()
    connecting = pair.connect()
    pair.run()
    connecting.result()[1].transport.write(b"hi")  # type: ignore[index]
    pair.run(10)
    assert pair.accepted == []
    pair.far_loop.thaw()
    pair.run()
    assert isinstance(pair.accepted[0], Recorder)
    assert pair.accepted[0].received == b"hi"


def test_closing_delivers_what_was_written() -> None:
    pair = Pair()
    near, far = pair.connected()
    near.transport.write(b"bye")
    near.transport.close()
    near.transport.write(b"too late")
    pair.run()
    assert far.received == b"bye"
    assert (near.lost, far.lost) == (["NoneType"], ["NoneType"])
    assert not pair.near_host.transports
    assert not pair.far_host.transports


def test_aborting_resets_the_other_end() -> None:
    pair = Pair()
    near, far = pair.connected()
    near.transport.abort()
    pair.run()
    assert (near.lost, far.lost) == (["NoneType"], ["ConnectionResetError"])


def test_a_connection_breaks_for_both() -> None:
    pair = Pair()
    near, far = pair.connected()
    assert pair.network.reset_connections("near", "far") == 1
    pair.run()
    assert (near.lost, far.lost) == (["ConnectionResetError"], ["ConnectionResetError"])
    assert not pair.near_host.transports


def test_a_lossy_link_stalls_connections_and_breaks_some() -> None:
    broken = 0
    for seed in range(40):
        pair = Pair(seed)
        near, far = pair.connected()
        pair.network.quality.loss_chance = 0.1
        for number in range(20):
            near.transport.write(b"%d," % number)
        pair.run(60)
        whole = b"".join(b"%d," % number for number in range(20))
        assert whole.startswith(far.received)
        assert far.received == whole or far.lost
        broken += bool(far.lost)
    assert 0 < broken < 40


def test_who_does_not_read_is_not_sent_more() -> None:
    pair = Pair()
    near, far = pair.connected()
    far.transport.pause_reading()
    near.transport.write(bytes(PAUSE_BYTES + 1))
    pair.run()
    assert near.pauses == ["pause"]
    assert far.received == b""
    far.transport.resume_reading()
    pair.run()
    assert near.pauses == ["pause", "resume"]
    assert len(far.received) == PAUSE_BYTES + 1


def test_different_connections_overtake_each_other() -> None:
    pair = Pair()
    first, first_far = pair.connected()
    second = pair.connect()
    pair.run()
    second_near, second_far = second.result()[1], pair.accepted[1]  # type: ignore[index]
    assert isinstance(second_far, Recorder)
    overtaken = 0
    for _ in range(50):
        first.transport.write(b"1")
        second_near.transport.write(b"2")
        expected = len(second_far.received) + len(first_far.received) + 1
        while len(second_far.received) + len(first_far.received) < expected:
            pair.run(0.0001)
        overtaken += len(second_far.received) > len(first_far.received)
        pair.run()
    assert 0 < overtaken < 50
