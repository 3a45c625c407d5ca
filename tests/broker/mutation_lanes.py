"""The lanes of mutated frames: how they are made, sent and answered (`mutated_frames.py`)."""

from __future__ import annotations

import random
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from gralha.broker.handlers import client_apis
from gralha.protocol.apis import ApiKey
from tests.broker.frame_answers import SENTINEL, SENTINEL_ID, check_response
from tests.broker.fuzz_requests import REQUEST_CASES, damaged, frame_of, sample_request, sized
from tests.sasl_cluster import PASSWORD, USER

TOPIC: Final = "fuzz"
UNSERVED: Final = 20
AT_ONCE: Final = 10  # frames of a connection that are sent together
ANSWER_TIMEOUT_S: Final = 0.3
CLOSE_TIMEOUT_S: Final = 20.0
RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: no socket stays in TIME_WAIT
OF_LOGINS: Final = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
TOKENS: Final = (b"\0alice\0wrong", b"n,,n=alice,r=abcdefgh", b"n,,n=nobody,r=abcdefgh", b"c=biws,r=x,p=x")


class ClosedError(Exception):
    """The broker has closed the connection."""


# Frames


def good_frames(of_logins: bool) -> list[bytes]:
    """Requests to change. They are made once, because that is slow."""
    # A few requests that the broker does not serve are enough: it closes the connection.
    served = OF_LOGINS if of_logins else client_apis(has_two_phase_commit=False)
    frames = [
        frame_of(case, sample_request(case, TOPIC), 7)
        for number, case in enumerate(REQUEST_CASES)
        if case.cls.API_KEY in served or number % UNSERVED == 0
    ]
    if of_logins:
        frames += [_token_frame(version, token) for version in (0, 1, 2) for token in TOKENS]
    return frames


def mutated(good: list[bytes], chance: random.Random) -> bytes:
    """A request with one wound that keeps its length, or with several of all kinds."""
    frame = chance.choice(good)
    if chance.random() < 0.5:
        return damaged(frame, chance)
    changed = bytearray(frame)
    place = chance.randrange(8, len(changed))
    changed[place] = chance.choice([changed[place] ^ 1 << chance.randrange(8), 0, 1, 0x7F, 0x80, 0xFF])
    return bytes(changed)


def _token_frame(version: int, token: bytes) -> bytes:
    case = next(
        one for one in REQUEST_CASES if one.cls.API_KEY == ApiKey.SASL_AUTHENTICATE and one.version == version
    )
    request = sample_request(case, TOPIC)
    request.auth_bytes = token
    return frame_of(case, request, 7)


def _handshake(mechanism: str) -> bytes:
    name = mechanism.encode()
    return sized(struct.pack(">hhihh", ApiKey.SASL_HANDSHAKE, 1, 1, -1, len(name)) + name)


# Connections


