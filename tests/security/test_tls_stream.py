"""TlsStream: two of them back to back, without sockets and without an event loop if possible."""

import asyncio
import hashlib
import hmac
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.security.tls_stream import CIPHERTEXT_BYTES, OWN_ANSWERS_BYTES_MAX, OWN_ANSWERS_MAX, RECORD_BYTES
from tests.certificates import LONG_AGO, Authority
from tests.security.streams import (
    AUTHORITY,
    SERVER_TLS,
    Pair,
    Side,
    client_tls,
    server_tls,
)

OLDER = client_tls(ssl_enabled_protocols="TLSv1.2")
sizes = st.lists(st.integers(1, 70_000), min_size=1, max_size=8)
chunks = st.lists(
    st.one_of(
        st.integers(0, 300), st.integers(RECORD_BYTES - 2, RECORD_BYTES + 2), st.integers(60_000, 200_000)
    ),
    min_size=1,
    max_size=6,
)


def payload(size: int) -> bytes:
    return (b"0123456789abcdef" * (size // 16 + 1))[:size]


def reason_of(error: Exception) -> str:
    assert isinstance(error, ssl.SSLError)
    return str(error.reason)


@pytest.mark.parametrize("client", [None, OLDER], ids=["TLSv1.3", "TLSv1.2"])
def test_both_directions(client: ssl.SSLContext | None) -> None:
    pair = Pair(client=client).secured()
    pair.client.stream.writelines([b"question", memoryview(b"?")])
    pair.carry()
    assert pair.server.inner.received == b"question?"
    pair.server.stream.write(b"answer")
    pair.carry()
    assert pair.client.inner.received == b"answer"


@settings(max_examples=60, deadline=None)
@given(sizes, st.lists(chunks, min_size=1, max_size=4), st.sampled_from([1 << 20, 5000, 1]), st.booleans())
def test_any_pieces_in_any_order(
    steps: list[int], writes: list[list[int]], buffer_bytes: int, is_server: bool
) -> None:
    """All bytes arrive, in any pieces on the wire and with any size of the receiver's buffer."""
    if buffer_bytes == 1:
        writes = [[min(size, 400) for size in write] for write in writes]
    pair = Pair(buffer=buffer_bytes).secured()
    source, target = (pair.server, pair.client) if is_server else (pair.client, pair.server)
    expected = b""
    for write in writes:
        parts = [payload(size) for size in write]
        source.stream.writelines(parts)
        expected += b"".join(parts)
    pair.carry(*steps)
    assert target.inner.received == expected
    assert source.stream.error is None
    assert target.stream.error is None


@settings(max_examples=30, deadline=None)
@given(sizes)
def test_handshake_in_any_pieces(steps: list[int]) -> None:
    pair = Pair()
    pair.client.stream.write(b"before the end of the handshake")
    pair.carry(*[min(step, 700) for step in steps])
    assert pair.server.inner.received == b"before the end of the handshake"


def test_small_chunks_leave_in_one_record_and_one_call() -> None:
    pair = Pair().secured()
    calls = pair.server.wire.calls
    pair.server.stream.writelines([b"head", b"body", memoryview(b"tail")] * 100)
    assert pair.server.wire.calls == calls + 1
    length = int.from_bytes(pair.server.wire.written[3:5])
    assert len(pair.server.wire.written) == 5 + length


def test_large_answer_leaves_with_one_call() -> None:
    pair = Pair().secured()
    calls = pair.server.wire.calls
    pair.server.stream.writelines([b"head", payload(1_000_000), b"tail"])
    assert pair.server.wire.calls == calls + 1
    pair.carry()
    assert pair.client.inner.received == b"head" + payload(1_000_000) + b"tail"


def test_one_read_is_one_update_of_the_inner_protocol() -> None:
    """All requests of one read are handled in one go, as without TLS."""
    pair = Pair().secured()
    for number in range(100):
        pair.client.stream.write(payload(1000 + number))
    pair.server.receive(pair.client.wire.take())
    assert len(pair.server.inner.updates) == 1


def test_reading_stops_between_records() -> None:
    """A server that waits for its client gets no more requests, and loses none."""
    pair = Pair(buffer=RECORD_BYTES).secured()
    server = pair.server

    async def scenario() -> None:
        server.inner.pauses_after = 1
        pair.client.stream.write(payload(10 * RECORD_BYTES))
        server.receive(pair.client.wire.take())
        assert len(server.inner.received) == RECORD_BYTES
        assert not server.stream.is_reading()
        for number in range(2, 11):
            server.stream.resume_reading()
            assert server.stream.is_reading()
            await asyncio.sleep(0)
            assert len(server.inner.received) == number * RECORD_BYTES
        server.inner.pauses_after = None
        server.stream.resume_reading()
        pair.client.stream.write(b"more")
        pair.carry()

    asyncio.run(scenario())
    assert server.inner.received == payload(10 * RECORD_BYTES) + b"more"


def test_goodbye_of_the_other_side() -> None:
    pair = Pair().secured()
    pair.client.stream.write(b"last words")
    pair.client.stream.close()
    assert pair.client.wire.is_closed
    pair.carry()
    assert pair.server.inner.received == b"last words"
    assert pair.server.inner.has_ended
    assert pair.server.wire.is_closed
    assert pair.server.stream.error is None


def test_end_without_a_goodbye() -> None:
    pair = Pair().secured()
    pair.client.stream.write(payload(1000))
    pair.server.receive(pair.client.wire.take()[:-1])
    assert pair.server.stream.eof_received() is False
    assert pair.server.inner.has_ended
    assert pair.server.inner.received == b""  # an incomplete record is never delivered
    pair.server.stream.connection_lost(None)
    assert pair.server.inner.lost == [None]


@pytest.mark.parametrize("position", [0, 3, 5, 200, 1020])
def test_damaged_record(position: int) -> None:
    pair = Pair().secured()
    pair.client.stream.write(payload(1000))
    sealed = bytearray(pair.client.wire.take())
    sealed[position] ^= 0xFF
    pair.server.receive(bytes(sealed) + bytes(100))
    assert pair.server.inner.received == b""
    assert pair.server.wire.is_closed
    assert len(pair.server.failures) == 1
    pair.server.stream.connection_lost(None)
    assert pair.server.inner.lost == [pair.server.stream.error]


def test_replayed_record() -> None:
    pair = Pair().secured()
    pair.client.stream.write(b"pay once")
    sealed = pair.client.wire.take()
    pair.server.receive(sealed)
    pair.server.receive(sealed)
    assert pair.server.inner.received == b"pay once"
    assert pair.server.stream.error is not None
    assert pair.server.wire.is_closed


def test_exchanged_records() -> None:
    pair = Pair().secured()
    sealed = []
    for word in (b"first", b"second"):
        pair.client.stream.write(word)
        sealed.append(pair.client.wire.take())
    pair.server.receive(sealed[1] + sealed[0])
    assert pair.server.inner.received == b""
    assert pair.server.stream.error is not None


@settings(max_examples=200, deadline=None)
@given(st.binary(min_size=1, max_size=400), st.integers(1, 50))
def test_garbage_instead_of_a_handshake(garbage: bytes, step: int) -> None:
    """The server ends the connection or waits for more. It reports a failure once, with the first bytes."""
    side = Side(SERVER_TLS, True)
    for start in range(0, len(garbage), step):
        side.receive(garbage[start : start + step])
    assert side.inner.received == b""
    assert not side.secured
    assert side.wire.is_closed == bool(side.failures)
    assert len(side.failures) <= 1
    if side.failures:
        assert garbage.startswith(side.failures[0][1])
        assert side.stream.is_closing()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutated_bytes_after_the_handshake(data: st.DataObject) -> None:
    """A change of any byte never delivers other plaintext than what was written."""
    pair = Pair().secured()
    words = [payload(size) for size in (10, 3000, 20_000)]
    for word in words:
        pair.client.stream.write(word)
    sealed = bytearray(pair.client.wire.take())
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= data.draw(st.integers(1, 255))
    pair.server.receive(bytes(sealed))
    assert b"".join(words).startswith(pair.server.inner.received)
    assert len(pair.server.inner.received) < sum(map(len, words))


def test_failed_verification() -> None:
    pair = Pair(client=client_tls(Authority("Other")))
    pair.carry()
    assert isinstance(pair.client.failures[0][0], ssl.SSLCertVerificationError)
    assert pair.client.wire.is_closed
    # The alert has told the server why.
    assert reason_of(pair.server.failures[0][0]) == "TLSV1_ALERT_UNKNOWN_CA"
    pair.client.stream.connection_lost(None)
    assert pair.client.inner.lost == [pair.client.failures[0][0]]


def test_wrong_host_name() -> None:
    pair = Pair(host="elsewhere.example.org")
    pair.carry()
    assert "Hostname mismatch" in str(pair.client.failures[0][0])
    assert not pair.server.secured


def test_expired_certificate() -> None:
    expired = AUTHORITY.issue(expires=LONG_AGO.replace(year=2021))
    server = server_tls(
        ssl_keystore_key=expired.key_pem(), ssl_keystore_certificate_chain=expired.chain_pem()
    )
    pair = Pair(server)
    pair.carry()
    assert "certificate has expired" in str(pair.client.failures[0][0])


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_missing_client_certificate(version: str) -> None:
    pair = Pair(server_tls(ssl_client_auth="required"), client_tls(ssl_enabled_protocols=version))
    pair.carry()
    assert reason_of(pair.server.failures[0][0]) == "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    # With TLS 1.3 the client's handshake was over already.
    assert pair.client.stream.error is not None
    assert pair.client.wire.is_closed


def test_client_certificate() -> None:
    pair = Pair(server_tls(ssl_client_auth="required"), client_tls(has_key=True)).secured()
    assert pair.server.secured[0].getpeercert(binary_form=True) is not None


def test_refusal_after_the_handshake() -> None:
    """The owner may refuse a client whose handshake was right, because no rule maps its certificate."""
    pair = Pair()
    pair.server.refusal = ValueError("nobody knows you")
    pair.client.stream.write(b"let me in")
    pair.carry()
    assert pair.server.failures[0][0] is pair.server.refusal
    assert pair.server.inner.received == b""
    assert pair.server.wire.is_closed


def test_closing_in_the_middle_of_a_handshake() -> None:
    pair = Pair()
    pair.server.receive(pair.client.wire.take(100))
    pair.server.stream.close()
    assert pair.server.wire.is_closed
    assert not pair.server.failures
    pair.server.stream.write(b"nobody hears this")
    assert not pair.server.wire.written


def test_aborting() -> None:
    pair = Pair().secured()
    pair.server.stream.abort()
    assert pair.server.wire.is_aborted
    pair.server.receive(payload(10))
    assert pair.server.inner.received == b""


def test_no_renegotiation() -> None:
    assert SERVER_TLS.options & ssl.OP_NO_RENEGOTIATION


def test_an_idle_connection_keeps_no_buffer() -> None:
    """Bytes that have arrived are gone when the call returns: the buffer belongs to all connections."""
    pair = Pair().secured()
    pair.client.stream.write(payload(3 * CIPHERTEXT_BYTES))
    while pair.client.wire.written:
        pair.server.receive(pair.client.wire.take(100_001))
        pair.server.stream.get_buffer(-1)[:] = bytes(CIPHERTEXT_BYTES)
    assert pair.server.inner.received == payload(3 * CIPHERTEXT_BYTES)


class ClientRecords:
    """Writes records of a client with the secret that OpenSSL has logged. Python's ssl cannot renew keys."""

    def __init__(self, key_log: Path) -> None:
        (self._secret,) = [
            bytes.fromhex(line.split()[2])
            for line in key_log.read_text().splitlines()
            if line.startswith("CLIENT_TRAFFIC_SECRET_0 ")
        ]
        self._number = 0

    def _derived(self, label: bytes, size: int) -> bytes:
        """HKDF-Expand-Label of RFC 8446, section 7.1. One block of SHA-384 is enough here."""
        name = b"tls13 " + label
        info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
        return hmac.digest(self._secret, info + b"\x01", hashlib.sha384)[:size]

    def _sealed(self, kind: int, content: bytes) -> bytes:
        plain = content + bytes([kind])
        header = b"\x17\x03\x03" + (len(plain) + 16).to_bytes(2, "big")
        nonce = int.from_bytes(self._derived(b"iv", 12), "big") ^ self._number
        self._number += 1
        return header + AESGCM(self._derived(b"key", 32)).encrypt(nonce.to_bytes(12, "big"), plain, header)

    def data(self, content: bytes) -> bytes:
        return self._sealed(0x17, content)

    def key_update(self) -> bytes:
        """It asks the other side to renew its keys too."""
        record = self._sealed(0x16, b"\x18\x00\x00\x01\x01")
        self._secret, self._number = self._derived(b"traffic upd", 48), 0
        return record


def renewing_pair(folder: Path) -> tuple[Pair, ClientRecords]:
    context = client_tls(ssl_enabled_protocols="TLSv1.3")
    context.keylog_filename = str(folder / "keys")
    pair = Pair(client=context).secured()
    cipher = pair.client.secured[0].cipher()
    assert cipher is not None
    assert cipher[0] == "TLS_AES_256_GCM_SHA384"
    return pair, ClientRecords(folder / "keys")


def test_a_client_that_only_renews_its_keys_is_cut_off(tmp_path: Path) -> None:
    pair, records = renewing_pair(tmp_path)
    # OpenSSL answers one when the next arrives.
    for _ in range(1 + OWN_ANSWERS_MAX):
        pair.server.receive(records.key_update())
        pair.server.wire.take()
    was_aborted = pair.server.wire.is_aborted
    pair.server.receive(records.key_update())
    assert (was_aborted, pair.server.wire.is_aborted) == (False, True)
    assert pair.server.failures == [(pair.server.stream.error, b"")]


@pytest.mark.parametrize("content", [b"", b"x"], ids=["alone", "with data"])
def test_answers_to_renewed_keys_do_not_pile_up(tmp_path: Path, content: bytes) -> None:
    pair, records = renewing_pair(tmp_path)
    for _ in range(OWN_ANSWERS_BYTES_MAX // 1000):
        part = b"".join(records.key_update() for _ in range(100))
        pair.server.receive(part + (records.data(content) if content else b""))
        assert len(pair.server.wire.written) <= OWN_ANSWERS_BYTES_MAX
    assert pair.server.wire.is_aborted


def test_a_client_that_reads_may_renew_its_keys_between_its_requests(tmp_path: Path) -> None:
    pair, records = renewing_pair(tmp_path)
    answers_bytes = 0
    for _ in range(OWN_ANSWERS_BYTES_MAX // 20):
        pair.server.receive(records.key_update())
        pair.server.receive(records.data(b"x"))
        answers_bytes += len(pair.server.wire.take())
    assert answers_bytes > OWN_ANSWERS_BYTES_MAX
    assert not pair.server.wire.is_closed
    assert len(pair.server.inner.received) == OWN_ANSWERS_BYTES_MAX // 20
