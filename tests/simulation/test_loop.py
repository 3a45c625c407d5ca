"""Virtual time, and processes that are frozen and killed."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from gralha.simulation.loop import ProcessLoop, SimulatedExecutor, World, no_threads
from gralha.simulation.network import Network


def new_process(world: World, name: str = "10.0.0.1") -> ProcessLoop:
    return Network(world).add_host(name).start_process(name)


def test_time_jumps_to_the_next_timer() -> None:
    world = World(1)
    loop = new_process(world)
    seen = []

    async def work() -> None:
        for seconds in (3600, 0.5):
            await asyncio.sleep(seconds)
            seen.append(round(asyncio.get_running_loop().time(), 1))

    task = loop.create_task(work())
    assert world.run(task.done, 10_000)
    assert seen == [3600.0, 3600.5]
    assert world.now < 3601


def test_a_run_ends_at_its_time() -> None:
    world = World(1)
    task = new_process(world).create_task(asyncio.sleep(5))
    assert not world.run(task.done, 4.9)
    assert world.now == 4.9
    assert world.run(task.done, 6)
    world.bury()


def test_a_process_that_never_rests_does_not_stop_the_clock() -> None:
    world = World(1)

    async def restless() -> None:
        while True:
            await asyncio.sleep(0)

    new_process(world).create_task(restless())
    assert not world.run(lambda: False, 0.01)
    world.bury()


def test_what_became_ready_first_runs_first() -> None:
    world = World(1)
    one, other = new_process(world, "a"), new_process(world, "b")
    seen: list[int] = []
    one.call_later(1, seen.append, 3)
    one.call_soon(seen.append, 1)
    other.call_later(1, seen.append, 4)
    other.call_soon(seen.append, 2)
    world.run(lambda: False, 2)
    assert seen == [1, 2, 3, 4]


def test_a_cancelled_timer_does_nothing() -> None:
    world = World(1)
    seen: list[int] = []
    new_process(world).call_later(1, seen.append, 1).cancel()
    world.run(lambda: False, 2)
    assert seen == []


def test_a_frozen_process_goes_on_with_what_became_due() -> None:
    world = World(1)
    loop = new_process(world)
    seen: list[float] = []
    loop.call_later(1, lambda: seen.append(world.now))
    loop.freeze()
    world.run(lambda: False, 5)
    assert seen == []
    loop.thaw()
    world.run(lambda: False, 6)
    assert [round(at, 3) for at in seen] == [5.0]


def test_a_killed_process_does_not_even_clean_up() -> None:
    world = World(1)
    loop = new_process(world)
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            cleaned.append("by the process" if not world.loops[0].is_dead else "by the burial")

    loop.create_task(work())
    world.run(lambda: False, 0.5)
    loop.kill()
    world.run(lambda: False, 5)
    assert cleaned == []
    world.bury()
    assert cleaned == ["by the burial"]
    assert world.failures == []


def test_threads_work_later_in_one_piece_without_a_loop() -> None:
    world = World(1)
    loop = new_process(world)
    seen: list[object] = []

    def work(number: int) -> int:
        seen.append((round(world.now, 9), asyncio._get_running_loop()))
        return number * 2

    async def ask() -> None:
        begun = world.now
        assert await asyncio.get_running_loop().run_in_executor(None, work, 21) == 42
        assert begun < seen[0][0] < world.now  # type: ignore[index]
        assert seen[0][1] is None  # type: ignore[index]

    task = loop.create_task(ask())
    assert world.run(task.done, 10)
    assert task.exception() is None


def test_an_error_in_a_thread_reaches_who_waits() -> None:
    world = World(1)

    def fail() -> None:
        raise ValueError("no")

    async def ask() -> str:
        try:
            await asyncio.get_running_loop().run_in_executor(None, fail)
        except ValueError as error:
            return str(error)
        return ""

    task = new_process(world).create_task(ask())
    world.run(task.done, 10)
    assert task.result() == "no"


def test_closing_a_pool_waits_for_what_it_was_given() -> None:
    world = World(1)
    threads = SimulatedExecutor()
    loop = new_process(world)
    seen: list[int] = []
    loop.run_in_executor(threads, seen.append, 1)
    threads.shutdown(wait=True)
    assert seen == [1]
    world.run(lambda: False, 10)
    assert seen == [1]


def test_nodes_get_no_threads() -> None:
    from gralha.storage import manager

    with no_threads():
        assert manager.ThreadPoolExecutor is SimulatedExecutor  # type: ignore[attr-defined, comparison-overlap]
    assert manager.ThreadPoolExecutor is ThreadPoolExecutor  # type: ignore[attr-defined]


def test_an_error_that_nobody_handles_is_a_failure_of_the_run() -> None:
    world = World(1)

    def fail() -> None:
        raise ValueError("oops")

    new_process(world).call_soon(fail)
    world.run(lambda: False, 1)
    assert len(world.failures) == 1
    assert "oops" in world.failures[0]


def test_generators_depend_on_the_seed_and_the_name_only() -> None:
    assert World(1).random("a").random() == World(1).random("a").random()
    assert World(1).random("a").random() != World(1).random("b").random()
    assert World(1).random("a").random() != World(2).random("a").random()