class Line:
    """A connection of a lane."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._stream = connection.makefile("rb")

    def wait_at_most(self, timeout_s: float) -> None:
        self._socket.settimeout(timeout_s)

    def send(self, data: bytes) -> None:
        """Raises ClosedError."""
        try:
            self._socket.sendall(data)
        except ConnectionError as error:
            raise ClosedError from error

    def say_no_more(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def response(self) -> bytes:
        """The next response. Raises ClosedError or TimeoutError."""
        (size,) = struct.unpack(">i", self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        try:
            found = self._stream.read(size)
        except TimeoutError:
            raise
        except OSError as error:
            raise ClosedError from error
        if len(found) < size:
            raise ClosedError
        return found

    def some(self) -> bytes:
        """The next bytes. Empty if the broker has closed the connection."""
        try:
            return self._socket.recv(1 << 16)
        except ConnectionError:
            return b""

    def rest(self) -> bytes:
        """All that comes until the broker closes the connection."""
        return b"".join(iter(self.some, b""))

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def connect(port: int, tls: ssl.SSLContext | None = None) -> Line:
    connection = socket.create_connection(("127.0.0.1", port), timeout=CLOSE_TIMEOUT_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is not None:
        connection = tls.wrap_socket(connection, server_hostname="localhost")
    return Line(connection)


def log_in(port: int) -> Line:
    """A connection on which the user of the tests has logged in, with PLAIN."""
    line = connect(port)
    line.send(_handshake("PLAIN") + sized(_token_frame(1, f"\0{USER}\0{PASSWORD}".encode())))
    for _ in range(2):
        answer = line.response()
        assert answer[4:6] == b"\0\0", f"the login failed: {answer!r}"
    return line


# Lanes


@dataclass
class Tally:
    """How the frames of a lane have ended."""

    answered: int = 0
    closed: int = 0
    waited: int = 0  # the client had enough of waiting

    @property
    def frames(self) -> int:
        return self.answered + self.closed + self.waited


class Lane(Protocol):
    """One player of a lane. Each has its own thread."""

    tally: Tally

    def play(self, count: int) -> None: ...


class RequestLane:
    """Sends requests on connections that `open` makes."""

    def __init__(self, open_line: Callable[[], Line], good: list[bytes], chance: random.Random) -> None:
        self._open = open_line
        self._good = good
        self._chance = chance
        self.tally = Tally()

    def play(self, count: int) -> None:
        """Plays that many frames on one connection after the other."""
        left = count
        waiting: list[bytes] = []
        while left:
            line = self._open()
            line.wait_at_most(ANSWER_TIMEOUT_S)
            is_open = True
            while left and is_open:
                while len(waiting) < min(AT_ONCE, left):
                    waiting.append(mutated(self._good, self._chance))
                done, is_open = self._answers(line, waiting)
                del waiting[:done]
                left -= done
            line.close()

    def _answers(self, line: Line, frames: list[bytes]) -> tuple[int, bool]:
        """How many frames the broker is done with, and whether the connection is still open."""
        # If the broker closes the connection meanwhile, its answers show at which frame.
        with suppress(ClosedError):
            line.send(b"".join(sized(frame) + SENTINEL for frame in frames))
        for number, frame in enumerate(frames, 1):
            try:
                self._answer(line, frame)
            except ClosedError:
                self.tally.closed += 1
                return number, False
            except TimeoutError:
                # A request may ask to wait, for data or for replicas. It ends when its client leaves.
                self.tally.waited += 1
                return number, False
            except Exception as error:
                raise AssertionError(f"the answer to {frame.hex()} is wrong") from error
            self.tally.answered += 1
        return len(frames), True

    def _answer(self, line: Line, frame: bytes) -> None:
        while True:
            response = line.response()
            if struct.unpack_from(">i", response)[0] == SENTINEL_ID:
                return
            check_response(frame, response)


class LoginLane:
    """Sends a frame before the login, in both states of it, and says no more."""

    def __init__(self, port: int, good: list[bytes], chance: random.Random) -> None:
        self._port = port
        self._good = good
        self._chance = chance
        self.tally = Tally()

    def play(self, count: int) -> None:
        for _ in range(count):
            line = connect(self._port)
            mechanism = self._chance.choice(["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
            begun = _handshake(mechanism) if mechanism else b""
            line.send(begun + sized(mutated(self._good, self._chance)))
            line.say_no_more()
            if line.rest():
                self.tally.answered += 1
            else:
                self.tally.closed += 1
            line.close()


class RecordLane:
    """Changes bytes of TLS itself: of the client's first message, of its last one, or of a request."""

    def __init__(self, port: int, context: ssl.SSLContext, chance: random.Random) -> None:
        self._port = port
        self._context = context
        self._chance = chance
        self.tally = Tally()

    def play(self, count: int) -> None:
        for _ in range(count):
            line = connect(self._port)
            if self._is_answered(line):
                self.tally.answered += 1
            else:
                self.tally.closed += 1
            line.close()

    def _is_answered(self, line: Line) -> bool:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self._context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        stage = self._chance.choices(["hello", "finished", "request"], [6, 2, 2])[0]
        is_done = _shake_hands(tls)
        if stage != "hello":
            while not is_done:
                line.send(outgoing.read())
                incoming.write(line.some())
                is_done = _shake_hands(tls)
            if stage == "request":
                line.send(outgoing.read())
                tls.write(SENTINEL)
        line.send(damaged(outgoing.read(), self._chance))
        line.say_no_more()
        incoming.write(line.rest())
        try:
            plain = tls.read(1 << 16) if is_done else b""
        except ssl.SSLError:
            plain = b""
        # An answer is right if the changed bytes were behind the request.
        assert not plain or struct.unpack_from(">i", plain, 4)[0] == SENTINEL_ID, plain
        return bool(plain)


def _shake_hands(tls: ssl.SSLObject) -> bool:
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
