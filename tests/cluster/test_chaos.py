"""Short chaos runs: kills, cut connections, full disks. `make soak` runs longer ones."""

import random
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.cluster.chaos import Nemesis, gaps_after, run_chaos
from tests.cluster.fault_proxy import SUITES, FaultProxy, node_of_hello
from tests.cluster.proxied_cluster import ProxiedCluster

from gralha.security.cipher_suites import TLS_1_3
from gralha.security.key_stores import client_context
from gralha.security.tls_settings import TlsSettings
from gralha.testing.process import free_ports

PATIENCE_S = 10.0


@pytest.mark.timeout(300)
def test_logins_and_tls_under_faults_lose_nothing(tmp_path: Path) -> None:
    report = run_chaos(4, 0, ["kill-controller", "cut-one-way", "reset"], keep=tmp_path, secured=True)
    assert report.problems() == [], tmp_path
    assert report.acknowledged > 300
    # The nemesis can log in: it saw that the cluster was whole before the first fault.
    assert report.faults["kill-controller"] == 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (1, ["kill", "stop", "kill-controller", "pause", "kill-all"]),
        (2, ["cut-both-ways", "isolate-controller", "cut-one-way", "reset", "kill"]),
        (3, ["fill-disk", "fill-disk-controller"]),
    ],
)
def test_no_fault_loses_what_was_acknowledged(seed: int, kinds: list[str], tmp_path: Path) -> None:
    report = run_chaos(seed, 0, kinds, keep=tmp_path)
    assert report.problems() == [], tmp_path
    # It was under load all the while, and went on after the last fault.
    assert report.acknowledged > 500
    assert report.endings["SIGKILL"] == kinds.count("kill") + kinds.count(
        "kill-controller"
    ) + 3 * kinds.count("kill-all")


def test_a_wait_counts_for_the_fault_in_which_it_was() -> None:
    faults = [(10.0, "kill"), (20.0, "pause")]
    times = {0: [9.0, 12.0, 19.0, 26.0], 1: [9.5, 10.5, 25.0, 25.5]}
    assert gaps_after(faults, times) == {"kill": [9.5], "pause": [6.0]}


# The proxy


def test_nodes_with_tls_are_known_by_their_cipher_suites(tmp_path: Path) -> None:
    authority = Authority().write_pem(tmp_path / "ca.pem")
    for node in range(len(SUITES) + 1):
        suites = ",".join([*TLS_1_3, *list(SUITES.values())[:node], "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"])
        settings = TlsSettings({"ssl.truststore.location": authority, "ssl.cipher.suites": suites})
        hello = ssl.MemoryBIO()
        stream = client_context(settings).wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            stream.do_handshake()
        assert node_of_hello(hello.read()[5:]) == node


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    made = FaultProxy()
    yield made
    made.close()


@pytest.fixture
def ends(proxy: FaultProxy) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection of node 1 to node 2 through the proxy, with its first request delivered."""
    (port,) = free_ports(1)
    first = struct.pack(">ihhih", 16, 18, 3, 1, 6) + b"node-1"
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy.forward(port, 2, server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", port)) as near:
            near.sendall(first)
            far, _ = server.accept()
            with far:
                for one in (near, far):
                    one.settimeout(PATIENCE_S)
                assert far.recv(100) == first
                yield near, far


def test_a_cut_holds_one_way_and_delivers_when_it_heals(
    proxy: FaultProxy, ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    proxy.cut(1, 2)
    near.sendall(b"question")
    far.sendall(b"answer")
    assert near.recv(100) == b"answer"
    far.settimeout(0.2)
    with pytest.raises(TimeoutError):
        far.recv(100)
    far.settimeout(PATIENCE_S)
    proxy.heal()
    assert far.recv(100) == b"question"


def test_nobody_hears_of_an_end_through_a_cut(
    proxy: FaultProxy, ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    proxy.cut(1, 2)
    near.close()
    far.settimeout(0.2)
    with pytest.raises(TimeoutError):
        far.recv(100)
    far.settimeout(PATIENCE_S)
    proxy.heal()
    assert ended(far)


def test_a_reset_ends_the_connections_of_a_pair(
    proxy: FaultProxy, ends: tuple[socket.socket, socket.socket]
) -> None:
    near, far = ends
    proxy.reset(1, 3)
    near.sendall(b"still there")
    assert far.recv(100) == b"still there"
    proxy.reset(2, 1)
    assert ended(near)
    assert ended(far)


def test_a_delay_delays(proxy: FaultProxy, ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    proxy.delay(1, 2, 0.2)
    begun = time.monotonic()
    near.sendall(b"late")
    assert far.recv(100) == b"late"
    assert time.monotonic() - begun >= 0.2


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


def test_a_seed_draws_the_same_faults(proxy: FaultProxy) -> None:
    def drawn(seed: int) -> list[str]:
        with closing(ProxiedCluster(3, proxy)) as cluster:
            nemesis = Nemesis(cluster, proxy, random.Random(seed), lambda _: None)
            return [nemesis.draw() for _ in range(50)]

    assert drawn(1) == drawn(1) != drawn(2)
