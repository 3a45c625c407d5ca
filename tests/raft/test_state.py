"""The quorum's state machine, for one voter."""

from hypothesis import given
from hypothesis import strategies as st

from gralha.raft.quorum_state import ElectionState
from gralha.raft.state import (
    AdvanceHighWatermark,
    AppendLeaderChange,
    Flushed,
    RaftState,
    Role,
    SaveElection,
    Started,
)

DIRECTORY = b"d" * 16


def voter(voters=(1,)):
    return RaftState(1, DIRECTORY, voters)


def test_a_single_voter_leads_at_once_in_a_new_epoch():
    state = voter()
    assert state.step(Started(None, 0, 0)) == [
        SaveElection(ElectionState(1, 1)),
        AppendLeaderChange(1, 1, (1,), (1,)),
    ]
    assert state.role is Role.LEADER
    assert state.high_watermark == -1


def test_after_a_restart_a_former_leader_wins_its_epoch_anew():
    effects = voter().step(Started(ElectionState(7, leader_id=1), 30, 7))
    assert effects[0] == SaveElection(ElectionState(8, 1))


def test_the_log_may_know_a_later_epoch_than_the_file():
    effects = voter().step(Started(ElectionState(3, 1), 30, 9))
    assert effects[0] == SaveElection(ElectionState(10, 1))


def test_among_several_nobody_leads_without_a_majority():
    state = voter((1, 2, 3))
    assert state.step(Started(ElectionState(4, leader_id=1), 9, 4)) == []
    assert state.role is Role.RESIGNED
    assert state.step(Flushed(9)) == []
    other = voter((1, 2, 3))
    other.step(Started(ElectionState(4, leader_id=2), 9, 4))
    assert other.role is Role.UNATTACHED
    assert not other.is_leader


def test_nothing_is_committed_before_the_epochs_own_first_record():
    state = voter()
    state.step(Started(ElectionState(7, 1), 30, 7))
    assert state.step(Flushed(30)) == []
    assert state.step(Flushed(31)) == [AdvanceHighWatermark(31)]


STARTS = st.builds(
    Started,
    st.none() | st.builds(ElectionState, st.integers(0, 50), st.sampled_from([-1, 1, 2])),
    st.integers(0, 100),
    st.integers(0, 50),
)


@given(STARTS, st.lists(st.integers(0, 120), max_size=20))
def test_epochs_and_the_high_watermark_only_grow(start, flushed):
    state = voter()
    effects = state.step(start)
    epoch_before = max(start.last_epoch, start.election.epoch if start.election else 0)
    assert isinstance(effects[0], SaveElection)
    assert effects[0].election.epoch == state.epoch == epoch_before + 1
    assert effects[0].election.leader_id == 1
    high_watermark = -1
    durable = 0
    for end_offset in flushed:
        durable = max(durable, end_offset)
        for effect in state.step(Flushed(end_offset)):
            assert isinstance(effect, AdvanceHighWatermark)
            assert effect.high_watermark > high_watermark
            high_watermark = effect.high_watermark
        assert state.high_watermark == high_watermark <= durable
        assert (high_watermark >= 0) == (durable > start.log_end_offset)
