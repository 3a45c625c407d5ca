"""One sender for each broker, which lives only while there is something to send to it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("gralha.transactions")


class Senders:
    def __init__(
        self, send_all: Callable[[int], Awaitable[None]], on_failure: Callable[[BaseException], None]
    ) -> None:
        """`send_all` sends until nothing waits for a broker. `on_failure` gets the error of a bug in it."""
        self._send_all = send_all
        self._on_failure = on_failure
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def wake(self, broker_id: int) -> None:
        """Something waits to be sent to a broker."""
        if broker_id not in self._tasks:
            task = asyncio.ensure_future(self._run(broker_id))
            self._tasks[broker_id] = task
            task.add_done_callback(lambda ended: self._ended(broker_id, ended))

    async def _run(self, broker_id: int) -> None:
        try:
            await self._send_all(broker_id)
        finally:
            # Not in `_ended`, which the event loop calls a turn later: what is added in between must wake a
            # new sender, because this one has stopped looking.
            del self._tasks[broker_id]

    def _ended(self, broker_id: int, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            # The node must not go on with transactions that never end.
            log.critical("The sender to broker %d has failed", broker_id, exc_info=error)
            self._on_failure(error)

    def close(self) -> None:
        """The broker stops."""
        for task in list(self._tasks.values()):
            task.cancel()
