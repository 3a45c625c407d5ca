"""A scanner of TLS servers: which versions and cipher suites they accept, and what they answer to old tricks.

It writes the first message of a handshake itself (RFC 5246, RFC 8446) and reads the server's first answer. So
it can offer what no library offers today: SSL 3.0, compression, heartbeats, and all 65,536 numbers of suites.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

SSL_3_0, TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3 = 0x0300, 0x0301, 0x0302, 0x0303, 0x0304
NAMES: Final = {
    SSL_3_0: "SSL 3.0",
    TLS_1_0: "TLS 1.0",
    TLS_1_1: "TLS 1.1",
    TLS_1_2: "TLS 1.2",
    TLS_1_3: "TLS 1.3",
}
ALERT, HANDSHAKE, HEARTBEAT_RECORD = 21, 22, 24
CLIENT_HELLO, SERVER_HELLO = 1, 2
SERVER_NAME, GROUPS, POINT_FORMATS, SIGNATURES, HEARTBEAT = 0, 10, 11, 13, 15
MASTER_SECRET, SUPPORTED_VERSIONS, KEY_SHARE, RENEGOTIATION = 23, 43, 51, 0xFF01
DEFLATE, UNCOMPRESSED = 1, 0
FALLBACK: Final = 0x5600  # TLS_FALLBACK_SCSV (RFC 7507)
# Not suites: TLS_EMPTY_RENEGOTIATION_INFO_SCSV, and that of a fallback.
SIGNALS: Final = (0x00FF, FALLBACK)
SUITES_AT_ONCE: Final = 2_000
# x25519, secp256r1, secp384r1, secp521r1, x448, and the groups of finite fields.
ALL_GROUPS: Final = (29, 23, 24, 25, 30, 256, 257, 258)
TIMEOUT_S: Final = 30.0


@dataclass
class Answer:
    """The server's first message: a ServerHello, an alert, or nothing but a closed connection."""

    alert: int | None = None
    version: int | None = None
    suite: int | None = None
    compression: int | None = None
    extensions: dict[int, bytes] = field(default_factory=dict)

    @property
    def is_accepted(self) -> bool:
        return self.suite is not None


def first_answer(port: int, message: bytes) -> Answer:
    """Sends the first bytes of a connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(message)
        with connection.makefile("rb") as stream:
            try:
                header = stream.read(5)
                if len(header) < 5:
                    return Answer()
                kind, _, size = struct.unpack(">BHH", header)
                return read_answer(kind, stream.read(size))
            except ConnectionError:
                return Answer()


def read_answer(kind: int, body: bytes) -> Answer:
    if kind == ALERT:
        return Answer(alert=body[1])
    assert kind == HANDSHAKE, f"a record of type {kind}"
    assert body[0] == SERVER_HELLO
    (version,) = struct.unpack_from(">H", body, 4)
    at = 4 + 2 + 32
    at += 1 + body[at]
    suite, compression = struct.unpack_from(">HB", body, at)
    extensions = dict(read_extensions(body[at + 3 :]))
    if SUPPORTED_VERSIONS in extensions:
        (version,) = struct.unpack(">H", extensions[SUPPORTED_VERSIONS])
    return Answer(None, version, suite, compression, extensions)


def read_extensions(data: bytes) -> Iterator[tuple[int, bytes]]:
    if not data:
        return
    (end,) = struct.unpack_from(">H", data)
    at = 2
    while at < 2 + end:
        number, size = struct.unpack_from(">HH", data, at)
        yield number, data[at + 4 : at + 4 + size]
        at += 4 + size


def client_hello(version: int, suites: Iterable[int]) -> bytes:
    """The record with a ClientHello that offers one version, these suites, compression and heartbeats."""
    extensions = {
        SERVER_NAME: sized16(b"\0" + sized16(b"localhost")),
        GROUPS: sized16(numbers16(ALL_GROUPS)),
        POINT_FORMATS: sized8(b"\0"),
        SIGNATURES: sized16(numbers16(signatures())),
        HEARTBEAT: b"\1",
        MASTER_SECRET: b"",
        RENEGOTIATION: sized8(b""),
    }
    if version == TLS_1_3:
        extensions[SUPPORTED_VERSIONS] = sized8(numbers16([TLS_1_3]))
        extensions[KEY_SHARE] = sized16(struct.pack(">H", 29) + sized16(os.urandom(32)))
    # TLS 1.3 names its version in an extension, and forbids compression.
    compressions = [UNCOMPRESSED] if version == TLS_1_3 else [DEFLATE, UNCOMPRESSED]
    body = struct.pack(">H", min(version, TLS_1_2)) + os.urandom(32) + sized8(b"")
    body += sized16(numbers16(suites)) + sized8(bytes(compressions))
    if version != SSL_3_0:
        packed = [struct.pack(">H", number) + sized16(data) for number, data in extensions.items()]
        body += sized16(b"".join(packed))
    message = bytes([CLIENT_HELLO]) + len(body).to_bytes(3) + body
    return struct.pack(">BH", HANDSHAKE, min(version, TLS_1_0)) + sized16(message)


def signatures() -> Iterable[int]:
    """All of TLS 1.2, and those of TLS 1.3: RSA-PSS and Ed25519."""
    old = [hash_number << 8 | kind for hash_number in range(1, 7) for kind in (1, 2, 3)]
    return [*old, *range(0x0804, 0x080C)]


def sized8(data: bytes) -> bytes:
    return bytes([len(data)]) + data


def sized16(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


def numbers16(numbers: Iterable[int]) -> bytes:
    return b"".join(struct.pack(">H", number) for number in numbers)


def accepted_suites(port: int, version: int) -> list[int]:
    """All suites that the server accepts with this version, found by leaving out those that it chose."""
    found: list[int] = []
    for start in range(0, 1 << 16, SUITES_AT_ONCE):
        offered = [one for one in range(start, min(start + SUITES_AT_ONCE, 1 << 16)) if one not in SIGNALS]
        while offered:
            answer = first_answer(port, client_hello(version, offered))
            if not answer.is_accepted or answer.version != version:
                break
            assert answer.suite in offered
            found.append(answer.suite)
            offered.remove(answer.suite)
    return sorted(found)


def ssl_2_hello() -> bytes:
    """The ClientHello of SSL 2.0, which has a format of its own."""
    suites = bytes.fromhex("010080 020080 030080 040080 050080 060040 0700c0")
    body = struct.pack(">BHHHH", CLIENT_HELLO, 0x0002, len(suites), 0, 16) + suites + os.urandom(16)
    return struct.pack(">H", 0x8000 | len(body)) + body


def heartbleed() -> bytes:
    """A heartbeat that asks for 16 KiB in return for one byte (CVE-2014-0160)."""
    return struct.pack(">BHH", HEARTBEAT_RECORD, TLS_1_2, 4) + struct.pack(">BHB", 1, 0x4000, 0)
