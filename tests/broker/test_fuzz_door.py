"""A broker process gets junk from malicious clients.

The broker answers with a response that the API defines, or closes the connection. Its memory stays bounded:
the tests look at the peak, not only at the end. It serves the next client. A seed decides about each damage,
and a failure shows the seed.
"""

from __future__ import annotations

import errno
import gzip
import random
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import fastcrc
import pytest

from gralha.protocol.apis import APIS, ApiKey
from gralha.protocol.compression import GZIP
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.api_versions import ApiVersionsResponse
from gralha.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from gralha.protocol.primitives import Reader
from gralha.protocol.records import Record, encode_batch
from gralha.testing import GralhaCluster
from tests.broker.frame_answers import SENTINEL, SENTINEL_ID, check_response
from tests.broker.fuzz_requests import REQUEST_CASES, damaged, frame_of, sample_request, sized

TOPIC = "fuzz"
# How far the broker's peak memory may rise in any test above its memory after start.
GROWTH_LIMIT_BYTES = 50 << 20
# One batch at a time may be unpacked, up to what the largest message could honestly unpack to.
UNPACKING_LIMIT_BYTES = GROWTH_LIMIT_BYTES + (128 << 20)
CASES_PER_SEED = 1500
ANSWER_TIMEOUT_S = 0.3
CLOSE_TIMEOUT_S = 15.0
REQUEST_SIZE_MAX = 104_857_600  # socket.request.max.bytes


@pytest.fixture(scope="module")
def cluster() -> Iterator[GralhaCluster]:
    with GralhaCluster() as cluster:
        create_topic(cluster, TOPIC)
        yield cluster


@pytest.fixture(scope="module")
def memory_at_start_bytes(cluster: GralhaCluster) -> int:
    return memory_bytes(cluster, "VmRSS")


@pytest.fixture(autouse=True)
def _unharmed(
    request: pytest.FixtureRequest, cluster: GralhaCluster, memory_at_start_bytes: int
) -> Iterator[None]:
    """After every test the broker is the same process, has not used much, and serves the next client."""
    pid = cluster.process().pid
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # forget the peak that earlier tests made
    yield
    assert cluster.process().alive, cluster.process().log_tail()
    assert cluster.process().pid == pid
    with connect(cluster) as connection:
        connection.sendall(SENTINEL)
        assert response_ids(connection, until=SENTINEL_ID) == [SENTINEL_ID]
    growth_bytes = memory_bytes(cluster, "VmHWM") - memory_at_start_bytes
    unpacks = request.function is test_decompression_bomb
    limit_bytes = UNPACKING_LIMIT_BYTES if unpacks else GROWTH_LIMIT_BYTES
    assert growth_bytes < limit_bytes, f"memory grew by {growth_bytes >> 20} MiB at its peak"


