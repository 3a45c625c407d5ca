"""Many of the quorum's state machines on an imaginary network with imaginary disks, all from one seed.

What can go wrong here: messages are lost, doubled, late and out of order; links are cut one way or both;
nodes crash, also between two effects, and lose what they had not synced; nodes are paused, one or all of
them, and find all messages when they go on; clocks run at different speeds; voters come and go; snapshots
take the beginning of logs away. After every step the promises are checked.
"""

import heapq
from random import Random

from gralha.raft.events import (
    AddVoter,
    AdvanceHighWatermark,
    Answered,
    Appended,
    AppendFetched,
    AppendLeaderChange,
    AppendVoters,
    BatchShape,
    FetchSnapshot,
    Flushed,
    InstallSnapshot,
    LogForgotten,
    PeerLost,
    ProbeVoter,
    RemoveVoter,
    Reply,
    ReplyRecords,
    Request,
    Requested,
    SaveElection,
    Send,
    SnapshotFetched,
    Started,
    Tick,
    Truncate,
    UpgradeVoters,
    VoteResponse,
    VoterProbed,
)
from gralha.raft.log_shape import LogShape
from gralha.raft.quorum_state import ElectionState
from gralha.raft.snapshots import SnapshotId
from gralha.raft.state import RaftState
from gralha.raft.timeouts import NEVER, Timeouts
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterHistory, VoterSet

TIMEOUTS = Timeouts()


class BrokenPromiseError(Exception):
    """An invariant does not hold."""


def require(condition, text):
    if not condition:
        raise BrokenPromiseError(text)


def key(node_id):
    return ReplicaKey(node_id, bytes([node_id + 1]) * 16)


class Record:
    """The record at an offset: its epoch, and a unique value."""

    def __init__(self, epoch, value, voters=None):
        self.epoch, self.value, self.voters = epoch, value, voters

    def __eq__(self, other):
        return (self.epoch, self.value) == (other.epoch, other.value)

    def __repr__(self):
        return f"{self.value}@{self.epoch}"


class SimulatedDisk:
    """The disk of a node: its election, its log from `start` on, and how much of the log is synced."""

    def __init__(self, voters):
        self.election = None
        self.start = self.newest = SnapshotId(0, 0)
        self.first_voters = voters
        self.snapshot_voters = {}
        self.records = []
        self.synced = 0

    @property
    def end_offset(self):
        return self.start.end_offset + len(self.records)

    def record(self, offset):
        return self.records[offset - self.start.end_offset]

    def read(self, offset, end_offset):
        return self.records[offset - self.start.end_offset : end_offset - self.start.end_offset]

    def truncate(self, offset):
        del self.records[offset - self.start.end_offset :]
        self.synced = min(self.synced, offset)

    def holds(self, offset, record):
        """Whether the device has this record, or a snapshot that contains it."""
        if offset < self.start.end_offset:
            return True
        return offset < self.synced and self.record(offset) == record

    def shape(self):
        epochs: list[tuple[int, int]] = []
        for number, record in enumerate(self.records):
            if not epochs or epochs[-1][0] != record.epoch:
                epochs.append((record.epoch, self.start.end_offset + number))
        return LogShape(self.end_offset, epochs, self.start, self.newest)

    def history(self, static):
        entries = [] if self.first_voters is None else [(-1, self.first_voters)]
        if self.start in self.snapshot_voters:
            voters = self.snapshot_voters[self.start]
            entries = [] if voters is None else [(self.start.end_offset - 1, voters)]
        for number, record in enumerate(self.records):
            if record.voters is not None:
                entries.append((self.start.end_offset + number, record.voters))
        return VoterHistory(static, entries)


