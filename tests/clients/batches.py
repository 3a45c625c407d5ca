"""Reads record batches as they are stored, which clients do not show: codec, timestamp type, producer.

It uses Fetch v4 by hand, so that it depends neither on our own codec nor on a client.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gralha.client.addresses import parse_address
from gralha.client.connection import Connection
from tests.clients import access
from tests.clients.driver import TIMEOUT_S

CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
# Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, first and last
# timestamp, producer id and epoch, base sequence, record count.
BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")
LENGTH_PREFIX_BYTES = 12


@dataclass(frozen=True)
class StoredBatch:
    base_offset: int
    compression: str
    timestamp_type: str
    producer_id: int
    base_sequence: int


def stored_batches(bootstrap: str, topic: str, partition: int) -> list[StoredBatch]:
    """The batches of a partition from offset 0 on, up to 10 MB of them."""
    records = fetch_records(bootstrap, topic, partition)
    batches = []
    position = 0
    while position + BATCH_HEADER.size <= len(records):
        fields = BATCH_HEADER.unpack_from(records, position)
        attributes = fields[5]
        batches.append(
            StoredBatch(
                base_offset=fields[0],
                compression=CODECS[attributes & 7],
                timestamp_type="LogAppendTime" if attributes & 8 else "CreateTime",
                producer_id=fields[9],
                base_sequence=fields[11],
            )
        )
        position += LENGTH_PREFIX_BYTES + fields[1]
    return batches


@contextlib.contextmanager
def connected(bootstrap: str) -> Iterator[socket.socket]:
    """A socket to the first broker. Only the login to a secured cluster is not by hand."""
    address = parse_address(bootstrap.split(",")[0])
    security = access.own_client(bootstrap)
    if security.login is None:
        with socket.create_connection((address.host, address.port), timeout=TIMEOUT_S) as connection:
            yield connection
    else:
        with Connection.open(address, security=security) as logged_in:
            yield logged_in._socket


def fetch_records(bootstrap: str, topic: str, partition: int) -> bytes:
    name = topic.encode()
    api_key, version, correlation_id, no_client_id = 1, 4, 0, -1
    replica, wait_ms, min_bytes, limit_bytes, isolation = -1, 1000, 1, 10_000_000, 0
    request = (
        struct.pack(">hhih", api_key, version, correlation_id, no_client_id)
        + struct.pack(">iiiib", replica, wait_ms, min_bytes, limit_bytes, isolation)
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iiqi", 1, partition, 0, limit_bytes)
    )
    with connected(bootstrap) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answer:
            (size,) = struct.unpack(">i", answer.read(4))
            response = answer.read(size)
    # Correlation id, throttle time, topic count, name, partition count.
    position = 4 + 4 + 4 + 2 + len(name) + 4
    _, error_code, _, _, aborted = struct.unpack_from(">ihqqi", response, position)
    assert error_code == 0, f"Fetch of {topic}-{partition} failed with error {error_code}"
    position += struct.calcsize(">ihqqi") + 16 * max(0, aborted)
    (length,) = struct.unpack_from(">i", response, position)
    return response[position + 4 : position + 4 + max(0, length)]
