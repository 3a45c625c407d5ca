"""A process that did not run for a while: nothing is decided by deadlines that passed meanwhile.

SIGSTOP, a laptop that slept, a suspended VM: the other nodes may be healthy, and their messages lie unread in
the sockets. Time that the process could not use to listen does not count.
"""

from copy import deepcopy
from random import Random

import pytest
from tests.raft.quorum_simulation import SimulatedNode, Simulation, key
from tests.raft.test_state import (
    add,
    ask,
    changing_leader,
    fetch,
    follower,
    leader,
    newcomer,
    node,
    replies,
    run,
)

from gralha.protocol.errors import ErrorCode
from gralha.raft.context import Context, QuorumSafetyError
from gralha.raft.events import (
    AddVoter,
    Answered,
    Appended,
    Event,
    FetchRequest,
    FetchResponse,
    ProbeVoter,
    ReplyRecords,
    Requested,
    Send,
    Started,
    Tick,
)
from gralha.raft.role import Role
from gralha.raft.state import RaftState
from gralha.raft.timeouts import NEVER, Timeouts
from gralha.raft.voters import VoterEndpoint

TIMEOUTS = Timeouts()
QUORUM_MS = TIMEOUTS.fetch_ms * 3 // 2


# A leader


@pytest.mark.parametrize("pause_ms", [3_100, 3_400, 10_000, 60_000, 86_400_000])
def test_a_leader_that_was_paused_does_not_resign_at_once(pause_ms):
    state, _ = leader()
    fetch(state, 2, 1, now_ms=310)
    resumed_ms = 310 + pause_ms
    state.step(Tick(), resumed_ms)
    assert state.is_leader
    run(state, resumed_ms, resumed_ms + 1_000)
    assert state.is_leader, "the others have time to be heard"
    fetch(state, 3, 1, now_ms=resumed_ms + 1_000)
    run(state, resumed_ms + 1_000, resumed_ms + QUORUM_MS + 800)
    assert state.is_leader


def test_the_deadline_of_a_leader_that_was_paused_is_bounded():
    state, _ = leader()
    fetch(state, 2, 1, now_ms=310)
    state.step(Tick(), 60_000)
    run(state, 60_000, 60_000 + QUORUM_MS + 2)
    assert state.role is Role.RESIGNED


