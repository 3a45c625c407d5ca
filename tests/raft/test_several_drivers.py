"""Several drivers in one loop, on disks and a network in memory, in virtual time."""

import asyncio
from contextlib import suppress
from random import Random
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raft.memory_network import Member, Quorum, directory
from tests.raft.virtual_loop import run_virtual

from gralha.protocol.control_records import KRAFT_VERSION, KRAFT_VOTERS
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
)
from gralha.protocol.messages.raft_records import KRaftVersionRecord
from gralha.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from gralha.protocol.messages.vote import VoteRequest
from gralha.raft.driver import NotLeaderError
from gralha.raft.log import MetadataLogConfig
from gralha.raft.quorum_records import encode_voters
from gralha.raft.quorum_state import QuorumStateError
from gralha.raft.snapshots import SnapshotId, encode_message, write_snapshot
from gralha.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet
from gralha.storage.disk import DiskError

FOLDER = "/d/__cluster_metadata-0"


def virtual(test):
    """Runs a test in virtual time."""

    def run(*args, **kwargs):
        run_virtual(test(*args, **kwargs))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def now():
    return asyncio.get_running_loop().time()


@virtual
async def test_three_nodes_agree():
    async with Quorum() as quorum:
        began = now()
        leader = await quorum.leader()
        assert now() - began < 1
        assert await leader.driver.append(["a", "b"]) == 2
        assert await leader.driver.append(["c"]) == 3
        assert await quorum.agree() == ["a", "b", "c"]
        assert {member.driver.leader_id for member in quorum.up()} == {leader.id}
        assert sum(member.listener.leads for member in quorum.up()) == 1


@virtual
async def test_commits_take_no_longer_than_a_few_messages():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        began = now()
        for number in range(20):
            await leader.driver.append([str(number)])
        assert now() - began < 20 * 0.01


@virtual
async def test_only_the_leader_appends():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        for member in quorum.up():
            if member is not leader:
                with pytest.raises(NotLeaderError):
                    await member.driver.append(["a"])


@virtual
async def test_after_a_kill_another_leads_soon_and_nothing_is_lost():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        leader.kill()
        began = now()
        second = await quorum.leader()
        assert now() - began < 0.5
        await second.driver.append(["b"])
        await leader.start()
        assert await quorum.agree() == ["a", "b"]
        assert not leader.listener.leads


@virtual
async def test_a_leader_that_hangs_is_replaced_after_the_fetch_timeout():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        leader.kill(noticed=False)
        began = now()
        await quorum.leader()
        assert 1.5 < now() - began < 5


@virtual
async def test_a_cut_off_leader_resigns_and_what_it_had_not_committed_goes():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        quorum.network.isolate(leader.id)
        lost = leader.driver.schedule_append(["lost"])
        second = await quorum.leader(apart_from=[leader.id])
        await second.driver.append(["b"])
        while leader.listener.calls[-1] != "resigned":
            await asyncio.sleep(0.1)
        assert not lost.committed.done(), "nobody knows yet"
        quorum.network.heal()
        with pytest.raises(NotLeaderError):
            await lost.committed
        assert await quorum.agree() == ["a", "b"]


@virtual
async def test_what_a_leader_appended_before_it_resigned_may_be_committed_later():
    """Both are alone for a while, and the leader resigns. Its log is longer, so only it can win again."""
    async with Quorum(ids=(1, 2)) as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        for member in quorum.up():
            quorum.network.isolate(member.id)
        append = leader.driver.schedule_append(["b"])
        while leader.listener.leads:
            await asyncio.sleep(0.1)
        assert not append.committed.done()
        quorum.network.heal()
        assert await append.committed == append.next_offset - 1
        assert leader.listener.records == ["a", "b"], "the listener has seen it first"
        assert await quorum.agree() == ["a", "b"]


@virtual
async def test_a_leader_that_closes_hands_over_at_once():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        began = now()
        await leader.close()
        await quorum.leader()
        assert now() - began < 0.3
        await leader.start()
        assert await quorum.agree() == ["a"]


@virtual
async def test_the_whole_quorum_comes_back():
    quorum = Quorum()
    async with quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
    for member in quorum.members.values():
        member.disk = member.disk.crash(Random(1))
    async with quorum:
        began = now()
        leader = await quorum.leader()
        assert now() - began < 2
        await leader.driver.append(["b"])
        assert await quorum.agree() == ["a", "b"]


