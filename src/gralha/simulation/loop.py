"""Event loops with virtual time: one for each simulated process, all driven by one `World`.

Nothing waits in real time. The world runs callbacks in the order in which they became ready. If none is
ready, the clock jumps to the next timer. Every call takes a microsecond of virtual time, so that a process
that is always busy does not stop the clock. Work for threads (`run_in_executor`) happens later, at once or in
steps with other events between them (`threads.py`), and its result arrives later again. So a crash can happen
before, during and after the work.

A killed process runs no further instruction, not even the `finally` of its tasks. So its tasks are kept,
asleep, until the world ends (`bury`). A frozen process runs everything that became due in between when it
goes on. All random numbers come from generators with the world's seed.
"""

import asyncio
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from contextvars import Context
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from unittest import mock

from gralha.simulation.threads import SteppedThread, Steps
from gralha.simulation.trace import Trace

if TYPE_CHECKING:
    from gralha.simulation.network import Host

Result = TypeVar("Result")

CALL_S: Final = 1e-6
START_MS: Final = 1_750_000_000_000
# The seconds that work for threads takes: usually, and sometimes, as if the disk stalls.
WORK_S: Final = (0.0002, 0.004)
SLOW_WORK_S: Final = (0.02, 0.4)
SLOW_WORK_CHANCE: Final = 0.01
# Some work happens in steps. The pauses between steps have this length.
STEPS_CHANCE: Final = 0.15
STEP_S: Final = (0.00001, 0.003)


