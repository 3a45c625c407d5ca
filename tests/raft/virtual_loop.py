"""An event loop whose time jumps to the next thing to do: no waiting, no threads, the same run every time."""

import asyncio
import selectors

from tests.raft.inline_loop import InlineLoop


class JumpingSelector(selectors.DefaultSelector):
    loop: "VirtualLoop"

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("nothing will ever happen")
        self.loop.now += max(timeout, 0)
        return super().select(0)


class VirtualLoop(InlineLoop):
    def __init__(self):
        self.now = 1000.0
        selector = JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self):
        return self.now


def run_virtual(coroutine):
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
