"""Requests leave nothing for the garbage collector, whether they wait or not: its pauses are latency."""

from __future__ import annotations

import gc
from pathlib import Path

from gralha.broker.fetching.long_poll import LongPoll
from gralha.broker.fetching.reading import Fetch
from gralha.broker.handlers import fetch
from gralha.broker.pipeline import Deferred, RequestContext
from tests.replication.pair import PEER, Pair


async def test_a_followers_fetches_leave_no_cycles(tmp_path: Path) -> None:
    pair = Pair(tmp_path, 1)
    pair.round()
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            poll = pair.ask()
            poll.request.max_wait_ms = 10_000
            answer = fetch.handle(pair.broker, RequestContext(PEER, 18, None), poll.request)  # type: ignore[arg-type]
            assert isinstance(answer, Deferred)
            pair.append(0)
            response = await answer
            pair.state.answered(poll, response, 0, 0)  # type: ignore[arg-type]
            pair.round()
        del answer, response, poll
        found = [one for one in gc.get_objects() if isinstance(one, Fetch | LongPoll | Deferred)]
    finally:
        gc.enable()
        pair.close()
    assert found == []
