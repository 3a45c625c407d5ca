"""Numbers with a meaning in Fetch requests: session ids and epochs (KIP-227), isolation levels."""

from typing import Final

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
