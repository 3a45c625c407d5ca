"""Work of threads, in steps. The event loops run between two steps.

A step may end where the work uses the disk, because a real thread waits there and lets others run. The work
has a real thread, because its stack must be kept, but two threads never run at the same time: one hands the
baton over and waits until it comes back. So only the seed decides what happens between two steps.

A lock that a thread holds between two steps is a `SimulatedLock` (`Disk.new_lock`).
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

PAUSE_CHANCE: Final = 0.4


class BuriedError(BaseException):
    """The run is over, and the thread must end."""


class Steps:
    """All threads of a world. `running` is the thread that has the baton, None if the world has it."""

    def __init__(self, draw: Callable[[], float]) -> None:
        self.running: SteppedThread | None = None
        self.unfinished: dict[SteppedThread, None] = {}
        self._draw = draw

    def pause(self) -> None:
        """Called before each use of the disk. If a thread uses the disk, its step may end here."""
        thread = self.running
        if thread is not None and (thread.is_buried or self._draw() < PAUSE_CHANCE):
            thread.wait()

    def bury(self) -> None:
        """End all threads, wherever they are."""
        for thread in list(self.unfinished):
            thread.is_buried = True
            while not thread.step():
                pass


class SteppedThread:
    def __init__(self, steps: Steps, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.result: Any = None
        self.error: Exception | None = None
        self.is_buried = False
        self._steps = steps
        self._function = function
        self._args = args
        self._is_done = False
        self._go_on = threading.Semaphore(0)
        self._came_back = threading.Semaphore(0)
        steps.unfinished[self] = None
        threading.Thread(target=self._run, daemon=True).start()

    def step(self) -> bool:
        """Run the thread until it waits or is done. Returns whether it is done."""
        if self.is_done():
            return True
        before, self._steps.running = self._steps.running, self
        self._go_on.release()
        self._came_back.acquire()
        self._steps.running = before
        if self.is_done():
            self._steps.unfinished.pop(self, None)
        return self.is_done()

    def is_done(self) -> bool:
        return self._is_done

    def wait(self) -> None:
        """Give the baton back, and wait for the next step. The thread itself calls this."""
        if not self.is_buried:
            self._came_back.release()
            self._go_on.acquire()
        if self.is_buried:
            raise BuriedError

    def _run(self) -> None:
        self._go_on.acquire()
        try:
            if not self.is_buried:
                self.result = self._function(*self._args)
        except Exception as error:
            self.error = error
        except BuriedError:
            pass
        finally:
            self._is_done = True
            self._came_back.release()


class SimulatedLock:
    """Replaces threading.Lock."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._is_held = False
        self._holder: SteppedThread | None = None

    def acquire(self, blocking: bool = True) -> bool:
        while self._is_held:
            if not blocking:
                return False
            waiting = self._steps.running
            if waiting is not None:
                waiting.wait()
            else:
                # The event loop waits until the thread releases the lock.
                assert self._holder is not None, "the loop waits for a lock that it holds itself"
                self._holder.step()
        self._is_held, self._holder = True, self._steps.running
        return True

    def release(self) -> None:
        self._is_held, self._holder = False, None

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