@virtual
async def test_who_was_left_behind_begins_with_a_snapshot():
    config = MetadataLogConfig(max_record_bytes_between_snapshots=100, max_retention_bytes=1)
    async with Quorum(log_config=config) as quorum:
        leader = await quorum.leader()
        behind = next(member for member in quorum.up() if member is not leader)
        behind.kill()
        values = [f"record {number}" for number in range(60)]
        for value in values:
            await leader.driver.append([value])
        await leader.driver._snapshotter.settled()
        assert leader.driver.log.log.log_start_offset > 20
        await behind.start()
        assert await quorum.agree() == values
        assert "snapshot" in behind.listener.calls
        behind.kill()
        await behind.start()
        assert behind.listener.calls[0] == "snapshot"
        await leader.driver.append(["more"])
        assert await quorum.agree() == [*values, "more"]


@virtual
async def test_an_observer_finds_the_quorum_by_its_bootstrap_servers():
    async with Quorum() as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        observer = Member(quorum.network, 7, {}, bootstrap=(-3, -4, -5), can_vote=False)
        quorum.members[7] = await observer.start()
        assert await quorum.agree() == ["a"]
        assert observer.up_driver.leader_id == leader.id
        assert observer.up_driver.endpoint_of(leader.id) == (f"host{leader.id}", 9093)
        await leader.driver.append(["b"])
        assert await quorum.agree() == ["a", "b"]


# Voters


def dynamic_quorum(ids, **options):
    """Formatted with its voters in the first snapshot."""
    quorum = Quorum(ids, **options)
    voters = VoterSet.of(
        Voter(ReplicaKey(one, directory(one)), (VoterEndpoint("CONTROLLER", f"host{one}", 9093),))
        for one in ids
    )
    records = {
        KRAFT_VERSION: encode_message(KRaftVersionRecord(kraft_version=1)),
        KRAFT_VOTERS: encode_voters(voters),
    }
    for member in quorum.members.values():
        member.voters = {}
        member.disk.make_folder(FOLDER)
        write_snapshot(member.disk, FOLDER, SnapshotId(0, 0), [], 0, 0, records)
    return quorum


async def ask(driver, request):
    answer = driver.handle(request, request.MAX_VERSION)
    return await answer if asyncio.isfuture(answer) else answer


def addition(node_id):
    return AddRaftVoterRequest(
        timeout_ms=5000,
        voter_id=node_id,
        voter_directory_id=directory(node_id),
        listeners=[Listener("CONTROLLER", f"host{node_id}", 9093)],
    )


@virtual
async def test_voters_come_and_go():
    async with dynamic_quorum([1]) as quorum:
        leader = await quorum.leader()
        for number in (2, 3):
            newcomer = Member(quorum.network, number, {}, bootstrap=(-3,))
            quorum.members[number] = await newcomer.start()
            await quorum.agree()
            assert (await ask(leader.driver, addition(number))).error_code == 0
        assert leader.driver.state.voters.latest.ids == (1, 2, 3)
        await leader.driver.append(["a"])
        assert await quorum.agree() == ["a"]
        removal = RemoveRaftVoterRequest(voter_id=1, voter_directory_id=directory(1))
        assert (await ask(leader.driver, removal)).error_code == 0
        second = await quorum.leader(apart_from=[1])
        await second.driver.append(["b"])
        assert await quorum.agree() == ["a", "b"]
        assert {member.driver.state.voters.latest.ids for member in quorum.up()} == {(2, 3)}
        assert second.driver.state.is_voter
        assert not leader.driver.state.is_voter


@virtual
async def test_a_controller_that_has_died_does_not_become_a_voter():
    async with dynamic_quorum([1]) as quorum:
        leader = await quorum.leader()
        newcomer = await Member(quorum.network, 2, {}, bootstrap=(-3,)).start()
        await asyncio.sleep(1)
        newcomer.kill()
        response = await ask(leader.driver, addition(2))
        assert response.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert "does not answer at host2:9093" in response.error_message
        await leader.driver.append(["a"])
        assert leader.driver.voter_ids == [1]
        quorum.members[2] = await newcomer.start()
        await quorum.agree()
        quorum.network.kraft_versions[2] = (0, 0)
        assert (await ask(leader.driver, addition(2))).error_code == ErrorCode.INVALID_REQUEST
        quorum.network.kraft_versions[2] = (0, 2)
        assert (await ask(leader.driver, addition(2))).error_code == 0
        assert leader.driver.state.voters.latest.find(2).max_version == 2


@virtual
async def test_who_has_led_alone_for_long_leads_on_with_a_second_voter():
    async with dynamic_quorum([1]) as quorum:
        leader = await quorum.leader()
        quorum.members[2] = await Member(quorum.network, 2, {}, bootstrap=(-3,)).start()
        await asyncio.sleep(60)
        epoch = leader.driver.epoch
        assert (await ask(leader.driver, addition(2))).error_code == 0
        await asyncio.sleep(60)
        assert (leader.driver.is_leader, leader.driver.epoch) == (True, epoch)


