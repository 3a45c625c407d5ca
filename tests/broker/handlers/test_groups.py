"""Group requests through the pipeline: Kafka's error codes, and coordinators that move or fail."""

import asyncio
from typing import Any

import pytest

from gralha.protocol.apis import APIS, ApiKey
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from gralha.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from gralha.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from gralha.storage.config import LogConfig
from gralha.storage.disk import DiskError
from tests.broker.handlers.door import Client, create_topic, make_broker
from tests.broker.handlers.group_messages import REQUESTS, offset_commit, offset_fetch
from tests.storage.disks import QuietDisk, failing

OFFSETS = "__consumer_offsets"
NEWEST = 10


@pytest.fixture
def disk():
    """The broker's disk; `disk.before` makes it fail."""
    return QuietDisk()


@pytest.fixture
def broker(tmp_path, disk):
    broker = make_broker(tmp_path, disk=disk, group_initial_rebalance_delay_ms=0)
    yield broker
    broker.logs.release()


@pytest.fixture
async def topic_id(broker, client):
    """The id of topic `a`; the coordinator is there and has loaded its partitions."""
    topic_id = await create_topic(broker, "a")
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    await loaded(broker)
    return topic_id


async def loaded(broker):
    while any(runtime.state.name == "LOADING" for runtime in broker.groups._runtimes.values()):
        await asyncio.sleep(0)


def log_partition(broker, group_id="g"):
    """The partition of `__consumer_offsets` that knows about the group."""
    return broker.replicas.find(OFFSETS, partition_for(group_id, 5))


def lead(partition, epoch, leader=1, in_sync=(1,)):
    """Do what the metadata would: name a leader."""
    partition.change_leader(leader, epoch, list(in_sync), list(in_sync))


def load_again(broker, group_id="g"):
    """Begin a new leader epoch of a group's coordinator. It is loading when the next request comes."""
    partition = log_partition(broker, group_id)
    lead(partition, partition.leader_epoch + 1)
    broker.groups.leader_changed(partition)


async def commit(client, topic_id, offset=5, group_id="g"):
    response = await client.ask(offset_commit(NEWEST, topic_id, group_id, offset))
    return response.topics[0].partitions[0].error_code


async def fetched(client, topic_id, group_id="g"):
    response = await client.ask(offset_fetch(NEWEST, topic_id, group_id))
    group = response.groups[0]
    return group.error_code or group.topics[0].partitions[0].committed_offset


def join(member_id="", group_id="g", **fields):
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"mine")]
    settings: dict[str, Any] = {
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        **fields,
    }
    return JoinGroupRequest(group_id=group_id, member_id=member_id, protocols=protocols, **settings)


async def test_a_commit_is_fetched_again(client, topic_id):
    assert await fetched(client, topic_id) == -1
    assert await commit(client, topic_id, 42) == 0
    assert await fetched(client, topic_id) == 42


async def test_before_its_topic_is_made_there_is_no_coordinator(broker, client):
    topic_id = await create_topic(broker, "a")
    assert await commit(client, topic_id) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    listed = await client.ask(REQUESTS[ApiKey.LIST_GROUPS](5, topic_id))
    assert (listed.error_code, listed.groups) == (0, [])


