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

    @property
    def pause_ms(self) -> int:
        """If a step comes later than requested by more than this, the process did not run."""
        return min(self.election_ms, self.fetch_ms) // 2

    @property
    def pulse_ms(self) -> int:
        """While the machine has a deadline, it requests a step this often, so that it notices every pause."""
        return self.pause_ms // 2
