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
        """A step that comes so much later than it was asked for tells that the process did not run."""
        return min(self.election_ms, self.fetch_ms) // 2

    @property
    def pulse_ms(self) -> int:
        """How often a machine that has a deadline asks for a step, so that it notices a pause early."""
        return self.pause_ms // 2