@pytest.mark.parametrize("length", [1, 40])  # the coordinator remembers the partitions of short ids only
async def test_a_group_of_another_broker_is_sent_there(tmp_path, length):
    client = Client(make_broker(tmp_path, brokers=2))
    topic_id = await create_topic(client.broker, "a")
    keys = [f"group-{number}" * length for number in range(20)]
    found = await client.ask(FindCoordinatorRequest(coordinator_keys=keys))
    await loaded(client.broker)
    for one in found.coordinators:
        code = await commit(client, topic_id, group_id=one.key)
        assert code == (0 if one.node_id == 1 else ErrorCode.NOT_COORDINATOR)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (ApiKey.JOIN_GROUP, ErrorCode.INVALID_GROUP_ID),
        (ApiKey.SYNC_GROUP, ErrorCode.INVALID_GROUP_ID),
        (ApiKey.HEARTBEAT, ErrorCode.INVALID_GROUP_ID),
        (ApiKey.LEAVE_GROUP, ErrorCode.INVALID_GROUP_ID),
        (ApiKey.OFFSET_DELETE, ErrorCode.INVALID_GROUP_ID),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_an_empty_group_id(client, topic_id, key, code):
    version = APIS[key].max_version
    response = await client.ask(REQUESTS[key](version, topic_id, group_id=""), version)
    assert response.error_code == code


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (ApiKey.JOIN_GROUP, ErrorCode.UNKNOWN_MEMBER_ID),
        (ApiKey.SYNC_GROUP, ErrorCode.UNKNOWN_MEMBER_ID),
        (ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
        (ApiKey.OFFSET_DELETE, ErrorCode.GROUP_ID_NOT_FOUND),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_a_group_that_does_not_exist(client, topic_id, key, code):
    version = APIS[key].max_version
    response = await client.ask(REQUESTS[key](version, topic_id), version)
    assert response.error_code == code


async def test_joining_takes_a_member_id_first_then_the_group_forms(client, topic_id):
    refused = await client.ask(join())
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = await client.ask(join(refused.member_id), 4)
    assert (joined.error_code, joined.generation_id, joined.leader) == (0, 1, refused.member_id)
    synced = await client.ask(
        SyncGroupRequest(
            group_id="g",
            generation_id=1,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(joined.member_id, b"all of it")],
        )
    )
    assert (synced.error_code, synced.assignment) == (0, b"all of it")
    (group, _) = (await client.ask(REQUESTS[ApiKey.DESCRIBE_GROUPS](6, topic_id))).groups
    assert (group.group_state, group.protocol_data) == ("Stable", "range")
    (member,) = group.members
    assert (member.member_id, member.client_host, member.member_assignment) == (
        joined.member_id,
        "/127.0.0.1",
        b"all of it",
    )


async def test_a_sync_without_a_protocol_is_inconsistent_whoever_asks(client, topic_id):
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id="nobody", protocol_type="consumer")
    assert (await client.ask(request)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (await client.ask(request, 4)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("version", "nothing"), [(6, ""), (7, None)])
async def test_no_protocol_has_its_own_word_in_each_version(client, topic_id, version, nothing):
    refused = await client.ask(join(), version)
    assert (refused.error_code, refused.protocol_name) == (ErrorCode.MEMBER_ID_REQUIRED, nothing)


async def test_groups_of_both_kinds_are_listed_by_type(client, topic_id):
    await commit(client, topic_id, group_id="simple")
    await client.ask(
        ConsumerGroupHeartbeatRequest(
            group_id="new",
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["a"],
            topic_partitions=[],
        )
    )
    listed = await client.ask(REQUESTS[ApiKey.LIST_GROUPS](5, topic_id))
    assert {(one.group_id, one.group_type) for one in listed.groups} == {
        ("simple", "classic"),
        ("new", "consumer"),
    }


async def test_a_deleted_group_is_gone_with_its_offsets(client, topic_id):
    await commit(client, topic_id, 42)
    response = await client.ask(REQUESTS[ApiKey.DELETE_GROUPS](2, topic_id))
    assert {one.group_id: one.error_code for one in response.results} == {
        "g": 0,
        "nope": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert await fetched(client, topic_id) == -1


# The coordinator moves


async def test_a_new_leader_epoch_loads_what_was_committed(broker, client, topic_id):
    await commit(client, topic_id, 42)
    load_again(broker)
    assert await fetched(client, topic_id) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await loaded(broker)
    assert await fetched(client, topic_id) == 42


async def test_a_heartbeat_succeeds_while_the_coordinator_loads(broker, client, topic_id):
    await commit(client, topic_id)
    load_again(broker)
    heartbeat = await client.ask(REQUESTS[ApiKey.HEARTBEAT](4, topic_id))
    assert heartbeat.error_code == 0  # else the member would give up its partitions


async def test_who_waits_when_the_leader_is_lost_is_sent_away(broker, client, topic_id):
    member_id = (await client.ask(join())).member_id
    await client.ask(join(member_id))
    other_id = (await client.ask(join())).member_id
    waiting = asyncio.ensure_future(client.ask(join(other_id)))  # for the first member to join again
    await asyncio.sleep(0)
    partition = log_partition(broker)
    lead(partition, partition.leader_epoch + 1, leader=2)
    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    assert await fetched(client, topic_id) == ErrorCode.NOT_COORDINATOR


async def test_offsets_end_with_their_topic(broker, client, topic_id):
    await commit(client, topic_id, 42)
    await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="a")]))
    new_id = await create_topic(broker, "a")
    assert await fetched(client, new_id) == -1