def test_pauses_again_and_again_do_not_keep_a_leader_in_office():
    """Each pause gives back the time that it took, not more."""
    state, _ = leader()
    now_ms = 300
    for _ in range(QUORUM_MS // TIMEOUTS.pulse_ms + 1):
        now_ms = state.wake_at_ms + 10_000
        state.step(Tick(), now_ms)
    assert state.role is Role.RESIGNED


def test_a_leader_that_was_paused_obeys_a_newer_epoch():
    state, _ = leader()
    state.step(Tick(), 60_000)
    assert state.is_leader
    ask(state, 2, epoch=9, last_epoch=9, end_offset=50, now_ms=60_001)
    assert not state.is_leader


def test_fetches_and_changes_wait_on_after_a_pause():
    state = changing_leader()
    add(state, 4, now_ms=310)
    assert fetch(state, 2, 4, high_watermark=3, now_ms=311) == []
    effects = state.step(Tick(), 60_000)
    assert not replies(effects), "the change of voters has its timeout yet"
    assert not any(isinstance(effect, ReplyRecords) for effect in effects)
    effects = run(state, 60_000, 60_000 + 1_100)
    assert [effect.token for effect in effects if isinstance(effect, ReplyRecords)] == [7]
    assert [response.error_code for response in replies(effects)] == [ErrorCode.REQUEST_TIMED_OUT]


def test_an_observer_can_become_a_voter_right_after_a_pause():
    """It fetched when the leader was paused, and could not be heard since."""
    state = changing_leader()
    (effect,) = state.step(Requested(20, AddVoter(newcomer(4), 1000)), 60_000)
    assert isinstance(effect, ProbeVoter)


# A follower


@pytest.mark.parametrize("pause_ms", [2_050, 2_300, 2_600, 10_000, 60_000, 86_400_000])
def test_a_follower_that_was_paused_does_not_stand_for_election(pause_ms):
    state = follower()
    resumed_ms = 20 + pause_ms
    state.step(Tick(), resumed_ms)
    assert state.role is Role.FOLLOWER
    run(state, resumed_ms, resumed_ms + 1_000)
    assert state.role is Role.FOLLOWER
    response = replies(
        ask(state, 3, epoch=3, last_epoch=3, end_offset=50, pre_vote=True, now_ms=resumed_ms + 1_000)
    )
    assert not response[0].granted, "it trusts its leader yet"


def test_a_follower_whose_leader_died_during_a_pause_stands_within_the_fetch_timeout():
    state = follower()
    state.step(Tick(), 60_000)
    run(state, 60_000, 60_000 + TIMEOUTS.fetch_ms + 102)
    assert state.role is Role.PROSPECTIVE


def test_the_answer_that_lay_in_the_socket_counts():
    state = follower()
    request = FetchRequest(3, state.key, 0, 0, 0, 500)
    state.step(Answered(2, request, FetchResponse(0, 2, 3, 0)), 60_000)
    assert state.role is Role.FOLLOWER
    run(state, 60_000, 60_000 + TIMEOUTS.fetch_ms)
    assert state.role is Role.FOLLOWER


# What is no pause


def test_a_step_that_is_a_little_late_is_no_pause():
    state = follower()
    now_ms = 20
    while state.role is Role.FOLLOWER:
        now_ms = state.wake_at_ms + TIMEOUTS.pause_ms
        state.step(Tick(), now_ms)
    assert now_ms < 20 + TIMEOUTS.fetch_ms + 102 + 2 * TIMEOUTS.pause_ms


def test_a_machine_that_waits_for_nothing_is_never_late():
    """A quorum of one is idle for hours. Its first fetch waits as long as it says."""
    state, _ = node()
    assert state.wake_at_ms == NEVER
    assert fetch(state, 4, 1, now_ms=3_600_000) == []
    assert state.wake_at_ms == 3_600_500


def test_a_pause_is_noticed_once_when_records_are_appended_first():
    state, _ = leader()
    deadline_ms = 300 + QUORUM_MS + 60_000 - state.wake_at_ms
    state.step(Appended(2), 60_000)
    state.step(Tick(), 60_000)
    run(state, 60_000, deadline_ms - 1)
    assert state.is_leader
    run(state, deadline_ms - 1, deadline_ms + 1)
    assert state.role is Role.RESIGNED


# Everything that waits


def test_the_pause_before_a_retry_goes_on_after_a_pause():
    context = Context(key(1), TIMEOUTS, Random(1))
    request = context.fetch_request(500)
    context.send(2, request)
    context.answered(2, request, failed=True)
    context.discovery.failed(0)
    context.postpone(1_000)
    context.now_ms = 1_000
    context.send(2, request)
    assert context.take_effects() == [Send(2, request)], "not again"
    assert context.wake_at_ms == 1_000 + TIMEOUTS.retry_ms
    assert context.discovery.due_ms == 1_000 + TIMEOUTS.retry_ms


class Recorder:
    """The events of each node of a simulated quorum, with their times."""

    def __init__(self, monkeypatch):
        self.events: dict[tuple[int, int], list[tuple[Event, int]]] = {}
        step = SimulatedNode.step

        def record(simulated, event):
            if simulated.state is not None and not simulated.is_paused:
                process = (simulated.id, simulated.incarnation)
                self.events.setdefault(process, []).append((deepcopy(event), simulated.now_ms()))
            step(simulated, event)

        monkeypatch.setattr(SimulatedNode, "step", record)


class Twins:
    """Two machines with the same events; the second one was paused again and again."""

    def __init__(self, simulated):
        self.machines = [self.machine(simulated), self.machine(simulated)]
        self.paused_ms = 0
        self.moved_ms = 0

    def machine(self, simulated):
        return RaftState(
            key(simulated.id),
            TIMEOUTS,
            Random(1),
            bootstrap=simulated.bootstrap,
            can_vote=simulated.can_vote,
            endpoints=(VoterEndpoint("CONTROLLER", "elsewhere", 9093),),
        )

    def step(self, event, now_ms, pause_ms):
        first, second = self.machines
        now_ms += self.moved_ms
        if pause_ms and now_ms <= first.wake_at_ms < NEVER:
            # The first one gets the event in the very moment in which it wanted to be woken.
            self.moved_ms += first.wake_at_ms - now_ms
            now_ms = first.wake_at_ms
            self.paused_ms += pause_ms
        results = []
        for machine, clock_ms in ((first, now_ms), (second, now_ms + self.paused_ms)):
            try:
                results.append(machine.step(deepcopy(event), clock_ms))
            except QuorumSafetyError:
                return False
        assert repr(results[0]) == repr(results[1])
        assert first.role is second.role
        if first.wake_at_ms < NEVER:
            assert second.wake_at_ms == first.wake_at_ms + self.paused_ms
        return True


def test_a_pause_moves_everything_that_waits(monkeypatch):
    """A machine that was paused does what it would have done otherwise, later by the time of its pauses."""
    recorder = Recorder(monkeypatch)
    pauses = 0
    for seed in range(20):
        recorder.events.clear()
        simulation = Simulation(seed, 3, 2, changes=0.3)
        simulation.live(8_000)
        for (node_id, _), events in recorder.events.items():
            assert isinstance(events[0][0], Started)
            twins = Twins(simulation.nodes[node_id])
            for number, (event, now_ms) in enumerate(events):
                pause_ms = 5_000 if number % 7 == seed % 7 else 0
                if not twins.step(event, now_ms, pause_ms):
                    break
            pauses += twins.paused_ms // 5_000
    assert pauses > 1000
