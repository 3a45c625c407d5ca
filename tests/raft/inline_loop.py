"""An event loop without threads: their work runs on the loop, in a later turn. So runs repeat exactly."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class InlineLoop(asyncio.SelectorEventLoop):
    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], Result], *args: *Arguments
    ) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = self.create_future()
        self.call_soon(self._work, future, func, args)
        return future

    @staticmethod
    def _work(future, func, args):
        if future.cancelled():
            return
        try:
            result = func(*args)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)


def run_inline(coroutine):
    with asyncio.Runner(loop_factory=InlineLoop) as runner:
        return runner.run(coroutine)
