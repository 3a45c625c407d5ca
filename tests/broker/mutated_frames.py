"""Mutated frames against a broker process: before a login, after it, and inside TLS.

    python -m tests.broker.mutated_frames --frames 1000000 --seed 7

There are four lanes, and each has its share of the frames:

    before the login    requests of a login, and others, on a connection that nobody has logged in on
    after the login     requests of all APIs and versions, of a user who may read and write one topic
    inside TLS          the same, of a client without a name
    TLS records         bytes of the handshake, and of encrypted requests

A frame counts when the broker has answered it, or has closed the connection because of it. Several
connections of a lane wait at the same time, because some requests ask the broker to wait. After each round
the broker must be the same process, serve a new client, and have little more memory than at the start. The
seed decides all frames.
"""

from __future__ import annotations

import argparse
import random
import re
import socket
import ssl
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from gralha.broker.handlers import client_apis
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.security import ClientSecurity
from gralha.client.values import NewTopic
from gralha.protocol.acls import (
    ANY_HOST,
    ANY_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from gralha.protocol.apis import ApiKey
from gralha.testing.process import free_ports
from tests.broker.frame_answers import SENTINEL, SENTINEL_ID, check_response
from tests.broker.fuzz_requests import REQUEST_CASES, damaged, frame_of, sample_request, sized
from tests.certificates import Authority
from tests.sasl_cluster import NODE, NODE_PASSWORD, PASSWORD, USER, SaslCluster

TOPIC: Final = "fuzz"
CONNECTIONS: Final = 4  # of a lane
UNSERVED: Final = 20
AT_ONCE: Final = 10  # frames of a connection that are sent together
ROUND: Final = 20_000  # frames until the broker is looked at
ANSWER_TIMEOUT_S: Final = 0.3
CLOSE_TIMEOUT_S: Final = 20.0
GROWTH_LIMIT_BYTES: Final = 100 << 20
RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: no socket stays in TIME_WAIT
OF_LOGINS: Final = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
TOKENS: Final = (b"\0alice\0wrong", b"n,,n=alice,r=abcdefgh", b"n,,n=nobody,r=abcdefgh", b"c=biws,r=x,p=x")
SHARES: Final = {"before": 0.4, "after": 0.35, "tls": 0.15, "records": 0.1}


class ClosedError(Exception):
    """The broker has closed the connection."""


class MutationCluster(SaslCluster):
    """A broker with the listeners SASL (a login without TLS) and TLS (no login), and rights."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        (self.tls_port,) = free_ports(1)
        self.authority = authority.write_pem(folder / "ca.pem")
        self._key_file = authority.issue("broker").write_pem(folder / "broker.pem")
        super().__init__(1, None, folder / "nodes")

    def _node_config(self, node_id: int) -> dict[str, str]:
        config = super()._node_config(node_id)
        tls = f"TLS://127.0.0.1:{self.tls_port}"
        return {
            **config,
            "listeners": f"{config['listeners']},{tls}",
            "advertised.listeners": f"{config['advertised.listeners']},{tls}",
            "listener.security.protocol.map": config["listener.security.protocol.map"] + ",TLS:SSL",
            "ssl.keystore.location": self._key_file,
            "connection.failed.authentication.delay.ms": "0",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{NODE};User:node",
        }

    def prepare(self) -> None:
        """Creates the topic, and allows clients to use it."""
        properties = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="{NODE}" password="{NODE_PASSWORD}";'
            ),
        }
        allowed = [
            (ResourceType.TOPIC, Operation.READ),
            (ResourceType.TOPIC, Operation.WRITE),
            (ResourceType.GROUP, Operation.READ),
            (ResourceType.TRANSACTIONAL_ID, Operation.WRITE),
        ]
        rules = [
            Acl(kind, TOPIC, PatternType.LITERAL, ANY_PRINCIPAL, ANY_HOST, operation, Permission.ALLOW)
            for kind, operation in allowed
        ]
        with Admin(Cluster(self.bootstrap, security=ClientSecurity.from_kafka(properties))) as admin:
            admin.create_topics([NewTopic(TOPIC, 1, 1)])
            admin.create_acls(rules)

    def memory_bytes(self, name: str) -> int:
        status = Path(f"/proc/{self.process().pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024


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
        """What comes next. Empty if the broker has closed the connection."""
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
    """What has become of the frames of a lane."""

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
        # What the broker has closed before the last frame came shows when its answers are read.
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


# A run


class Run:
    """All lanes against one broker."""

    def __init__(self, cluster: MutationCluster, seed: int) -> None:
        self._cluster = cluster
        (self._sasl_port,) = cluster.sasl_ports.values()
        self._tls = ssl.create_default_context(cafile=cluster.authority)
        self._of_logins = good_frames(of_logins=True)
        self._of_clients = good_frames(of_logins=False)
        self.lanes = {
            name: [
                self._player(name, random.Random(f"{seed} {name} {number}")) for number in range(CONNECTIONS)
            ]
            for name in SHARES
        }
        self._pid = cluster.process().pid
        self._memory_at_start = 0
        self.peak_bytes = 0

    def _player(self, lane: str, chance: random.Random) -> Lane:
        tls_port = self._cluster.tls_port
        if lane == "before":
            return LoginLane(self._sasl_port, self._of_logins, chance)
        if lane == "after":
            return RequestLane(lambda: log_in(self._sasl_port), self._of_clients, chance)
        if lane == "tls":
            return RequestLane(lambda: connect(tls_port, self._tls), self._of_clients, chance)
        return RecordLane(tls_port, self._tls, chance)

    def tally(self, lane: str) -> Tally:
        """What has become of all frames of a lane."""
        tallies = [player.tally for player in self.lanes[lane]]
        return Tally(
            sum(one.answered for one in tallies),
            sum(one.closed for one in tallies),
            sum(one.waited for one in tallies),
        )

    def play(self, frames: int, say: Callable[[str], None] = lambda text: None) -> None:
        """Plays that many frames of all lanes."""
        self._look()
        self._memory_at_start = self._cluster.memory_bytes("VmRSS")
        started = time.monotonic()
        left = frames
        with ThreadPoolExecutor(CONNECTIONS * len(SHARES)) as threads:
            while left:
                of_round = min(ROUND, left)
                left -= of_round
                playing = [
                    threads.submit(player.play, max(1, round(of_round * SHARES[name] / CONNECTIONS)))
                    for name, players in self.lanes.items()
                    for player in players
                ]
                for one in playing:
                    one.result()
                self._look()
                done = sum(self.tally(name).frames for name in self.lanes)
                rate = done / (time.monotonic() - started)
                growth = (self._cluster.memory_bytes("VmRSS") - self._memory_at_start) / (1 << 20)
                say(f"{done:,} frames, {rate:,.0f} / s; memory {growth:+.1f} MiB")

    def _look(self) -> None:
        """The broker is the same process, has used little more memory, and serves a new client."""
        process = self._cluster.process()
        assert process.alive, process.log_tail()
        assert process.pid == self._pid
        if self._memory_at_start:
            self.peak_bytes = self._cluster.memory_bytes("VmHWM") - self._memory_at_start
            assert self.peak_bytes < GROWTH_LIMIT_BYTES, f"memory grew by {self.peak_bytes >> 20} MiB"
        line = log_in(self._sasl_port)
        line.send(SENTINEL)
        assert struct.unpack_from(">i", line.response())[0] == SENTINEL_ID
        line.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.broker.mutated_frames", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = parser.parse_args()
    say(f"mutated frames: {chosen.frames:,} with seed {chosen.seed}")
    with (
        tempfile.TemporaryDirectory(prefix="gralha-mutated-") as folder,
        MutationCluster(Path(folder)) as cluster,
    ):
        cluster.prepare()
        run = Run(cluster, chosen.seed)
        run.play(chosen.frames, say)
        for name in run.lanes:
            say(f"{name}: {run.tally(name)}")
        say(f"peak of the memory: {run.peak_bytes / (1 << 20):+.1f} MiB")
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