class SimulatedNode:
    """A machine, while it is up, and its disk."""

    def __init__(self, simulation, node_id, voters, *, static, bootstrap, can_vote):
        self.simulation, self.id = simulation, node_id
        self.static = voters if static else VoterSet()
        self.disk = SimulatedDisk(voters if not static and voters.find(node_id) else None)
        self.bootstrap, self.can_vote = bootstrap, can_vote
        self.state: RaftState | None = None
        self.incarnation = 0
        self.clock_rate = simulation.random.uniform(0.9, 1.1)
        self.high_watermark = -1
        self.votes = {}
        self.epoch = 0
        self.resumes_at_ms = 0
        self.held = []

    @property
    def up_state(self) -> RaftState:
        """The state of a node that is up."""
        assert self.state is not None
        return self.state

    def now_ms(self):
        return int(1000 + self.simulation.now_ms * self.clock_rate)

    def start(self):
        simulation = self.simulation
        self.incarnation += 1
        self.high_watermark = -1
        self.disk.synced = self.disk.end_offset
        self.state = RaftState(
            key(self.id),
            TIMEOUTS,
            Random(simulation.random.random()),
            bootstrap=self.bootstrap,
            can_vote=self.can_vote,
        )
        self.step(Started(self.disk.election, self.disk.shape(), self.disk.history(self.static)))

    def crash(self):
        """Loses some of what is not synced."""
        disk = self.disk
        self.state = None
        self.resumes_at_ms = 0
        self.held = []
        disk.truncate(self.simulation.random.randint(disk.synced, disk.end_offset))

    def later(self, delay_ms, action):
        """Does something, unless the node has crashed meanwhile."""
        incarnation = self.incarnation

        def act():
            if self.state is not None and self.incarnation == incarnation:
                action()

        self.simulation.at(delay_ms, act)

    @property
    def is_paused(self):
        return self.simulation.now_ms < self.resumes_at_ms

    def pause(self, pause_ms):
        """No instruction runs for a while; events wait in sockets, and timers are late."""
        if self.state is not None:
            self.resumes_at_ms = self.simulation.now_ms + pause_ms
            self.later(pause_ms, self.resume)

    def resume(self):
        if self.is_paused:
            return
        held, self.held = self.held, []
        # An event loop looks at its timers before or after its sockets.
        held.insert(self.simulation.random.choice([0, len(held)]), Tick())
        for event in held:
            self.step(event)

    def step(self, event):
        if self.state is None:
            return
        if self.is_paused:
            self.held.append(event)
            return
        effects = self.state.step(event, self.now_ms())
        for effect in effects:
            if self.simulation.should_crash():
                self.crash()
                return
            self.carry_out(effect)
        self.simulation.check_node(self)
        if self.state.wake_at_ms < NEVER:
            delay_ms = (self.state.wake_at_ms - self.now_ms()) / self.clock_rate
            self.later(max(delay_ms, 0) + 1, self.wake)

    def wake(self):
        if self.up_state.wake_at_ms <= self.now_ms() and not self.is_paused:
            self.step(Tick())

    def carry_out(self, effect):
        simulation, disk = self.simulation, self.disk
        match effect:
            case SaveElection(election):
                simulation.check_election(self, election)
                disk.election = election
            case AppendLeaderChange(epoch, leader_id, voters, _, record_voters):
                records = [Record(epoch, f"leader {leader_id}")]
                if record_voters:
                    records += [Record(epoch, "kraft.version"), Record(epoch, f"{voters.ids}", voters)]
                self.write(records)
            case AppendVoters(epoch, voters, is_first):
                first = [Record(epoch, "kraft.version")] if is_first else []
                self.write([*first, Record(epoch, f"voters {voters.ids}", voters)])
            case AppendFetched(records, _):
                self.write(records)
            case Truncate(offset):
                disk.truncate(offset)
            case InstallSnapshot(snapshot):
                disk.start = disk.newest = snapshot
                disk.records = []
                disk.synced = snapshot.end_offset
            case AdvanceHighWatermark(offset):
                simulation.check_commit(self, offset)
                self.high_watermark = offset
            case FetchSnapshot(node_id, _, snapshot):
                simulation.fetch_snapshot(self, node_id, snapshot)
            case Send(node_id, request):
                simulation.send(self, node_id, request)
            case ProbeVoter():
                simulation.probe(self, effect)
            case Reply(token, response):
                if isinstance(response, VoteResponse) and response.granted:
                    simulation.check_vote(self, token)
                simulation.reply(self, token, response)
            case ReplyRecords(token, offset, response):
                end = min(disk.end_offset, offset + 5)
                simulation.reply(self, token, with_records(response, offset, disk.read(offset, end)))

    def write(self, records):
        for record in records:
            self.simulation.check_record(self.disk.end_offset, record)
            self.disk.records.append(record)
        self.later(self.simulation.random.expovariate(1 / 5), self.sync)

    def sync(self):
        self.disk.synced = self.disk.end_offset
        self.step(Flushed(self.disk.end_offset))

    def append(self, value):
        """Append a record, as a client of the leader asks."""
        self.write([Record(self.up_state.epoch, value)])
        self.step(Appended(self.disk.end_offset))
        self.step(Tick())

    def take_snapshot(self):
        """At the high watermark; the log before an earlier or this one goes."""
        disk, end = self.disk, self.high_watermark
        if end <= disk.newest.end_offset or end > disk.synced:
            return
        disk.newest = SnapshotId(end, disk.record(end - 1).epoch)
        disk.snapshot_voters[disk.newest] = self.history_at(end)
        disk.records = disk.records[end - disk.start.end_offset :]
        disk.start = disk.newest
        self.step(LogForgotten(disk.start, disk.newest))

    def history_at(self, end):
        history = self.disk.history(self.static)
        return history.at(end) if history.is_dynamic else None


