"""What the pipeline and the quotas of clients tell each other about a request.

The pipeline is compiled and knows only this. `throttling.py` has the quotas. Without quotas `is_on` is False,
and the pipeline makes no `Use`.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from mypy_extensions import mypyc_attr

from gralha.protocol.message import Message


class Use:
    """What a request takes of its client's quotas."""

    def __init__(
        self,
        principal: str,
        host: str,
        api_key: int,
        client_id: str | None,
        size_bytes: int,
        clock: Callable[[], float],
    ) -> None:
        self.principal = principal
        self.host = host
        self.api_key = api_key
        self.client_id = client_id
        self.size_bytes = size_bytes
        self.clock = clock
        # The request says that a node has sent it.
        self.claims_node: bool = False
        self.spent_s: float = 0.0


@mypyc_attr(allow_interpreted_subclasses=True)
class Throttle:
    """Says how long clients are held back. This one has no quotas (`throttling.py` has them)."""

    def __init__(self) -> None:
        self.is_on: bool = False

    def used(self, use: Use, response: Message | None) -> int:
        """Counts a request that is done. Returns how long to hold its client back, in milliseconds."""
        return 0

    def connected(self, host: str, listener: str) -> tuple[int, bool]:
        """Counts a new connection. Returns how long to hold it back, and whether it may stay after that."""
        return 0, True

    def measured(self, work: Awaitable[Message | None], use: Use) -> Awaitable[Message | None]:
        """The same work. The time of its steps is added to `use`."""
        return work


NO_THROTTLE: Final = Throttle()
