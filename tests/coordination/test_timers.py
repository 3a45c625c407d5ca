"""Timers against the obvious model: a dictionary of deadlines."""

from hypothesis import given
from hypothesis import strategies as st

from gralha.coordination.decision import NOTHING
from gralha.coordination.timers import Action, Timers

KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), KEYS, st.integers(0, 30)),
        st.tuples(st.just("cancel"), KEYS, st.just(0)),
        st.tuples(st.just("pass"), st.just(""), st.integers(0, 10)),
        st.tuples(st.just("set the clock"), st.just(""), st.integers(-50, 50)),
    )
)


@given(STEPS)
def test_every_timer_runs_once_at_its_last_deadline(steps: list[tuple[str, str, int]]) -> None:
    timers = Timers()
    model: dict[str, int] = {}
    ran: list[str] = []
    now_ms = 0

    def noting(key: str) -> Action:
        def action(_now_ms: int) -> None:
            ran.append(key)

        return action

    for step, key, amount in steps:
        if step == "schedule":
            timers.schedule(key, now_ms + amount, noting(key))
            model[key] = now_ms + amount
        elif step == "cancel":
            timers.cancel(key)
            model.pop(key, None)
        elif step == "set the clock":
            now_ms += amount
            timers.shift(amount)
            model = {key: deadline_ms + amount for key, deadline_ms in model.items()}
        else:
            now_ms += amount
            due = sorted(key for key, deadline_ms in model.items() if deadline_ms <= now_ms)
            ran.clear()
            while (found := timers.pop_due(now_ms)) is not None:
                found[1](now_ms)
            assert sorted(ran) == due
            for key in due:
                del model[key]
        next_deadline_ms = timers.next_deadline_ms()
        assert all(timers.deadline_ms(key) == deadline_ms for key, deadline_ms in model.items())
        assert not model or (next_deadline_ms is not None and next_deadline_ms <= min(model.values()))


def test_due_timers_come_in_the_order_of_their_deadlines() -> None:
    timers = Timers()
    for deadline_ms in (3, 1, 2):
        timers.schedule(f"due at {deadline_ms}", deadline_ms, lambda _now_ms: NOTHING)
    due = [timers.pop_due(5) for _ in range(4)]
    assert [found and found[0] for found in due] == ["due at 1", "due at 2", "due at 3", None]


def test_timers_that_are_cancelled_leave_nothing_behind() -> None:
    timers = Timers()
    timers.schedule("stays", 500_000, lambda _now_ms: NOTHING)
    for number in range(1_000):
        timers.schedule(number, 1_000_000 - number, lambda _now_ms: NOTHING)
        timers.cancel(number)
    assert len(timers._heap) < 100
    assert len(timers._entered) < 100
    assert timers.next_deadline_ms() == 500_000


def test_a_timer_that_is_put_forward_again_and_again_is_one_timer() -> None:
    timers = Timers()
    for number in range(1_000):
        timers.schedule("key", 1_000_000 - number, lambda _now_ms: NOTHING)
    assert len(timers._heap) < 100
    assert timers.next_deadline_ms() == 999_001
