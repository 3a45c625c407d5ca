"""The quorum's timeouts."""

from typing import Final, NamedTuple

NEVER: Final = 2**62


class Timeouts(NamedTuple):
    """Kafka's `controller.quorum.*`, with its defaults."""

    election_ms: int = 1000
    fetch_ms: int = 2000
    backoff_max_ms: int = 1000
    request_ms: int = 2000
    retry_ms: int = 20
    fetch_wait_ms: int = 500
