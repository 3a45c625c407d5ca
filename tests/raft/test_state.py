"""The quorum's state machine, step by step. What must hold under every fault is in test_quorum_model.py."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gralha.protocol.errors import ErrorCode
from gralha.raft.events import (
    AddVoter,
    AdvanceHighWatermark,
    Answered,
    AppendFetched,
    AppendLeaderChange,
    AppendVoters,
    BatchShape,
    BeginEpochRequest,
    EndEpochRequest,
    FetchRequest,
    FetchResponse,
    Flushed,
    PeerLost,
    ProbeVoter,
    RemoveVoter,
    Reply,
    ReplyRecords,
    Request,
    Requested,
    SaveElection,
    Send,
    ShuttingDown,
    Started,
    Tick,
    UpdateVoter,
    VoteRequest,
    VoteResponse,
    VoterProbed,
    VoterResponse,
)
from gralha.raft.log_shape import LogShape
from gralha.raft.quorum_state import ElectionState
from gralha.raft.role import Role
from gralha.raft.state import RaftState
from gralha.raft.timeouts import Timeouts
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterHistory, VoterSet

DISK = b"d" * 16
ONE = ReplicaKey(1, DISK)


def key(node_id):
    return ReplicaKey(node_id, DISK)


def node(voters=(1,), election=None, end_offset=0, last_epoch=0, *, dynamic=False, **options):
    """A node that has just started, and its effects."""
    state = RaftState(ONE, Timeouts(), Random(1), **options)
    voter_set = VoterSet.of(Voter(key(one) if dynamic else ReplicaKey(one)) for one in voters)
    history = VoterHistory(VoterSet(), [(-1, voter_set)]) if dynamic else VoterHistory(voter_set)
    shape = LogShape(end_offset, [(last_epoch, 0)] if end_offset else [])
    return state, state.step(Started(election, shape, history), 0)


def sends(effects, kind):
    return [(effect.node_id, effect.request) for effect in effects if sent(effect, kind)]


def sent(effect, kind):
    return isinstance(effect, Send) and isinstance(effect.request, kind)


def replies(effects):
    return [effect.response for effect in effects if isinstance(effect, Reply)]


def role_of(state: RaftState) -> Role:
    """The role now, also if a test has seen another one before."""
    return state.role


def vote(state, node_id, *, pre_vote, granted=True):
    """The answer of a voter to what this node asks now."""
    request = VoteRequest(
        state.epoch, ONE, ReplicaKey(node_id), state.log.last_epoch, state.log.end_offset, pre_vote
    )
    return Answered(node_id, request, VoteResponse(0, -1, state.epoch, granted))


def leader(voters=(1, 2, 3), **options):
    """A node that has been elected."""
    state, _ = node(voters, **options)
    state.step(Tick(), 300)
    assert state.role is Role.PROSPECTIVE
    state.step(vote(state, 2, pre_vote=True), 300)
    assert role_of(state) is Role.CANDIDATE
    effects = state.step(vote(state, 2, pre_vote=False), 300)
    assert state.is_leader
    return state, effects


def fetch(state, node_id, offset, last_epoch=None, *, epoch=None, high_watermark=0, token=7, now_ms=301):
    epoch = state.epoch if epoch is None else epoch
    last_epoch = state.log.last_epoch if last_epoch is None else last_epoch
    request = FetchRequest(epoch, key(node_id), offset, last_epoch, high_watermark, 500)
    return state.step(Requested(token, request), now_ms)


def run(state, from_ms, to_ms):
    """Lets time pass: a process that runs steps the machine when it asks for it. Returns all effects."""
    now_ms, effects = from_ms, []
    while now_ms < to_ms:
        now_ms = min(max(state.wake_at_ms, now_ms) + 1, to_ms)
        effects += state.step(Tick(), now_ms)
    return effects


# A quorum of one


def test_a_single_voter_leads_at_once_in_a_new_epoch():
    state, effects = node()
    voters = VoterSet.of([Voter(ReplicaKey(1))])
    assert effects == [SaveElection(ElectionState(1, 1)), AppendLeaderChange(1, 1, voters, (1,))]
    assert state.role is Role.LEADER
    assert state.high_watermark == -1


def test_after_a_restart_a_former_leader_wins_its_epoch_anew():
    _, effects = node(election=ElectionState(7, leader_id=1), end_offset=30, last_epoch=7)
    assert effects[0] == SaveElection(ElectionState(8, 1))


def test_the_log_may_know_a_later_epoch_than_the_file():
    _, effects = node(election=ElectionState(3, 1), end_offset=30, last_epoch=9)
    assert effects[0] == SaveElection(ElectionState(10, 1))


def test_nothing_is_committed_before_the_epochs_own_first_record():
    state, _ = node(election=ElectionState(7, 1), end_offset=30, last_epoch=7)
    assert state.step(Flushed(30), 0) == []
    assert state.step(Flushed(31), 0) == [AdvanceHighWatermark(31)]


@given(
    st.none() | st.builds(ElectionState, st.integers(0, 50), st.sampled_from([-1, 1, 2])),
    st.integers(1, 100),
    st.integers(1, 50),
    st.lists(st.integers(0, 120), max_size=20),
)
def test_epochs_and_the_high_watermark_only_grow(election, end_offset, last_epoch, flushed):
    state, effects = node((1,), election, end_offset, last_epoch)
    assert effects[0].election == (max(last_epoch, election.epoch if election else 0) + 1, 1, -1, bytes(16))
    high_watermark = -1
    for offset in flushed:
        for effect in state.step(Flushed(offset), 0):
            assert isinstance(effect, AdvanceHighWatermark)
            assert high_watermark < effect.high_watermark <= state.log.end_offset
            high_watermark = effect.high_watermark
        assert state.high_watermark == high_watermark
    assert (high_watermark >= 0) == any(offset > end_offset for offset in flushed)


# Elections


def test_after_a_restart_a_former_leader_is_resigned():
    state, effects = node((1, 2, 3), ElectionState(4, leader_id=1), 9, 4)
    assert state.role is Role.RESIGNED
    assert state.leader_id == -1
    assert [target for target, _ in sends(effects, EndEpochRequest)] == [2, 3]
    state.step(Tick(), 300)
    assert (state.role, state.epoch) == (Role.UNATTACHED, 5)


def test_a_candidate_asks_first_without_a_new_epoch():
    state, _ = node((1, 2, 3), ElectionState(4), 9, 4)
    effects = state.step(Tick(), 300)
    assert [(target, request.epoch, request.pre_vote) for target, request in sends(effects, VoteRequest)] == [
        (2, 4, True),
        (3, 4, True),
    ]
    assert not any(isinstance(effect, SaveElection) for effect in effects)
    effects = state.step(vote(state, 3, pre_vote=True), 301)
    assert effects[0] == SaveElection(ElectionState(5, -1, *ONE))
    assert [(target, request.epoch, request.pre_vote) for target, request in sends(effects, VoteRequest)] == [
        (2, 5, False),
        (3, 5, False),
    ]
    effects = state.step(vote(state, 3, pre_vote=False), 302)
    assert effects[0] == SaveElection(ElectionState(5, 1))
    assert isinstance(effects[1], AppendLeaderChange)
    assert effects[1].granting_voters == (1, 3)
    assert [target for target, _ in sends(effects, BeginEpochRequest)] == [2, 3]


def test_who_cannot_win_waits_a_little_and_asks_again():
    state, _ = node((1, 2, 3))
    state.step(Tick(), 300)
    for voter in (2, 3):
        state.step(Answered(voter, vote(state, voter, pre_vote=True).request, None), 300)
    assert state.role is Role.UNATTACHED
    assert 300 < state.wake_at_ms <= 500
    state.step(Tick(), 500)
    assert role_of(state) is Role.PROSPECTIVE


def ask(state, candidate=2, *, epoch, last_epoch=0, end_offset=0, pre_vote=False, now_ms=10):
    request = VoteRequest(epoch, key(candidate), ONE, last_epoch, end_offset, pre_vote)
    return state.step(Requested(1, request), now_ms)


def test_one_vote_per_epoch_saved_before_it_is_given():
    state, _ = node((1, 2, 3))
    effects = ask(state, 2, epoch=5)
    assert effects[0] == SaveElection(ElectionState(5, -1, *key(2)))
    assert replies(effects) == [VoteResponse(0, -1, 5, True)]
    assert replies(ask(state, 3, epoch=5)) == [VoteResponse(0, -1, 5, False)]
    assert replies(ask(state, 2, epoch=5)) == [VoteResponse(0, -1, 5, True)]
    assert replies(ask(state, 3, epoch=4))[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_no_vote_for_a_shorter_log():
    state, _ = node((1, 2, 3), ElectionState(4), 9, 4)
    for last_epoch, end_offset, granted in [(3, 20, False), (4, 8, False), (4, 9, True)]:
        (response,) = replies(
            ask(state, epoch=4, last_epoch=last_epoch, end_offset=end_offset, pre_vote=True)
        )
        assert response.granted is granted


def test_a_vote_for_another_disk_is_none():
    state, _ = node((1, 2, 3))
    request = VoteRequest(5, key(2), ReplicaKey(1, b"x" * 16), 0, 0, False)
    (response,) = replies(state.step(Requested(1, request), 10))
    assert (response.error_code, response.granted) == (ErrorCode.INVALID_VOTER_KEY, False)


def follower(**options):
    """Of node 2 in epoch 3, from which it has fetched."""
    state, _ = node((1, 2, 3), **options)
    effects = state.step(Requested(1, BeginEpochRequest(3, 2, ReplicaKey(1))), 10)
    ((_, request),) = sends(effects, FetchRequest)
    state.step(Answered(2, request, FetchResponse(0, 2, 3, 0)), 20)
    assert state.role is Role.FOLLOWER
    return state


def test_a_follower_that_hears_its_leader_grants_nothing():
    state = follower()
    assert not replies(ask(state, 3, epoch=3, last_epoch=3, end_offset=50, pre_vote=True))[0].granted


def test_a_lost_connection_to_the_leader_makes_a_follower_ask_soon():
    state = follower()
    state.step(PeerLost(3), 30)
    assert replies(ask(state, 3, epoch=3, last_epoch=3, end_offset=50, pre_vote=True))[0].granted is False
    state.step(PeerLost(2), 30)
    assert replies(ask(state, 3, epoch=3, last_epoch=3, end_offset=50, pre_vote=True))[0].granted
    state.step(Tick(), 80)
    assert state.role is Role.PROSPECTIVE


def test_a_follower_without_answers_asks_after_the_fetch_timeout():
    state = follower()
    run(state, 20, 2019)
    assert state.role is Role.FOLLOWER
    run(state, 2019, 2120)
    assert role_of(state) is Role.PROSPECTIVE


def test_a_follower_takes_no_records_of_a_later_epoch_from_its_leader():
    """The leader has lost its epoch while it was reading."""
    state = follower()
    request = FetchRequest(3, ONE, state.log.end_offset, state.log.last_epoch, 0, 500)
    end_offset = state.log.end_offset
    for epoch, appended in ((4, 0), (3, 1)):
        batches = (BatchShape(end_offset, end_offset + 1, epoch),)
        response = FetchResponse(0, 2, 3, 0, batches=batches, records="records")
        effects = state.step(Answered(2, request, response), 30)
        assert sum(isinstance(effect, AppendFetched) for effect in effects) == appended
    assert (state.log.end_offset, state.log.last_epoch) == (end_offset + 1, 3)


def test_the_best_successor_of_a_resigned_leader_stands_at_once():
    state = follower()
    effects = state.step(Requested(2, EndEpochRequest(3, 2, (key(1), key(3)))), 30)
    assert state.role is Role.PROSPECTIVE
    assert replies(effects)[0].error_code == 0
    state = follower()
    state.step(Requested(2, EndEpochRequest(3, 2, (key(3), key(1)))), 30)
    assert state.role is Role.FOLLOWER
    assert state.wake_at_ms <= 130


def test_an_observer_never_stands():
    state, effects = node((2, 3), bootstrap=(-2,), can_vote=False)
    assert [target for target, _ in sends(effects, FetchRequest)] == [-2]
    for now_ms in range(0, 20_000, 500):
        state.step(Tick(), now_ms)
        assert state.role is Role.UNATTACHED


# Leading


def test_a_majority_with_the_record_on_disk_commits_it():
    state, _ = leader()
    assert state.step(Flushed(1), 300) == []
    effects = fetch(state, 2, 1)
    assert AdvanceHighWatermark(1) in effects
    assert [effect.offset for effect in effects if isinstance(effect, ReplyRecords)] == [1]
    assert fetch(state, 3, 1, high_watermark=1, token=8) == []
    (waiting,) = state.leadership.parked
    assert waiting.token == 8


def test_a_fetch_waits_no_longer_than_it_asked_for():
    state, _ = leader()
    assert fetch(state, 2, 1) == []
    (effect,) = state.step(Tick(), 801)
    assert isinstance(effect, ReplyRecords)


def test_a_diverging_log_is_sent_back_and_does_not_count():
    state, _ = leader(election=ElectionState(4), end_offset=9, last_epoch=4)
    state.step(Flushed(10), 300)
    effects = fetch(state, 2, 20, 3)
    (response,) = replies(effects)
    assert response.diverging is not None
    assert not any(isinstance(effect, AdvanceHighWatermark) for effect in effects)


def test_a_leader_without_a_majority_of_fetches_resigns_and_tells():
    state, _ = leader()
    run(state, 300, 1300)
    fetch(state, 2, 1, now_ms=1300)
    run(state, 1300, 4299)
    assert state.is_leader
    effects = state.step(Tick(), 4300)
    assert state.role is Role.RESIGNED
    assert [target for target, _ in sends(effects, EndEpochRequest)] == [2, 3]


def test_a_leader_that_shuts_down_names_who_has_most():
    state, _ = leader()
    fetch(state, 3, 1)
    effects = state.step(ShuttingDown(), 400)
    (_, request), _ = sends(effects, EndEpochRequest)
    assert [successor.id for successor in request.successors] == [3, 2]
    assert replies(effects)[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_newer_epoch_ends_a_leadership():
    state, _ = leader()
    ask(state, 2, epoch=9, last_epoch=9, end_offset=50, now_ms=301)
    assert not state.is_leader
    assert state.epoch == 9


# Voters


def changing_leader(voters=(1, 2, 3)):
    """A leader of a dynamic quorum that has committed its voters; 4 fetches as an observer."""
    state, effects = leader(voters, dynamic=True, listener_name="CONTROLLER")
    change = next(effect for effect in effects if isinstance(effect, AppendLeaderChange))
    assert change.record_voters
    state.step(Flushed(3), 300)
    for voter in voters[1:]:
        fetch(state, voter, 3)
    fetch(state, 4, 3, high_watermark=3)
    assert state.high_watermark == 3
    return state


def newcomer(node_id, listener="CONTROLLER"):
    return Voter(key(node_id), (VoterEndpoint(listener, f"host{node_id}", 9093),))


def add(state, node_id, *, levels=(0, 1), token=20, now_ms):
    """The effects of a new voter that answered, or did not."""
    request = AddVoter(newcomer(node_id), 1000)
    effects = state.step(Requested(token, request), now_ms)
    probe = ProbeVoter(token, request, request.voter.endpoints[0])
    assert effects == [probe], "it has to answer first"
    return state.step(VoterProbed(probe, levels), now_ms)


def test_a_voter_is_added_when_a_majority_of_the_new_set_has_the_record():
    state = changing_leader()
    assert AppendVoters(1, state.voters.latest.adding(newcomer(4))) in add(state, 4, now_ms=310)
    assert state.voters.latest.ids == (1, 2, 3, 4)
    (refused,) = replies(state.step(Requested(21, RemoveVoter(key(2), 1000)), 311))
    assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
    state.step(Flushed(4), 312)
    fetch(state, 2, 4, now_ms=313)
    assert state.high_watermark == 3
    effects = fetch(state, 4, 4, now_ms=314)
    assert AdvanceHighWatermark(4) in effects
    assert Reply(20, VoterResponse(0, 1, 1)) in effects


def test_refused_changes_of_voters():
    state = changing_leader()
    refused: list[tuple[Request, ErrorCode]] = [
        (AddVoter(newcomer(2), 1000), ErrorCode.DUPLICATE_VOTER),
        (AddVoter(newcomer(9), 1000), ErrorCode.REQUEST_TIMED_OUT),
        (AddVoter(Voter(key(4)), 1000), ErrorCode.INVALID_REQUEST),
        (AddVoter(newcomer(4, "CLIENTS"), 1000), ErrorCode.INVALID_REQUEST),
        (AddVoter(newcomer(4)._replace(key=ReplicaKey(4)), 1000), ErrorCode.INVALID_REQUEST),
        (RemoveVoter(key(9), 1000), ErrorCode.VOTER_NOT_FOUND),
        (RemoveVoter(ReplicaKey(2, b"x" * 16), 1000), ErrorCode.VOTER_NOT_FOUND),
        (RemoveVoter(ReplicaKey(2), 1000), ErrorCode.INVALID_REQUEST),
        (UpdateVoter(0, Voter(key(2)), 1000), ErrorCode.FENCED_LEADER_EPOCH),
    ]
    for request, error in refused:
        (response,) = replies(state.step(Requested(30, request), 320))
        assert response.error_code == error
    static, _ = leader()
    (response,) = replies(static.step(Requested(30, RemoveVoter(key(2), 1000)), 320))
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_dead_or_old_node_does_not_become_a_voter():
    state = changing_leader()
    (response,) = replies(add(state, 4, levels=None, now_ms=310))
    assert response.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "host4:9093" in response.message
    (response,) = replies(add(state, 4, levels=(0, 0), now_ms=311))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert state.voters.latest.ids == (1, 2, 3)


def test_a_node_that_fetches_no_longer_does_not_become_a_voter():
    """Somebody answers at its address: that need not be the node."""
    state = changing_leader()
    late_ms = 301 + Timeouts().fetch_ms * 3 // 2
    run(state, 301, 2000)
    fetch(state, 2, 3, now_ms=2000)
    run(state, 2000, late_ms - 1)
    (response,) = replies(state.step(Requested(20, AddVoter(newcomer(4), 1000)), late_ms))
    assert response.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert state.is_leader


def test_of_two_voters_that_are_asked_at_the_same_time_one_is_added():
    state = changing_leader()
    fetch(state, 5, 3, high_watermark=3)
    probes = []
    for number in (4, 5):
        request = AddVoter(newcomer(number), 1000)
        (probe,) = state.step(Requested(number, request), 310)
        probes.append(probe)
    state.step(VoterProbed(probes[0], (0, 1)), 311)
    (response,) = replies(state.step(VoterProbed(probes[1], (0, 1)), 312))
    assert response.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert state.voters.latest.ids == (1, 2, 3, 4)


def test_a_leader_that_is_removed_leads_until_that_is_committed():
    state = changing_leader()
    state.step(Requested(20, RemoveVoter(key(1), 1000)), 310)
    state.step(Flushed(4), 312)
    fetch(state, 2, 4, now_ms=313)
    assert state.is_leader
    effects = fetch(state, 3, 4, now_ms=314)
    assert Reply(20, VoterResponse(0, 1, 1)) in effects
    assert state.role is Role.RESIGNED


def test_a_change_that_takes_too_long_is_answered_and_goes_on():
    state = changing_leader()
    add(state, 4, now_ms=310)
    assert replies(run(state, 310, 1309)) == []
    (response,) = replies(state.step(Tick(), 1310))
    assert response.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert state.voters.latest.ids == (1, 2, 3, 4)


def test_a_voter_tells_where_it_listens():
    here = (VoterEndpoint("CONTROLLER", "here", 9093),)
    state, _ = node((1, 2), dynamic=True, endpoints=here)
    effects = state.step(Requested(1, BeginEpochRequest(3, 2, ONE)), 10)
    ((target, request),) = sends(effects, UpdateVoter)
    assert (target, request.voter) == (2, Voter(ONE, here))
