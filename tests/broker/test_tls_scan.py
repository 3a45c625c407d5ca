"""What a scan of a listener with TLS shows. docs/SECURITY.md has the result."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.tls_scan import (
    FALLBACK,
    HEARTBEAT,
    HEARTBEAT_RECORD,
    MASTER_SECRET,
    NAMES,
    RENEGOTIATION,
    SSL_3_0,
    TIMEOUT_S,
    TLS_1_0,
    TLS_1_1,
    TLS_1_2,
    TLS_1_3,
    accepted_suites,
    client_hello,
    first_answer,
    heartbleed,
    ssl_2_hello,
)
from tests.docs.pages import ROOT
from tests.tls_cluster import TlsCluster

OF_TLS_1_3 = {
    0x1301: "TLS_AES_128_GCM_SHA256",
    0x1302: "TLS_AES_256_GCM_SHA384",
    0x1303: "TLS_CHACHA20_POLY1305_SHA256",
}
# All of them exchange keys with ephemeral elliptic curves (ECDHE), so recorded traffic stays secret if the
# private key is lost.
WITH_RSA = {
    0xC027: "ECDHE-RSA-AES128-SHA256",
    0xC028: "ECDHE-RSA-AES256-SHA384",
    0xC02F: "ECDHE-RSA-AES128-GCM-SHA256",
    0xC030: "ECDHE-RSA-AES256-GCM-SHA384",
    0xCCA8: "ECDHE-RSA-CHACHA20-POLY1305",
}
WITH_ECDSA = {
    0xC023: "ECDHE-ECDSA-AES128-SHA256",
    0xC024: "ECDHE-ECDSA-AES256-SHA384",
    0xC02B: "ECDHE-ECDSA-AES128-GCM-SHA256",
    0xC02C: "ECDHE-ECDSA-AES256-GCM-SHA384",
    0xCCA9: "ECDHE-ECDSA-CHACHA20-POLY1305",
}
ALL_SUITES = (*OF_TLS_1_3, *WITH_RSA, *WITH_ECDSA, 0x002F, 0x0035, 0x009C, 0xC013, 0xC014, 0x0005, 0x000A)
HANDSHAKE_FAILURE, PROTOCOL_VERSION, INAPPROPRIATE_FALLBACK = 40, 70, 86


class ScannedCluster(TlsCluster):
    """The listener for clients has an RSA key, and that of the controller an ECDSA key."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, client_auth="none")
        rsa = self.authority.issue("broker", is_rsa=True).write_pem(folder / "rsa.pem")
        self._config["listener.name.plaintext.ssl.keystore.location"] = rsa

    @property
    def controller_port(self) -> int:
        return self._controller_ports[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScannedCluster]:
    with ScannedCluster(tmp_path_factory.mktemp("scan")) as cluster:
        yield cluster


@pytest.fixture
def port(cluster: ScannedCluster) -> int:
    return cluster.ports[1]


@pytest.mark.parametrize("version", [SSL_3_0, TLS_1_0, TLS_1_1])
def test_old_versions_are_refused(port: int, version: int) -> None:
    answer = first_answer(port, client_hello(version, ALL_SUITES))
    assert not answer.is_accepted, f"{NAMES[version]} was accepted"
    assert answer.alert in (HANDSHAKE_FAILURE, PROTOCOL_VERSION)


def test_ssl_2_is_refused(port: int) -> None:
    assert not first_answer(port, ssl_2_hello()).is_accepted


@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3])
def test_new_versions_are_accepted(port: int, version: int) -> None:
    assert first_answer(port, client_hello(version, ALL_SUITES)).version == version


def test_only_suites_with_forward_secrecy_are_accepted(cluster: ScannedCluster, port: int) -> None:
    """Of all 65,536 numbers. There is no RSA key exchange, no RC4, 3DES, SHA-1, export or anonymous suite."""
    assert accepted_suites(port, TLS_1_3) == sorted(OF_TLS_1_3)
    assert accepted_suites(port, TLS_1_2) == sorted(WITH_RSA)
    assert accepted_suites(cluster.controller_port, TLS_1_2) == sorted(WITH_ECDSA)


def test_the_page_has_the_suites() -> None:
    page = (ROOT / "docs" / "SECURITY.md").read_text()
    for name in (*OF_TLS_1_3.values(), *WITH_RSA.values()):
        assert f"`{name}`" in page


def test_nothing_is_compressed(port: int) -> None:
    """Compression lets an attacker guess secrets by the length of messages (CRIME)."""
    assert first_answer(port, client_hello(TLS_1_2, WITH_RSA)).compression == 0


def test_there_are_no_heartbeats(port: int) -> None:
    assert HEARTBEAT not in first_answer(port, client_hello(TLS_1_2, WITH_RSA)).extensions
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(client_hello(TLS_1_2, WITH_RSA) + heartbleed())
        kinds = set(record_kinds(connection))
    # The server says hello, ends the connection and gives away nothing of its memory.
    assert kinds
    assert HEARTBEAT_RECORD not in kinds


def record_kinds(connection: socket.socket) -> Iterator[int]:
    """The types of the records until the server closes the connection."""
    with connection.makefile("rb") as stream:
        while header := stream.read(5):
            yield header[0]
            stream.read(int.from_bytes(header[3:]))


def test_the_handshake_is_bound_to_its_keys_and_its_connection(port: int) -> None:
    """The extended master secret (RFC 7627), and secure renegotiation (RFC 5746)."""
    extensions = first_answer(port, client_hello(TLS_1_2, WITH_RSA)).extensions
    assert MASTER_SECRET in extensions
    assert RENEGOTIATION in extensions


def test_a_client_cannot_be_talked_into_an_older_version(port: int) -> None:
    """An attacker who breaks the first attempt makes some clients fall back to TLS 1.2 (RFC 7507)."""
    answer = first_answer(port, client_hello(TLS_1_2, [*WITH_RSA, FALLBACK]))
    assert answer.alert == INAPPROPRIATE_FALLBACK


def test_a_client_cannot_renegotiate(port: int) -> None:
    """Renegotiation costs the server more than the client."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2"]
    done = subprocess.run(command, input="R\n", capture_output=True, text=True, timeout=TIMEOUT_S)
    assert "RENEGOTIATING" in done.stdout + done.stderr
    assert "no renegotiation" in done.stdout + done.stderr
