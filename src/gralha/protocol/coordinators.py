"""The partition of a coordinator's topic for a group or a transactional id.

All brokers and Kafka's tools must compute the same partition, so the hash is Java's.
"""

from functools import lru_cache
from typing import Final

# Every request of a producer or member needs the hash of the same key.
_HASHES_KEPT: Final = 1000
# Brokers of Gralha write these words into COORDINATOR_NOT_AVAILABLE if the coordinators' topic needs more
# brokers. Clients of Kafka look only at the code, and ask again. Our commands end at once.
CANNOT_BE_CREATED: Final = "cannot be created"


def partition_for(key: str, partition_count: int) -> int:
    """The partition with a coordinator's records about this key."""
    number = java_hash_code(key)
    return (0 if number == -(1 << 31) else abs(number)) % partition_count


@lru_cache(_HASHES_KEPT)
def java_hash_code(text: str) -> int:
    """Java's String.hashCode, which uses UTF-16 code units."""
    units = text.encode("utf-16-be", "surrogatepass")
    number = 0
    for position in range(0, len(units), 2):
        number = (31 * number + units[position] * 256 + units[position + 1]) & 0xFFFFFFFF
    return number - (1 << 32) if number >= 1 << 31 else number