@virtual
async def test_configured_voters_become_records_that_can_be_changed():
    async with Quorum([1, 2, 3]) as quorum:
        leader = await quorum.leader()
        assert leader.driver.kraft_version == 0
        await leader.driver.append(["a"])
        await quorum.agree()
        first = asyncio.ensure_future(leader.driver.upgrade_voters(5000))
        await asyncio.sleep(0)
        early = await leader.driver.upgrade_voters(5000)
        assert early.error_code == ErrorCode.REQUEST_TIMED_OUT, "nobody else has the record yet"
        assert leader.driver.kraft_version == 0
        assert (await first).error_code == 0
        assert (await leader.driver.upgrade_voters(5000)).error_code == 0, "it is done already"
        await quorum.agree()
        for member in quorum.up():
            voters = member.driver.state.voters.latest.voters
            assert [voter.key for voter in voters] == [ReplicaKey(one, directory(one)) for one in (1, 2, 3)]
            assert [voter.endpoints[0].host for voter in voters] == ["host1", "host2", "host3"]
            assert member.driver.kraft_version == 1
        partition = (await ask(leader.driver, description())).topics[0].partitions[0]
        assert partition.observers == [], "voters with disks are not other nodes"
        assert all(one.last_fetch_timestamp > 0 for one in partition.current_voters)
        gone = next(member for member in quorum.up() if member is not leader)
        removal = RemoveRaftVoterRequest(voter_id=gone.id, voter_directory_id=directory(gone.id))
        assert (await ask(leader.driver, removal)).error_code == 0
        for member in list(quorum.up()):
            member.kill()
        for member in quorum.members.values():
            await member.start()
        # The configuration still names all three; the log counts.
        assert (await quorum.leader()) is not gone
        assert await quorum.agree() == ["a"]
        assert gone.id not in gone.driver.state.voters.latest.ids


@virtual
async def test_other_configured_voters_than_before_are_refused():
    """A majority of the new ones could elect a leader beside that of the old ones."""
    async with Quorum([1, 2, 3]) as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        await quorum.agree()
        all_three = leader.voters
        await leader.close()
        leader.voters = [leader.id]
        with pytest.raises(QuorumStateError, match=rf"were 1, 2, 3 before .* and are {leader.id} now"):
            await leader.start()
        leader.driver, leader.voters = None, all_three
        await leader.start()
        assert await quorum.agree() == ["a"]


@virtual
async def test_configured_voters_do_not_matter_once_they_are_records_or_to_those_who_never_vote():
    async with Quorum([1, 2, 3]) as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        observer = Member(quorum.network, 7, leader.voters, can_vote=False)
        quorum.members[7] = await observer.start()
        await quorum.agree()
        await observer.close()
        observer.voters = {1: ("host1", 9093), 2: ("host2", 9093)}
        await observer.start()
        assert (await leader.driver.upgrade_voters(5000)).error_code == 0
        await quorum.agree()
        other = next(member for member in quorum.up() if member is not leader)
        await other.close()
        other.voters = {1: ("host1", 9093)}
        await other.start()
        assert await quorum.agree() == ["a"]
        assert other.driver.voter_ids == [1, 2, 3]


