"""The bit fields of Metadata and the Describe requests that say what a client may do.

Bit n is Kafka's ACL operation n. There are no ACLs yet, so every client may do everything.
"""

from typing import Final

NOT_ASKED: Final = -(1 << 31)

READ: Final = 3
WRITE: Final = 4
CREATE: Final = 5
DELETE: Final = 6
ALTER: Final = 7
DESCRIBE: Final = 8
CLUSTER_ACTION: Final = 9
DESCRIBE_CONFIGS: Final = 10
ALTER_CONFIGS: Final = 11
IDEMPOTENT_WRITE: Final = 12


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


ON_A_TOPIC: Final = _bits(READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
ON_THE_CLUSTER: Final = _bits(
    CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE
)
