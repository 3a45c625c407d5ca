"""Work of threads in steps: what comes between them, locks, and the end of a run."""

from collections.abc import Callable

from gralha.simulation.loop import World
from gralha.simulation.network import Network
from gralha.simulation.threads import SimulatedLock, SteppedThread, Steps


def always() -> float:
    return 0.0


class Script:
    """Work that writes down what happens, with a pause after each line."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.lines: list[str] = []

    def work(self, name: str, count: int = 3) -> str:
        for number in range(count):
            self.lines.append(f"{name}{number}")
            self.steps.pause()
        return name


def test_a_step_ends_where_the_disk_is_used() -> None:
    script = Script(steps := Steps(always))
    thread = SteppedThread(steps, script.work, ("a",))
    assert script.lines == []
    assert not thread.step()
    assert script.lines == ["a0"]
    script.lines.append("between")
    assert not thread.step()
    assert not thread.step()
    assert thread.step()
    assert (script.lines, thread.result) == (["a0", "between", "a1", "a2"], "a")
    assert thread.step(), "a thread that is done stays done"


def test_who_is_no_thread_does_not_pause() -> None:
    script = Script(Steps(always))
    script.work("a")
    assert script.lines == ["a0", "a1", "a2"]


def test_an_error_is_kept() -> None:
    steps = Steps(always)
    thread = SteppedThread(steps, lambda: 1 // 0, ())
    assert thread.step()
    assert isinstance(thread.error, ZeroDivisionError)


def locked(script: Script, lock: SimulatedLock, name: str) -> Callable[[], None]:
    def work() -> None:
        with lock:
            script.work(name, 2)

    return work


def test_a_thread_waits_for_the_lock_of_another() -> None:
    script = Script(steps := Steps(always))
    lock = SimulatedLock(steps)
    first, second = (SteppedThread(steps, locked(script, lock, name), ()) for name in "ab")
    first.step()
    second.step()
    second.step()
    assert script.lines == ["a0"]
    while not first.step():
        pass
    while not second.step():
        pass
    assert script.lines == ["a0", "a1", "b0", "b1"]


def test_the_loop_stands_still_until_it_has_the_lock() -> None:
    script = Script(steps := Steps(always))
    lock = SimulatedLock(steps)
    thread = SteppedThread(steps, locked(script, lock, "a"), ())
    thread.step()
    assert not lock.acquire(blocking=False)
    with lock:
        script.lines.append("loop")
    assert script.lines == ["a0", "a1", "loop"]
    assert thread.step()


def test_a_run_that_is_over_ends_its_threads() -> None:
    script = Script(steps := Steps(always))
    ended: list[str] = []

    def work() -> None:
        try:
            script.work("a")
        finally:
            steps.pause()
            ended.append("never")

    threads = [SteppedThread(steps, work, ()) for _ in range(3)]
    threads[0].step()
    steps.bury()
    assert all(thread.step() for thread in threads)
    assert (script.lines, ended, steps.unfinished) == (["a0"], [], {})


def run(seed: int) -> list[str]:
    """Two works beside a loop that ticks: in which order everything happened."""
    world = World(seed)
    loop = Network(world).add_host("10.0.0.1").start_process("one")
    script = Script(world.threads)

    async def tick() -> None:
        for number in range(40):
            script.lines.append(f"tick{number}")
            future = loop.create_future()
            loop.call_later(0.0005, future.set_result, None)
            await future

    ticking = loop.create_task(tick())
    works = [loop.run_in_executor(None, script.work, name, 20) for name in "ab"]
    assert world.run(lambda: ticking.done() and all(work.done() for work in works), 1)
    world.bury()
    assert [work.result() for work in works] == ["a", "b"]
    return script.lines


def test_other_callbacks_of_the_loop_come_between_two_steps() -> None:
    between = 0
    for seed in range(8):
        lines = run(seed)
        assert lines == run(seed), "a seed repeats exactly"
        for name in "ab":
            first, last = lines.index(f"{name}0"), lines.index(f"{name}19")
            between += any(line.startswith("tick") for line in lines[first:last])
    assert 0 < between < 16, "some work has steps, some is done in one piece"
