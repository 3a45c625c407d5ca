"""Senders for brokers: nothing that is added stays behind."""

from __future__ import annotations

import asyncio

from gralha.broker.transactions.senders import Senders

BROKER = 1


def test_what_is_added_right_after_a_sender_has_stopped_wakes_a_new_one() -> None:
    waiting = ["first"]
    sent: list[str] = []
    failures: list[BaseException] = []

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        is_sent = asyncio.Event()

        def add_late() -> None:
            waiting.append("late")
            senders.wake(BROKER)

        async def send_all(_: int) -> None:
            while waiting:
                sent.append(waiting.pop())
            if "late" in sent:
                is_sent.set()
            else:
                # The loop runs this before it tells anybody that the task of this sender has ended.
                loop.call_soon(add_late)

        senders = Senders(send_all, failures.append)
        senders.wake(BROKER)
        await asyncio.wait_for(is_sent.wait(), 5)

    asyncio.run(scenario())
    assert sent == ["first", "late"]
    assert not failures


def test_the_error_of_a_sender_is_reported() -> None:
    failures: list[BaseException] = []
    error = RuntimeError("a bug")

    async def scenario() -> None:
        is_reported = asyncio.Event()

        async def send_all(_: int) -> None:
            raise error

        def report(found: BaseException) -> None:
            failures.append(found)
            is_reported.set()

        senders = Senders(send_all, report)
        senders.wake(BROKER)
        await asyncio.wait_for(is_reported.wait(), 5)

    asyncio.run(scenario())
    assert failures == [error]
