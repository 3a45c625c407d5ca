"""The shapes of the batches that simulated producers send.

Some batches are compressed. Some decompress to more than 128 KiB, or have thousands of headers. A broker
checks these in threads and in slices (`replication/checking.py`), while later batches of the partition wait.
"""

from random import Random
from typing import Final, NamedTuple

from gralha.protocol import compression
from gralha.protocol.records import Headers, Record, encode_batch

CODECS: Final = (compression.GZIP, compression.SNAPPY, compression.LZ4, compression.ZSTD)
COMPRESSED_CHANCE: Final = 0.25
LARGE_CHANCE: Final = 0.03
MANY_HEADERS_CHANCE: Final = 0.01
LARGE: Final[Headers] = [("large", bytes(range(256)) * 600)]
MANY_HEADERS: Final[Headers] = [("h", None)] * 9000


class Shape(NamedTuple):
    """The codec of a batch, and headers of its first record."""

    codec: int = compression.NONE
    headers: Headers | None = None

    def encode(
        self,
        records: list[Record],
        *,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        transactional: bool = False,
    ) -> bytes:
        first = records[0]
        return encode_batch(
            [Record(first.key, first.value, first.timestamp, self.headers), *records[1:]],
            compression=self.codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=transactional,
        )


PLAIN: Final = Shape()


class Shapes:
    """Draws the shapes of one producer's batches. Without a generator all are plain."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random

    def next(self) -> Shape:
        random = self._random
        if random is None:
            return PLAIN
        chance = random.random()
        if chance < MANY_HEADERS_CHANCE:
            return Shape(headers=MANY_HEADERS)
        if chance < MANY_HEADERS_CHANCE + LARGE_CHANCE:
            return Shape(random.choice(CODECS), LARGE)
        return Shape(random.choice(CODECS)) if random.random() < COMPRESSED_CHANCE else PLAIN