# The log refuses the append, or delays the acknowledgement


async def test_a_commit_that_cannot_be_written_changes_nothing(broker, client, topic_id):
    await commit(client, topic_id, 42)
    log = log_partition(broker).log
    log.closed = True
    assert await commit(client, topic_id, 43) == ErrorCode.NOT_COORDINATOR
    log.closed = False
    assert await fetched(client, topic_id) == 42


async def test_a_full_disk_refuses_requests_until_it_has_room(disk, client, topic_id, caplog):
    caplog.set_level("INFO", "gralha.coordination")
    await commit(client, topic_id, 42)
    disk.before = failing("append", ".log")
    assert await commit(client, topic_id, 43) == ErrorCode.NOT_COORDINATOR
    assert await commit(client, topic_id, 43) == ErrorCode.NOT_COORDINATOR
    assert await fetched(client, topic_id) == 42  # at once: nothing was loaded anew
    disk.before = None
    assert await commit(client, topic_id, 44) == 0
    assert await fetched(client, topic_id) == 44
    messages = [record.getMessage() for record in caplog.records if record.name == "gralha.coordination"]
    assert len([one for one in messages if "the test says so" in one]) == 1
    assert messages[-1] == "__consumer_offsets-3 can be written again"
    assert len(messages) == 2


async def test_a_sync_that_fails_ends_the_broker(broker, disk, client, topic_id):
    failures: list[DiskError] = []
    broker.replicas.on_failure = failures.append
    disk.before = sync_fails
    assert await commit(client, topic_id, 43) == ErrorCode.NOT_COORDINATOR
    assert [error.is_fatal for error in failures] == [True]


def sync_fails(action, path):
    """Fail like a log that has to sync something before a write."""
    if action == "append":
        raise DiskError("sync", path, "the test says so")


async def test_without_enough_replicas_nothing_is_written(broker, client, topic_id):
    partition = log_partition(broker)
    partition.in_sync_replicas = []
    assert await commit(client, topic_id, 42) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert partition.log.log_end_offset == 0


def acknowledge_slowly(partition):
    """Only flushed records count, and nothing flushes them. This is like a follower that lags."""
    partition.log.config = LogConfig({"cleanup.policy": "compact", "flush.messages": "1"})
    partition.log.request_flush = None


async def test_answers_wait_until_what_they_rest_on_is_committed(broker, client, topic_id):
    partition = log_partition(broker)
    acknowledge_slowly(partition)
    committing = asyncio.ensure_future(commit(client, topic_id, 42))
    reading = asyncio.ensure_future(fetched(client, topic_id))
    await asyncio.sleep(0.01)
    assert not committing.done()
    assert not reading.done()
    partition.log.flush()
    partition.led().advance_high_watermark()
    assert (await committing, await reading) == (0, 42)


async def test_a_commit_that_is_not_replicated_in_time_is_not_acknowledged(tmp_path):
    broker = make_broker(tmp_path, offsets_commit_timeout_ms=20)
    client = Client(broker)
    topic_id = await create_topic(broker, "a")
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    await loaded(broker)
    acknowledge_slowly(log_partition(broker))
    assert await commit(client, topic_id, 42) == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_state_machine_that_breaks_is_loaded_anew(broker, client, topic_id, monkeypatch):
    await commit(client, topic_id, 42)
    runtime = broker.groups._runtimes[log_partition(broker).index]
    with monkeypatch.context() as patch:
        patch.setattr(runtime.shard, "commit_offsets", lambda *_: 1 // 0)
        assert await commit(client, topic_id, 43) == ErrorCode.UNKNOWN_SERVER_ERROR
    await loaded(broker)
    assert await fetched(client, topic_id) == 42
