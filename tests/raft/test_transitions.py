"""The table of transitions: every row has an event that causes it, and nothing else happens."""

import re
from pathlib import Path
from random import Random

import pytest

from gralha.raft.context import QuorumSafetyError
from gralha.raft.events import (
    Answered,
    BeginEpochRequest,
    FetchRequest,
    FetchResponse,
    Flushed,
    RemoveVoter,
    Requested,
    ShuttingDown,
    SnapshotFetched,
    Started,
    Tick,
    VoteRequest,
    VoteResponse,
)
from gralha.raft.leader import Leader
from gralha.raft.log_shape import LogShape
from gralha.raft.quorum_state import ElectionState
from gralha.raft.role import Role
from gralha.raft.snapshots import SnapshotId
from gralha.raft.state import RaftState
from gralha.raft.timeouts import Timeouts
from gralha.raft.transitions import TRANSITIONS, Transitions, Why
from gralha.raft.voters import ReplicaKey, Voter, VoterHistory, VoterSet

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "ARCHITECTURE.md"
ROWS = [(role, why, to) for role, row in TRANSITIONS.items() for why, to in row.items()]
EPOCH = 4


def key(node_id):
    return ReplicaKey(node_id, bytes([node_id]) * 16)


def voters(*node_ids):
    return VoterSet.of(Voter(key(one)) for one in node_ids)


class Node:
    """Node 1 of voters 1, 2 and 3, whose log ends in epoch 4, and the changes of its role."""

    def __init__(self, monkeypatch):
        self.state = RaftState(key(1), Timeouts(), Random(1))
        self.now_ms = 0
        self.changes: list[tuple[Role, Why, Role]] = []
        become = Transitions._become

        def note(transitions, why, new):
            before = transitions.current.role
            become(transitions, why, new)
            self.changes.append((before, why, new.role))

        monkeypatch.setattr(Transitions, "_become", note)

    def start(self, *, node_ids=(1, 2, 3), led=False):
        election = ElectionState(EPOCH, leader_id=1 if led else -1)
        history = VoterHistory(VoterSet(), [(0, voters(*node_ids))])
        self.step(Started(election, LogShape(9, [(EPOCH, 0)]), history))

    def step(self, event):
        return self.state.step(event, self.now_ms)

    def request(self, request):
        return self.step(Requested(1, request))

    def wait(self):
        """Until a deadline has passed."""
        changes = len(self.changes)
        while len(self.changes) == changes:
            self.now_ms = max(self.state.wake_at_ms, self.now_ms) + 1
            assert self.now_ms < 10_000
            self.step(Tick())

    def vote(self, *, pre_vote, granted):
        """Both voters answer; after the first vote the second may come too late."""
        for voter in (2, 3):
            log = self.state.log
            request = VoteRequest(
                self.state.epoch, key(1), key(voter), log.last_epoch, log.end_offset, pre_vote
            )
            response = VoteResponse(0, -1, self.state.epoch, True) if granted else None
            self.step(Answered(voter, request, response))

    def hear_leader(self, *, epoch=None):
        self.request(BeginEpochRequest(epoch or self.state.epoch, 2, key(1)))

    def fetch_from_all(self, offset):
        for voter in (2, 3):
            self.request(FetchRequest(self.state.epoch, key(voter), offset, self.state.epoch, 0, 500))

    def become(self, role):
        match role:
            case Role.UNATTACHED:
                self.start()
            case Role.FOLLOWER:
                self.start()
                self.hear_leader()
            case Role.PROSPECTIVE:
                self.start()
                self.wait()
            case Role.CANDIDATE:
                self.become(Role.PROSPECTIVE)
                self.vote(pre_vote=True, granted=True)
            case Role.LEADER:
                self.become(Role.CANDIDATE)
                self.vote(pre_vote=False, granted=True)
            case Role.RESIGNED:
                self.start(led=True)
        assert self.state.role is role


def start_anew(node, role):
    """Only a node that starts leaves the first Unattached for these reasons."""
    assert role is Role.UNATTACHED
    node.start()


def start_after_leading(node, role):
    assert role is Role.UNATTACHED
    node.start(led=True)


def start_alone(node, role):
    node.start(node_ids=(1,), led=role is Role.RESIGNED)


def miss_the_leader(node, role):
    node.become(role)
    node.wait()


def win_the_pre_vote(node, role):
    node.become(role)
    node.vote(pre_vote=True, granted=True)


def win_the_election(node, role):
    node.become(role)
    node.vote(pre_vote=False, granted=True)