@virtual
async def test_voters_that_are_not_there_cannot_become_records():
    async with Quorum([1, 2, 3]) as quorum:
        away = await quorum.leader()
        away.kill()
        leader = await quorum.leader(apart_from=[away.id])
        await leader.driver.append(["a"])
        response = await leader.driver.upgrade_voters(5000)
        assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert f"Controller {away.id} has not fetched since" in response.message
        other = next(member for member in quorum.up() if member is not leader)
        assert (await other.driver.upgrade_voters(5000)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@virtual
async def test_voters_stay_changed_after_a_restart_and_in_snapshots():
    config = MetadataLogConfig(max_record_bytes_between_snapshots=1, max_retention_bytes=1)
    async with dynamic_quorum([1, 2, 3], log_config=config) as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        gone = next(member for member in quorum.up() if member is not leader)
        removal = RemoveRaftVoterRequest(voter_id=gone.id, voter_directory_id=directory(gone.id))
        assert (await ask(leader.driver, removal)).error_code == 0
        await leader.driver.append(["b"])
        await quorum.agree()
        for member in quorum.up():
            await member.driver._snapshotter.settled()
        for member in list(quorum.up()):
            member.kill()
        for member in quorum.members.values():
            await member.start()
            assert gone.id not in member.driver.state.voters.latest.ids
        leader = await quorum.leader()
        assert leader is not gone
        assert await quorum.agree() == ["a", "b"]


@virtual
async def test_changes_are_refused_by_those_who_do_not_lead():
    async with dynamic_quorum([1, 2, 3]) as quorum:
        leader = await quorum.leader()
        other = next(member for member in quorum.up() if member is not leader)
        response = await ask(other.driver, addition(4))
        assert response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (await ask(leader.driver, addition(4))).error_code == ErrorCode.REQUEST_TIMED_OUT


def description(topic="__cluster_metadata", partition=0):
    asked = DescribeQuorumRequestPartition(partition)
    return DescribeQuorumRequest(topics=[DescribeQuorumRequestTopic(topic, [asked])])


@virtual
async def test_the_quorum_describes_itself():
    async with dynamic_quorum([1, 2, 3]) as quorum:
        leader = await quorum.leader()
        await leader.driver.append(["a"])
        await quorum.agree()
        response = await ask(leader.driver, description())
        partition = response.topics[0].partitions[0]
        assert (partition.error_code, partition.leader_id) == (0, leader.id)
        assert partition.high_watermark == leader.driver.high_watermark
        assert {voter.replica_id for voter in partition.current_voters} == {1, 2, 3}
        assert {voter.log_end_offset for voter in partition.current_voters} == {leader.driver.end_offset}
        assert all(voter.last_caught_up_timestamp > 0 for voter in partition.current_voters)
        assert response.nodes[0].listeners[0].host == "host1"
        other = next(member for member in quorum.up() if member is not leader)
        partition = (await ask(other.driver, description())).topics[0].partitions[0]
        assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        for request in (description("other"), description(partition=1)):
            for member in (leader, other):
                response = await ask(member.driver, request)
                (topic,) = response.topics
                asked = request.topics[0]
                assert (response.error_code, topic.topic_name) == (0, asked.topic_name)
                assert [one.partition_index for one in topic.partitions] == [
                    asked.partitions[0].partition_index
                ]
                assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@virtual
async def test_requests_for_another_cluster_are_refused():
    async with Quorum(cluster_id="ours") as quorum:
        leader = await quorum.leader()
        response = await ask(leader.driver, VoteRequest(cluster_id="theirs"))
        assert response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        assert (await ask(leader.driver, VoteRequest())).error_code == ErrorCode.INVALID_REQUEST


def test_a_node_of_another_cluster_is_told_of_once(caplog):
    async def meet():
        quorum = Quorum(cluster_id="ours")
        stranger = quorum.members[3]
        stranger.options = {"cluster_id": "theirs"}
        async with quorum:
            leader = await quorum.leader()
            await asyncio.sleep(10)
            assert leader.driver.foreign_cluster is None
            assert "2 of 2 controllers belong to cluster 'ours'" in str(stranger.up_driver.foreign_cluster)
            await stranger.close()
            stranger.options = {"cluster_id": "ours"}
            await stranger.start()
            await quorum.agree()
            assert stranger.up_driver.foreign_cluster is None
            await quorum.network.drivers[leader.id].append(["a"])

    run_virtual(meet())
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    by_the_stranger = [text for text in errors if "this node to cluster theirs (/d/meta.properties)" in text]
    assert sorted(text.split(",")[0] for text in by_the_stranger) == [
        "Controller 1 belongs to cluster 'ours'",
        "Controller 2 belongs to cluster 'ours'",
    ]
    by_the_others = [text for text in errors if text not in by_the_stranger]
    assert {text.split(",")[0] for text in by_the_others} <= {"Controller 3 belongs to cluster 'theirs'"}
    assert len(by_the_others) <= 2
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len([text for text in warnings if text.startswith("Node 3 of cluster 'theirs' was refused")]) == 2
    assert all("kafka-storage format" in text for text in errors)


@virtual
async def test_a_node_that_goes_refuses_what_it_is_asked():
    """A stop is no error, so the requests are refused and do not fail."""
    async with dynamic_quorum([1, 2, 3]) as quorum:
        leader = await quorum.leader()
        driver = leader.driver
        waiting = asyncio.ensure_future(ask(driver, addition(4)))
        await asyncio.sleep(0.01)
        await leader.close()
        for request in (description(), VoteRequest(), addition(4)):
            assert (await ask(driver, request)).error_code == ErrorCode.NOT_CONTROLLER
        assert (await waiting).error_code != 0


# Everything at once


class Chaos:
    """Three voters and two nodes that may become voters, among crashes, cuts and disks that fail."""

    def __init__(self, seed):
        self.random = Random(seed)
        config = MetadataLogConfig(
            max_record_bytes_between_snapshots=self.random.choice([50, 500, 10**6]),
            max_retention_bytes=self.random.choice([1, 10**6]),
        )
        self.quorum = dynamic_quorum([1, 2, 3], seed=seed, log_config=config)
        for node_id in (4, 5):
            self.quorum.members[node_id] = Member(
                self.quorum.network, node_id, {}, bootstrap=(-3, -4, -5), log_config=config
            )
        self.counter = 0
        self.acknowledged = []
        self.tasks = []

    async def run(self):
        await self.restart_all()
        for _ in range(80):
            await asyncio.sleep(self.random.expovariate(8))
            await self.one_thing()
            self.bury()
        self.quorum.network.heal()
        for member in self.quorum.up():
            member.disk.fail_at = None
        # An error that has happened already may not have been told yet.
        await asyncio.sleep(0.1)
        self.bury()
        await self.restart_all()
        await self.append((await self.quorum.leader(30)).driver)
        await asyncio.gather(*self.tasks)
        found = await self.quorum.agree(30)
        assert len(found) == len(set(found))
        assert set(self.acknowledged) <= set(found)
        for member in self.quorum.members.values():
            assert member.failures == []
            await member.close()

    async def one_thing(self):
        random, quorum = self.random, self.quorum
        match random.randrange(12):
            case 0 if len(quorum.up()) > 1:
                random.choice(quorum.up()).kill(noticed=random.random() < 0.7)
            case 1:
                await self.restart_all()
            case 2:
                quorum.network.isolate(random.choice([1, 2, 3]))
            case 3:
                quorum.network.heal()
            case 4 if len(quorum.up()) > 1:
                disk = random.choice(quorum.up()).disk
                disk.fail_at = len(disk.operations) + random.randint(1, 40)
            case 5:
                self.change_voters()
            case _:
                leading = [member for member in quorum.up() if member.listener.leads]
                self.tasks += [asyncio.ensure_future(self.append(member.driver)) for member in leading]

    async def append(self, driver):
        self.counter += 1
        value = f"{self.counter} and some more text"
        try:
            await driver.append([value])
            self.acknowledged.append(value)
        except (NotLeaderError, DiskError):
            pass

    def change_voters(self):
        for member in self.quorum.up():
            if member.listener.leads:
                node_id = self.random.choice(list(self.quorum.members))
                voters = member.driver.state.voters.latest.ids
                removal = RemoveRaftVoterRequest(voter_id=node_id, voter_directory_id=directory(node_id))
                request = removal if node_id in voters else addition(node_id)
                self.tasks.append(asyncio.ensure_future(self.change(member.driver, request)))

    async def change(self, driver, request):
        with suppress(NotLeaderError):
            await ask(driver, request)

    def bury(self):
        """Remove the nodes whose disk has failed."""
        for member in self.quorum.members.values():
            if member.failures:
                assert all(isinstance(failure, DiskError) for failure in member.failures)
                member.failures.clear()
                if member.driver is not None:
                    member.kill()

    async def restart_all(self):
        for member in self.quorum.members.values():
            if member.driver is None:
                await member.start()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_no_acknowledged_record_is_lost(seed):
    # Some runs read the log in small pieces, as they would a large one.
    with mock.patch("gralha.raft.log._READ_BYTES", Random(seed).choice([100, 4 * 1024 * 1024])):
        run_virtual(Chaos(seed).run())


def test_a_crash_while_a_snapshot_is_installed_harms_nobody():
    async def run(fail_after, seed):
        config = MetadataLogConfig(max_record_bytes_between_snapshots=100, max_retention_bytes=1)
        quorum = Quorum(log_config=config)
        for member in quorum.members.values():
            await member.start()
        leader = await quorum.leader()
        behind = next(member for member in quorum.up() if member is not leader)
        await leader.driver.append(["first"])
        await quorum.agree()
        behind.kill()
        for number in range(40):
            await leader.driver.append([f"record {number}"])
        await behind.start()
        behind.disk.fail_at = len(behind.disk.operations) + fail_after
        await asyncio.sleep(1)
        failed = bool(behind.failures)
        if failed:
            behind.disk.fail_at = None
            behind.failures.clear()
            behind.kill()
            await behind.start()
        else:
            behind.disk.fail_at = None
        assert (await quorum.agree())[0] == "first"
        for member in quorum.members.values():
            await member.close()
        return failed

    outcomes = [run_virtual(run(fail_after, fail_after)) for fail_after in range(1, 60, 2)]
    assert any(outcomes)
