"""Many quorums under all faults. Known bugs, put back, show that the checks notice them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raft.quorum_simulation import BrokenPromiseError, Simulation, simulate

from gralha.raft import state
from gralha.raft.context import Context, QuorumSafetyError
from gralha.raft.leader import Leader
from gralha.raft.leadership import Leadership
from gralha.raft.quorum_state import NOBODY
from gralha.raft.role import Role
from gralha.raft.state import RaftState
from gralha.raft.voter_changes import VoterChanges

# Voters, observers that may become voters, whether the voters are configured.
SHAPES = [(1, 0, True), (3, 0, True), (5, 0, True), (3, 1, True), (1, 2, False), (3, 2, False), (5, 1, False)]
SHAPES_WITH_BUGS = [(3, 0, True), (5, 0, True), (3, 2, False), (1, 2, False)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(SHAPES))
def test_no_fault_breaks_a_promise_and_a_healed_quorum_works(seed, shape):
    voters, observers, static = shape
    simulation = simulate(seed, voters, observers, static=static)
    assert simulation.committed


@pytest.mark.parametrize(("voters", "observers", "static"), SHAPES)
def test_without_faults_there_is_one_election(voters, observers, static):
    simulation = simulate(7, voters, 0, static=static, faults=False, changes=0)
    assert len(simulation.leaders) == 1
    assert len(simulation.committed) > 100


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pause_ms", [400, 800, 2_500, 10_000, 60_000])
@pytest.mark.parametrize("voters", [3, 5])
def test_a_quorum_that_was_paused_as_a_whole_elects_nobody(voters, pause_ms, seed):
    simulation = Simulation(seed, voters, faults=False, changes=0)
    simulation.live(5_000)
    for _ in range(4):
        simulation.pause_all(pause_ms)
        simulation.run_until(simulation.now_ms + pause_ms + simulation.random.uniform(0, 5_000))
    simulation.settle()
    assert len(simulation.leaders) == 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pause_ms", [400, 800, 2_500, 10_000, 60_000])
def test_a_follower_that_was_paused_disturbs_nobody(pause_ms, seed):
    simulation = Simulation(seed, 3, faults=False, changes=0)
    simulation.live(5_000)
    for follower in [node for node in simulation.nodes if not node.up_state.is_leader]:
        follower.pause(pause_ms)
        simulation.run_until(simulation.now_ms + pause_ms + 5_000)
    simulation.settle()
    assert len(simulation.leaders) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_leader_that_was_paused_follows_the_one_that_was_elected_meanwhile(seed):
    simulation = Simulation(seed, 3, faults=False, changes=0)
    simulation.live(5_000)
    (paused,) = simulation.leading()
    paused.pause(10_000)
    simulation.run_until(simulation.now_ms + 10_000 + 500)
    (leader,) = simulation.leading()
    assert leader is not paused
    assert paused.state.role is Role.FOLLOWER
    simulation.settle()
    assert len(simulation.leaders) == 2


def always_up_to_date(request, last_epoch, end_offset):
    return True


def may_always_commit(self, offset):
    return True


def start_as_leader(self, event):
    """Leads on where it had led before the restart, in the same epoch, which no row of the table allows."""
    original_start(self, event)
    if self.election.leader_id == self.key.id and not self.is_leader:
        self._transitions.current = Leader(self._context, self._transitions, ())
        self._transitions.current.begin()


original_start = RaftState._start


def always_durable(self):
    return True


def never_uncommitted(self):
    return False


def commit_before_the_flush(self, event):
    """Counts written records as synced."""
    original_take(self, event)
    if self.is_leader and self._context.is_only_voter:
        self._flushed(self.log.end_offset)


original_take = RaftState._take


def forget_vote(self):
    """Keeps the vote in memory only."""
    if self._election_unsaved and self.election.voted_id >= 0:
        self._election_unsaved = False
    original_save(self)


original_save = Context._save_election


def vote_again(self, candidate):
    return self.election.leader_id == NOBODY


MANY_CHANGES = "voters change while a change is not committed (KAFKA-20740)"
# Each bug: what to replace by what, and the promise that it must break. No other failure counts.
BUGS = {
    "votes are given without a look at the log": (
        (state, "is_up_to_date", always_up_to_date),
        "leader .* in place of",
    ),
    "records of old epochs are committed by counting (KAFKA-12619)": (
        (Leadership, "may_commit", may_always_commit),
        "is committed by counting alone",
    ),
    "a leader leads on after a restart (KAFKA-10527)": (
        (RaftState, "_start", start_as_leader),
        "epoch .* has .* and leader",
    ),
    "voters fetch before they sync": ((Context, "may_fetch", always_durable), "is committed, but only"),
    "a one-voter quorum commits before it flushes": (
        (RaftState, "_take", commit_before_the_flush),
        r"is committed, but only \[\] have it",
    ),
    MANY_CHANGES: ((VoterChanges, "_is_uncommitted", never_uncommitted), "both lead epoch|in place of"),
    "votes are not saved": ((Context, "_save_election", forget_vote), "gives a vote that it has not saved"),
    "a voter votes twice": ((Context, "is_free_to_vote_for", vote_again), "votes twice"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_the_model_sees_known_bugs(bug, monkeypatch):
    put_back, anomaly = BUGS[bug]
    monkeypatch.setattr(*put_back)
    options = {}
    for seed in range(500):
        voters, observers, static = SHAPES_WITH_BUGS[seed % len(SHAPES_WITH_BUGS)]
        if bug == MANY_CHANGES:
            options["changes"] = 0.5
            voters, observers, static = 3, 2, False
        try:
            simulate(seed, voters, observers, static=static, **options)
        except (BrokenPromiseError, QuorumSafetyError) as error:
            if re.search(anomaly, str(error)):
                return
    pytest.fail(f"no seed shows: {anomaly}")