class World:
    """The clock and all callbacks of a run. All random numbers come from the seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now = 0.0
        self.trace = Trace()
        self.failures: list[str] = []
        self.loops: list[ProcessLoop] = []
        # Called between events, every `look_interval_s` seconds of virtual time.
        self.look: Callable[[], None] | None = None
        self.look_interval_s = 0.1
        self._look_due = 0.0
        self._ready: deque[tuple[ProcessLoop | None, asyncio.Handle]] = deque()
        self._timers: list[tuple[float, int, ProcessLoop | None, asyncio.Handle]] = []
        self._sequence = 0
        self._outside = _Outside()
        self.threads = Steps(self.random("threads").random)

    def random(self, name: str) -> Random:
        """A generator for one part of the simulation, so that its draws do not change the other parts."""
        return Random(f"{self.seed}/{name}")

    def note(self, text: str, data: bytes | bytearray | memoryview = b"") -> None:
        self.trace.note(self.now, text, data)

    def fail(self, text: str) -> None:
        """Record a failure of the run."""
        self.failures.append(text)
        self.trace.hold()

    # Scheduling. Callbacks without a loop belong to the world itself: the network, kernels, faults.

    def soon(self, loop: "ProcessLoop | None", handle: asyncio.Handle) -> None:
        self._ready.append((loop, handle))

    def at(self, when: float, loop: "ProcessLoop | None", handle: asyncio.Handle) -> None:
        self._sequence += 1
        heappush(self._timers, (when, self._sequence, loop, handle))

    def call_at(self, when: float, callback: Callable[..., object], *args: object) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._outside)
        self.at(when, None, handle)
        return handle

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> asyncio.Handle:
        return self.call_at(self.now + delay, callback, *args)

    # Running

    def run(self, is_done: Callable[[], bool], until: float) -> bool:
        """Run until `is_done` (called between events) or until that time. Returns whether it is done."""
        ready, timers = self._ready, self._timers
        outer_loop = events._get_running_loop()
        try:
            while not is_done():
                if not ready:
                    if not timers or timers[0][0] > until:
                        self.now = max(self.now, until)
                        return is_done()
                    self.now = max(self.now, timers[0][0])
                while timers and timers[0][0] <= self.now:
                    _, _, loop, handle = heappop(timers)
                    ready.append((loop, handle))
                if self.now > until:
                    return False
                self._run_next()
            return True
        finally:
            events._set_running_loop(outer_loop)

    def _run_next(self) -> None:
        loop, handle = self._ready.popleft()
        if handle._cancelled:
            return
        if loop is not None:
            if loop.is_dead:
                loop.remains.append(handle)
                return
            if loop.is_frozen:
                loop.held.append(handle)
                return
        self.now += CALL_S
        events._set_running_loop(loop)
        handle._run()
        if self.look is not None and self.now >= self._look_due:
            self._look_due = self.now + self.look_interval_s
            events._set_running_loop(None)
            self.look()

    def bury(self) -> None:
        """End everything. Coroutines that still sleep are closed, and their actions have no effect."""
        events._set_running_loop(None)
        for loop in self.loops:
            loop.kill()
        self.threads.bury()
        self._ready.clear()
        self._timers.clear()
        for loop in self.loops:
            for task in loop.asleep:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                # The parts of a dead process may raise errors.
                try:
                    cast("Coroutine[Any, Any, Any]", task.get_coro()).close()
                except BaseException:
                    continue
            loop.asleep.clear()
            loop.remains.clear()


class _Outside(asyncio.BaseEventLoop):
    """The loop for callbacks outside of processes. An error there is a bug of the simulation."""

    def __del__(self) -> None:
        """There is nothing to close."""

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise context["exception"]


class ProcessLoop(asyncio.BaseEventLoop):
    """The event loop of one simulated process."""

    def __init__(self, world: World, name: str, host: "Host") -> None:
        super().__init__()
        self.world = world
        self.name = name
        self.host = host
        self.is_dead = False
        self.is_frozen = False
        self.held: list[asyncio.Handle] = []
        self.remains: list[asyncio.Handle] = []
        self.asleep: list[asyncio.Task[Any]] = []
        self._random = world.random(f"loop {name}")
        self._threads = SimulatedExecutor()
        world.loops.append(self)

    # The life of the process

    def kill(self) -> None:
        """End the process: none of its instructions runs after this."""
        if not self.is_dead:
            self.is_dead = True
            self.asleep = list(asyncio.all_tasks(self))
            self.remains += self.held
            self.held.clear()

    def freeze(self) -> None:
        self.is_frozen = True

    def thaw(self) -> None:
        self.is_frozen = False
        held, self.held = self.held, []
        for handle in held:
            self.world.soon(self, handle)

    # asyncio's interface

    def time(self) -> float:
        return self.world.now

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        """Debugging would cost time and change nothing."""

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return False  # a dead process does not know that it is dead

    def __del__(self) -> None:
        """There is nothing to close."""

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.world._ready.append((self, handle))
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.world.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self.world.at(when, self, handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing to do: `run` skips cancelled timers."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Result], *, name: str | None = None, context: Context | None = None
    ) -> "asyncio.Task[Result]":
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """An error that nobody handles is a failure of the run, not only a line in a log."""
        error = context.get("exception")
        text = f"{self.name}: {context['message']}: {type(error).__name__} {error}"
        self.world.note(text)
        if not self.is_dead:
            self.world.fail(text)

    # Threads

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Result], *args: Any
    ) -> "asyncio.Future[Result]":
        threads = executor if isinstance(executor, SimulatedExecutor) else self._threads
        work = _Work(self, func, args, threads)
        threads.waiting[work] = None
        self.call_later(self.draw_work_time(), work.run)
        return work.future

    def draw_work_time(self) -> float:
        slow = self._random.random() < SLOW_WORK_CHANCE
        return self._random.uniform(*(SLOW_WORK_S if slow else WORK_S))

    def draw_has_steps(self) -> bool:
        return self._random.random() < STEPS_CHANCE

    def draw_step_time(self) -> float:
        return self._random.uniform(*STEP_S)

    def draw_has_begun(self) -> bool:
        return self._random.random() < 0.5

    # The network

    async def create_server(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        return self.host.listen(self, protocol_factory, host, port, options.get("start_serving", True))

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        transport = await self.host.connect(self, host, port)
        protocol = protocol_factory()
        transport.begin(protocol)
        return transport, protocol


class _Work:
    """Work of a thread."""

    def __init__(
        self,
        loop: ProcessLoop,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        threads: "SimulatedExecutor",
    ) -> None:
        self.loop = loop
        self.function = function
        self.args = args
        self.threads = threads
        self.future: asyncio.Future[Any] = loop.create_future()
        self.thread: SteppedThread | None = None

    def run(self) -> None:
        if self not in self.threads.waiting or self.thread is not None:
            return
        if self.future.cancelled() and not self.loop.draw_has_begun():
            del self.threads.waiting[self]
            return
        if self.loop.draw_has_steps():
            self.thread = SteppedThread(self.loop.world.threads, self.function, self.args)
            self._step()
            return
        del self.threads.waiting[self]
        running = events._get_running_loop()
        events._set_running_loop(None)  # threads have none
        result, error = None, None
        try:
            result = self.function(*self.args)
        except Exception as raised:
            error = raised
        finally:
            events._set_running_loop(running)
        self._ended(result, error)

    def _step(self) -> None:
        """Run the thread until its next pause."""
        if self not in self.threads.waiting:
            return
        assert self.thread is not None
        if self.thread.step():
            del self.threads.waiting[self]
            self._ended(self.thread.result, self.thread.error)
        else:
            self.loop.call_later(self.loop.draw_step_time(), self._step)

    def finish_now(self) -> None:
        """Run the work to its end now, because the caller waits for it."""
        if self.thread is None:
            self.run()
        while self in self.threads.waiting:
            self._step()

    def _ended(self, result: object, error: Exception | None) -> None:
        self.loop.call_later(self.loop.draw_work_time() / 2, self._finish, result, error)

    def _finish(self, result: object, error: Exception | None) -> None:
        if not self.future.done():
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)


class SimulatedExecutor(Executor):
    """Replaces ThreadPoolExecutor. The world decides when work runs."""

    def __init__(self, *_args: object, **_options: object) -> None:
        # Work that is not done.
        self.waiting: dict[_Work, None] = {}

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> "Future[Result]":
        """Run the function now. Only code that is already in a thread calls this."""
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """With `wait`, run all work to its end."""
        if wait:
            for work in list(self.waiting):
                work.finish_now()


@contextmanager
def no_threads() -> Iterator[None]:
    """Inside of this context no loaded part of Gralha can start a thread pool."""
    users = [
        module
        for name, module in sys.modules.items()
        if name.startswith("gralha.") and hasattr(module, "ThreadPoolExecutor")
    ]
    with ExitStack() as patches:
        for module in users:
            patches.enter_context(mock.patch.object(module, "ThreadPoolExecutor", SimulatedExecutor))
        yield