def memory_bytes(cluster: GralhaCluster, name: str) -> int:
    status = Path(f"/proc/{cluster.process().pid}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def connect(cluster: GralhaCluster) -> socket.socket:
    return socket.create_connection(("127.0.0.1", cluster.ports[1]), timeout=CLOSE_TIMEOUT_S)


def create_topic(cluster: GralhaCluster, topic: str, **configs: str) -> None:
    new = CreatableTopic(
        topic,
        1,
        1,
        configs=[CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()],
    )
    case = next(case for case in REQUEST_CASES if case.cls is CreateTopicsRequest)
    with connect(cluster) as connection:
        connection.sendall(sized(frame_of(case, CreateTopicsRequest([new], 10_000), 1)) + SENTINEL)
        assert response_ids(connection, until=SENTINEL_ID) == [1, SENTINEL_ID]


class ClosedError(Exception):
    """The broker has closed the connection."""


def read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        try:
            piece = connection.recv(count - len(data))
        except ConnectionError as error:
            raise ClosedError from error
        if not piece:
            assert not data, f"the connection closed in the middle of a response, after {data!r}"
            raise ClosedError
        data += piece
    return data


def read_response(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", read_exactly(connection, 4))
    assert 4 <= size <= REQUEST_SIZE_MAX, f"a response of {size} bytes"
    return read_exactly(connection, size)


def response_ids(connection: socket.socket, until: int) -> list[int]:
    """The correlation ids of all responses up to this one."""
    seen: list[int] = []
    while not seen or seen[-1] != until:
        seen.append(struct.unpack_from(">i", read_response(connection))[0])
    return seen


def send_and_check(connection: socket.socket, frame: bytes, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
    """Send a frame; raises ClosedError when the broker closed the connection, which it may."""
    try:
        connection.sendall(sized(frame) + SENTINEL)
        connection.settimeout(timeout_s)
        while True:
            response = read_response(connection)
            if struct.unpack_from(">i", response)[0] == SENTINEL_ID:
                return
            check_response(frame, response)
    except TimeoutError:
        # A request may ask to wait, for data or for replicas. It ends when its client leaves.
        close_and_drain(connection, frame)
        raise ClosedError from None
    except ConnectionError as error:
        raise ClosedError from error
    finally:
        connection.settimeout(CLOSE_TIMEOUT_S)


def close_and_drain(connection: socket.socket, frame: bytes) -> None:
    """Close the sending side. The broker must close its side soon."""
    connection.settimeout(CLOSE_TIMEOUT_S)
    say_no_more(connection)
    try:
        while True:
            response = read_response(connection)
            if struct.unpack_from(">i", response)[0] != SENTINEL_ID:
                check_response(frame, response)
    except ClosedError:
        return


def say_no_more(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise
        raise ClosedError from error


def play(cluster: GralhaCluster, frames: Iterator[bytes]) -> None:
    """Send frame after frame, on a new connection whenever the broker has closed the last one."""
    with ExitStack() as stack:
        connection = stack.enter_context(connect(cluster))
        for number, frame in enumerate(frames):
            try:
                send_and_check(connection, frame)
            except ClosedError:
                connection.close()
                connection = stack.enter_context(connect(cluster))
            except Exception as error:
                raise AssertionError(f"frame {number}: {frame.hex()}") from error


def test_valid_requests_of_every_version_are_answered(cluster: GralhaCluster) -> None:
    """The frames that the other tests damage are good ones: what the broker says it serves, it answers."""
    with connect(cluster) as connection:
        connection.sendall(SENTINEL)
        reader = Reader(read_response(connection), 4)
        served = {api.api_key: api for api in ApiVersionsResponse.decode(reader, 0).api_keys}
        for case in REQUEST_CASES:
            api = served.get(case.cls.API_KEY)
            if api is not None and api.min_version <= case.version <= api.max_version:
                try:
                    send_and_check(
                        connection, frame_of(case, sample_request(case, TOPIC), 7), CLOSE_TIMEOUT_S
                    )
                except ClosedError:
                    pytest.fail(f"{case} was not answered")


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_requests(cluster: GralhaCluster, seed: int) -> None:
    chance = random.Random(seed)

    def frames() -> Iterator[bytes]:
        for number in range(CASES_PER_SEED):
            case = chance.choice(REQUEST_CASES)
            yield damaged(frame_of(case, sample_request(case, TOPIC), number), chance)

    play(cluster, frames())


def test_random_bytes(cluster: GralhaCluster) -> None:
    chance = random.Random(3)
    play(cluster, (chance.randbytes(chance.choice([0, 1, 7, 8, 100, 4000])) for _ in range(200)))


def test_random_streams(cluster: GralhaCluster) -> None:
    """Bytes without even a size in front."""
    chance = random.Random(4)
    for _ in range(100):
        junk = chance.randbytes(chance.randint(1, 2000))
        with connect(cluster) as connection, suppress(ClosedError, ConnectionError):
            connection.sendall(junk)
            say_no_more(connection)
            while True:
                read_response(connection)


def test_unknown_apis_and_versions(cluster: GralhaCluster) -> None:
    def frames() -> Iterator[bytes]:
        for api_key in [*range(-1, 130), 0x7FFF, -0x8000]:
            newest = APIS[api_key].max_version if api_key in APIS else 0
            for version in (-1, newest + 1, 0x7FFF, -0x8000):
                yield struct.pack(">hhih", api_key, version, 9, -1) + bytes(20)

    play(cluster, frames())


def test_api_versions_of_the_future_names_what_is_spoken(cluster: GralhaCluster) -> None:
    """Clients newer than the broker find common ground (KIP-511)."""
    with connect(cluster) as connection:
        frame = struct.pack(">hhihb", ApiKey.API_VERSIONS, 99, 9, -1, 0)
        connection.sendall(sized(frame))
        response = read_response(connection)
        check_response(frame, response)
        assert struct.unpack_from(">h", response, 4)[0] == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("size", [-1, -0x80000000, 0x7FFFFFFF, REQUEST_SIZE_MAX + 1])
def test_impossible_sizes_close_the_connection(cluster: GralhaCluster, size: int) -> None:
    with connect(cluster) as connection:
        connection.sendall(struct.pack(">i", size))
        with pytest.raises(ClosedError):
            read_response(connection)


def test_declared_sizes_allocate_nothing(cluster: GralhaCluster) -> None:
    """Many clients announce the largest request there may be and send only its beginning."""
    with ExitStack() as stack:
        for _ in range(100):
            connection = stack.enter_context(connect(cluster))
            connection.sendall(struct.pack(">i", REQUEST_SIZE_MAX) + bytes(1000))
        with connect(cluster) as other:
            other.sendall(SENTINEL)
            assert response_ids(other, until=SENTINEL_ID) == [SENTINEL_ID]


def test_slow_clients_hold_nobody_up(cluster: GralhaCluster) -> None:
    """Frames that arrive byte by byte are answered; others are served between any two bytes."""
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(cluster)) for _ in range(20)]
        other = stack.enter_context(connect(cluster))
        for byte in SENTINEL:
            for connection in slow:
                connection.sendall(bytes([byte]))
            other.sendall(SENTINEL)
            assert response_ids(other, until=SENTINEL_ID) == [SENTINEL_ID]
        for connection in slow:
            assert response_ids(connection, until=SENTINEL_ID) == [SENTINEL_ID]


def test_client_that_never_reads(cluster: GralhaCluster) -> None:
    """Answers that nobody takes must not pile up: the broker stops reading from such a client."""
    topic = "never-read"
    create_topic(cluster, topic)
    produce(cluster, topic, encode_batch([Record(None, bytes(900_000), timestamp=int(time.time() * 1000))]))
    fetch = sized(fetch_request(topic))
    with connect(cluster) as greedy:
        greedy.settimeout(0.5)
        asked = 0
        try:
            while asked < 1_000_000:
                greedy.sendall(fetch * 100)
                asked += 100
        except TimeoutError:
            pass
        # A gigabyte or more has been asked for, so the broker must have stopped reading.
        assert 1000 <= asked < 1_000_000


def fetch_request(topic: str) -> bytes:
    name = topic.encode()
    return (
        struct.pack(">hhih", ApiKey.FETCH, 4, 5, -1)
        + struct.pack(">iiiib", -1, 0, 1, 10_000_000, 0)
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iiqi", 1, 0, 0, 10_000_000)
    )


def produce(cluster: GralhaCluster, topic: str, records: bytes) -> int:
    """Produce v3 to partition 0; returns the error code."""
    name = topic.encode()
    request = (
        struct.pack(">hhihhhi", ApiKey.PRODUCE, 3, 6, -1, -1, -1, 10_000)
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iii", 1, 0, len(records))
        + records
    )
    with connect(cluster) as connection:
        connection.sendall(sized(request))
        response = read_response(connection)
    check_response(request, response)
    code: int = struct.unpack_from(">h", response, 4 + 4 + 2 + len(name) + 4 + 4)[0]
    return code


def test_decompression_bomb(cluster: GralhaCluster) -> None:
    """A batch that unpacks to far more than any message may hold, where the broker must unpack it."""
    topic = "bomb"
    create_topic(cluster, topic, compression_type="lz4")
    honest = encode_batch([Record(None, bytes(1000), timestamp=1)], compression=GZIP)
    bomb = honest[:61] + gzip.compress(bytes(300_000_000), compresslevel=6)
    assert len(bomb) < 500_000  # small enough not to be refused for its size alone
    assert produce(cluster, topic, reframed(bomb)) in (
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.MESSAGE_TOO_LARGE,
    )


def reframed(batch: bytes) -> bytes:
    """The batch with the length and the checksum that its bytes deserve."""
    checksum = fastcrc.crc32.iscsi(batch[21:])
    return (
        batch[:8]
        + struct.pack(">i", len(batch) - 12)
        + batch[12:17]
        + struct.pack(">I", checksum)
        + batch[21:]
    )