def lose(node, role):
    node.become(role)
    node.vote(pre_vote=role is Role.PROSPECTIVE, granted=False)


def lose_against_a_leader(node, role):
    node.become(Role.FOLLOWER)
    node.wait()
    assert node.state.role is role
    node.vote(pre_vote=True, granted=False)


def stop_being_a_voter(node, role):
    """A snapshot that was asked for before has other voters."""
    node.become(role)
    node.step(SnapshotFetched(SnapshotId(100, node.state.epoch), voters(2, 3)))
    assert node.state.role is role
    node.wait()


def vote_for_another(node, role):
    node.become(role)
    node.request(VoteRequest(EPOCH, key(2), key(1), EPOCH, 9, False))


def shut_down(node, role):
    node.become(role)
    node.step(ShuttingDown())


def be_removed(node, role):
    node.become(role)
    node.step(Flushed(10))
    node.fetch_from_all(10)
    node.request(RemoveVoter(key(1), 1000))
    node.fetch_from_all(11)


def hear_of_the_leader(node, role):
    node.become(role)
    node.hear_leader()


def hear_of_a_newer_epoch(node, role):
    node.become(role)
    node.request(VoteRequest(99, key(2), key(1), 0, 0, False))


def hear_of_a_newer_leader(node, role):
    node.become(role)
    node.hear_leader(epoch=99)


CAUSES = {
    Why.STARTED: start_anew,
    Why.LED_BEFORE: start_after_leading,
    Why.ONLY_VOTER: start_alone,
    Why.NO_LEADER: miss_the_leader,
    Why.PRE_VOTE_WON: win_the_pre_vote,
    Why.ELECTION_WON: win_the_election,
    Why.NOT_ELECTED: lose,
    Why.NOT_NEEDED: lose_against_a_leader,
    Why.MAY_NOT_STAND: stop_being_a_voter,
    Why.VOTED: vote_for_another,
    Why.QUORUM_LOST: miss_the_leader,
    Why.SHUTTING_DOWN: shut_down,
    Why.REMOVED: be_removed,
    Why.RESIGNATION_OVER: miss_the_leader,
    Why.LEADER_FOUND: hear_of_the_leader,
    Why.NEWER_EPOCH: hear_of_a_newer_epoch,
    Why.NEWER_LEADER: hear_of_a_newer_leader,
}


@pytest.mark.parametrize(("role", "why", "to"), ROWS)
def test_every_row_has_an_event_that_causes_it(role, why, to, monkeypatch):
    node = Node(monkeypatch)
    CAUSES[why](node, role)
    assert (role, why, to) in node.changes
    if why is not Why.ONLY_VOTER:
        assert node.changes[-1] == (role, why, to)
        assert node.state.role is to


def test_a_node_that_fetches_from_a_leader_follows_it(monkeypatch):
    """The answers of other nodes name leaders, too."""
    node = Node(monkeypatch)
    node.start()
    request = FetchRequest(EPOCH, key(1), 9, EPOCH, 0, 0)
    node.step(Answered(2, request, FetchResponse(0, 2, EPOCH, 0)))
    assert node.changes[-1] == (Role.UNATTACHED, Why.LEADER_FOUND, Role.FOLLOWER)


def test_what_the_table_does_not_have_raises(monkeypatch):
    node = Node(monkeypatch)
    node.become(Role.RESIGNED)
    transitions = node.state._transitions
    with pytest.raises(QuorumSafetyError, match="resigned must not become leader"):
        transitions.election_won(())
    with pytest.raises(QuorumSafetyError, match="resigned must not become follower"):
        transitions.leader_found(2)


def test_a_row_leads_to_one_role_only(monkeypatch):
    """The reason of a row with another role is refused as well."""
    node = Node(monkeypatch)
    node.become(Role.CANDIDATE)
    context = node.state._context
    with pytest.raises(QuorumSafetyError):
        node.state._transitions._become(Why.NOT_ELECTED, Leader(context, node.state._transitions, ()))


def test_the_page_has_the_same_table():
    text = ARCHITECTURE.read_text().split("## How the quorum works")[1].split("\n## ")[0]
    found = set()
    for roles, why, to in re.findall(r"^\| ([\w, ]+) \| `(\w+)`: [^|]+ \| (\w+) \|$", text, re.MULTILINE):
        names = [role.name for role in Role] if roles == "any" else roles.upper().split(", ")
        found |= {(Role[name], Why[why], Role[to.upper()]) for name in names}
    assert found == set(ROWS)