def with_records(response, offset, records):
    batches = tuple(
        BatchShape(offset + number, offset + number + 1, record.epoch, record.voters)
        for number, record in enumerate(records)
    )
    return response._replace(batches=batches, records=records)


class Simulation:
    """Voters 0..n-1, then observers that may become voters, then one that never votes."""

    def __init__(self, seed, voters=3, observers=0, *, static=False, faults=True, changes=0.1):
        self.changes = changes
        self.random = Random(seed)
        self.now_ms = 0.0
        self.queue = []
        self.sequence = 0
        self.faults = faults
        self.cut = set()
        self.loss = self.random.choice([0, 0, 0.02, 0.1]) if faults else 0
        self.delay_ms = self.random.choice([1, 5, 50])
        self.crash_chance = self.random.choice([0, 0.0005, 0.003]) if faults else 0
        self.waiting = {}
        self.tokens = 0
        self.values = 0
        # What must never change.
        self.leaders = {}
        self.checked_epochs = set()
        self.records = {}
        self.committed = {}
        # The epoch whose leader committed each offset.
        self.committed_in = {}
        first = VoterSet.of(
            Voter(ReplicaKey(one) if static else key(one), (VoterEndpoint("CONTROLLER", f"host{one}", 1),))
            for one in range(voters)
        )
        bootstrap = tuple(-2 - one for one in range(voters))
        self.nodes = [
            SimulatedNode(
                self,
                number,
                first,
                static=static,
                bootstrap=() if number < voters else bootstrap,
                can_vote=number < voters + observers,
            )
            for number in range(voters + observers + 1)
        ]

    # Time

    def at(self, delay_ms, action):
        self.sequence += 1
        heapq.heappush(self.queue, (self.now_ms + delay_ms, self.sequence, action))

    def run_until(self, time_ms):
        while self.queue and self.queue[0][0] <= time_ms:
            self.now_ms, _, action = heapq.heappop(self.queue)
            action()
        self.now_ms = time_ms

    def should_crash(self):
        return self.crash_chance > 0 and self.random.random() < self.crash_chance

    # Network

    def travel(self, source, target, action):
        """A message: perhaps lost, perhaps doubled, each copy after its own time."""
        if (source, target) in self.cut or self.random.random() < self.loss:
            return
        for _ in range(2 if self.random.random() < self.loss else 1):
            self.at(self.random.expovariate(1 / self.delay_ms), action)

    def send(self, node, target_id, request):
        target = self.nodes[target_id if target_id >= 0 else -2 - target_id]
        asked = self.waiting[node.id, node.incarnation, self.sequence, request] = [False]

        def answer(response):
            if not asked[0]:
                asked[0] = True
                node.step(Answered(target_id, request, response))

        node_alive = node.incarnation
        node.later(TIMEOUTS.request_ms, lambda: answer(None))

        def arrive():
            if target.state is None:
                return
            self.tokens += 1
            self.waiting[self.tokens] = (
                request,
                lambda response: self.travel(
                    target.id,
                    node.id,
                    lambda: (
                        answer(response)
                        if node.state is not None and node.incarnation == node_alive
                        else None
                    ),
                ),
            )
            target.step(Requested(self.tokens, request))

        self.travel(node.id, target.id, arrive)

    def reply(self, node, token, response):
        _, deliver = self.waiting.pop(token)
        deliver(response)

    def fetch_snapshot(self, node, target_id, snapshot):
        target = self.nodes[target_id]
        reachable = (node.id, target.id) not in self.cut and (target.id, node.id) not in self.cut

        def done():
            there = reachable and target.state is not None and snapshot in target.disk.snapshot_voters
            voters = target.disk.snapshot_voters[snapshot] if there else None
            if there:
                node.disk.snapshot_voters[snapshot] = voters
            node.step(SnapshotFetched(snapshot if there else None, voters))

        node.later(self.random.expovariate(1 / 50), done)

    def probe(self, node, effect):
        target = self.nodes[effect.request.voter.key.id]
        reachable = (node.id, target.id) not in self.cut and (target.id, node.id) not in self.cut

        def done():
            there = reachable and target.state is not None
            node.step(VoterProbed(effect, (0, 1) if there else None))

        node.later(self.random.expovariate(1 / 50), done)

    # Trouble

    def live(self, duration_ms):
        """Starts all, then lets things happen for a while."""
        for node in self.nodes:
            self.at(self.random.uniform(0, 300), node.start)
        end_ms = self.now_ms + duration_ms
        self.run_until(self.now_ms + 301)
        while self.now_ms < end_ms:
            self.run_until(self.now_ms + self.random.expovariate(1 / 60))
            self.one_thing()

    def one_thing(self):
        if self.random.random() < self.changes:
            self.change_voters()
        chance = self.random.random()
        if chance < 0.7:
            self.client_append()
        elif chance < 0.75:
            self.snapshot()
        elif self.faults:
            self.one_fault()

    def one_fault(self):
        node, other = self.random.choice(self.nodes), self.random.choice(self.nodes)
        match self.random.randrange(8):
            case 0 if node.state is not None:
                node.crash()
                for one in self.nodes:
                    one.step(PeerLost(node.id))
            case 1 if self.random.random() < 0.3:
                for one in self.nodes:
                    if one.state is not None and self.random.random() < 0.8:
                        one.crash()
            case 2:
                self.cut.add((node.id, other.id))
            case 3:
                group = {one.id for one in self.nodes if self.random.random() < 0.5}
                ids = range(len(self.nodes))
                self.cut = {(a, b) for a in ids for b in ids if (a in group) != (b in group)}
            case 4:
                self.cut.clear()
            case 5:
                node.pause(self.random.expovariate(1 / 3000))
            case 6 if self.random.random() < 0.3:
                self.pause_all(self.random.expovariate(1 / 3000))
            case _:
                self.restart_some()

    def pause_all(self, pause_ms):
        for node in self.nodes:
            node.pause(pause_ms)

    def restart_some(self):
        for node in self.nodes:
            if node.state is None and self.random.random() < 0.5:
                node.start()

    def leading(self):
        """The running nodes that believe that they lead."""
        up = [node for node in self.nodes if node.state is not None and not node.is_paused]
        return [node for node in up if node.up_state.is_leader]

    def client_append(self):
        for node in self.leading():
            self.values += 1
            node.append(self.values)

    def change_voters(self):
        for node in self.leading():
            voters = node.state.voters.latest
            target = self.random.choice(self.nodes)
            if not target.can_vote:
                continue
            self.tokens += 1
            self.waiting[self.tokens] = (None, lambda response: None)
            request: Request
            if not node.state.voters.is_dynamic:
                request = UpgradeVoters(1000)
            elif voters.find(target.id) is None:
                endpoints = (VoterEndpoint("CONTROLLER", f"host{target.id}", 9093),)
                request = AddVoter(Voter(key(target.id), endpoints), 1000)
            else:
                request = RemoveVoter(key(target.id), 1000)
            node.step(Requested(self.tokens, request))

    def snapshot(self):
        node = self.random.choice(self.nodes)
        if node.state is not None and not node.is_paused:
            node.take_snapshot()

    def heal(self):
        """End all faults."""
        self.cut.clear()
        self.loss, self.crash_chance, self.faults = 0, 0, False
        self.delay_ms = 5
        for node in self.nodes:
            node.resumes_at_ms = 0
            if node.state is None:
                node.start()
            else:
                node.resume()

    def settle(self):
        """After healing: a leader, a commit, and everybody has everything, in a bounded time."""
        self.heal()
        self.run_until(self.now_ms + 20_000)
        require(len(self.leading()) == 1, f"{len(self.leading())} leaders long after the network healed")
        self.client_append()
        self.run_until(self.now_ms + 3_000)
        (leader,) = self.leading()
        end = leader.disk.end_offset
        require(leader.disk.record(end - 1).value == self.values, "another leader, without any reason")
        for node in self.nodes:
            state = f"node {node.id} is at {node.high_watermark} of {end} as {node.up_state.role}"
            require(node.high_watermark == end == node.disk.end_offset, state)

    # Promises

    def check_node(self, node):
        state = node.state
        require(state.epoch >= node.epoch, f"the epoch of node {node.id} goes back")
        node.epoch = state.epoch
        require(state.log.end_offset == node.disk.end_offset, "the machine has lost track of its log")
        require(state.high_watermark <= node.disk.end_offset, "committed what it does not have")
        if state.is_leader:
            leader = self.leaders.setdefault(state.epoch, node.id)
            require(leader == node.id, f"nodes {leader} and {node.id} both lead epoch {state.epoch}")
            if state.epoch not in self.checked_epochs:
                self.checked_epochs.add(state.epoch)
                self.check_complete(node)

    def check_complete(self, leader):
        """A leader has everything that was committed in earlier epochs.

        A candidate that was paused with votes in its sockets may become the leader of an epoch that is over.
        """
        for offset, record in self.committed.items():
            is_older = self.committed_in[offset] < leader.state.epoch
            if is_older and offset >= leader.disk.start.end_offset:
                require(offset < leader.disk.end_offset, f"leader {leader.id} lacks committed {record}")
                found = leader.disk.record(offset)
                require(found == record, f"leader {leader.id} has {found} in place of {record}")

    def check_election(self, node, election):
        saved = node.disk.election or ElectionState(0)
        require(election.epoch >= saved.epoch, f"the epoch of node {node.id} goes back")
        if election.voted_id >= 0:
            vote = node.votes.setdefault(election.epoch, election.voted_id)
            require(vote == election.voted_id, f"node {node.id} votes twice in epoch {election.epoch}")

    def check_vote(self, node, token):
        request = self.waiting[token][0]
        if not request.pre_vote:
            saved = node.disk.election or ElectionState(0)
            require(
                (saved.epoch, saved.voted_id) == (request.epoch, request.candidate.id),
                f"node {node.id} gives a vote that it has not saved",
            )

    def check_record(self, offset, record):
        known = self.records.setdefault((record.epoch, offset), record)
        require(known == record, f"epoch {record.epoch} has {known} and {record} at {offset}")

    def check_commit(self, node, high_watermark):
        require(high_watermark > node.high_watermark, f"the high watermark of node {node.id} goes back")
        first = max(node.high_watermark, node.disk.start.end_offset, 0)
        for offset in range(first, high_watermark):
            record = node.disk.record(offset)
            known = self.committed.setdefault(offset, record)
            self.committed_in.setdefault(offset, node.state.epoch)
            require(known == record, f"node {node.id} has {record} in place of committed {known}")
        if node.state.is_leader:
            self.check_majority(node, high_watermark)

    def check_majority(self, leader, high_watermark):
        offset = high_watermark - 1
        record = leader.disk.record(offset)
        voters = leader.state.voters.latest
        holders = [one for one in voters.ids if self.nodes[one].disk.holds(offset, record)]
        require(record.epoch == leader.state.epoch, f"{record} is committed by counting alone")
        require(len(holders) >= voters.majority, f"{record} is committed, but only {holders} have it")


def simulate(seed, voters=3, observers=0, *, duration_ms=20_000, **options):
    """Make a whole run. Raises an error if a promise is broken."""
    simulation = Simulation(seed, voters, observers, **options)
    simulation.live(duration_ms)
    simulation.settle()
    return simulation
