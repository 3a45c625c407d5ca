"""FindCoordinator leads groups to the leader of their partition of `__consumer_offsets`."""

import asyncio

import pytest

from gralha.protocol.coordinators import java_hash_code, partition_for
from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.heartbeat import HeartbeatRequest
from tests.broker.handlers.door import Client, make_broker

TOPIC = "__consumer_offsets"


# What java.lang.String.hashCode gives.
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("polygenelubricants", -(1 << 31)),
        ("my-consumer-group-1", -1322913907),
        ("ação", 3118866),
        ("\N{BIRD}", 1772425),
    ],
)
def test_strings_hash_as_in_java(text, number):
    assert java_hash_code(text) == number


def test_the_one_number_without_an_absolute_value_counts_as_0():
    assert partition_for("polygenelubricants", 50) == 0


async def test_the_topic_is_made_when_the_first_group_is_asked_for(broker, client):
    response = await client.ask(FindCoordinatorRequest(key="g"), 3)
    assert (response.error_code, response.node_id, response.host, response.port) == (0, 1, "host1", 9092)
    assert len(broker.image.topics[TOPIC].partitions) == 5
    assert broker.image.topic_configs(TOPIC) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_several_groups_at_once(client, version):
    response = await client.ask(FindCoordinatorRequest(coordinator_keys=["g", ""]), version)
    assert [(one.key, one.error_code, one.node_id) for one in response.coordinators] == [
        ("g", 0, 1),
        ("", 0, 1),
    ]


async def test_groups_are_spread_over_the_brokers(tmp_path):
    client = Client(make_broker(tmp_path, brokers=2))
    keys = [f"group-{number}" for number in range(50)]
    response = await client.ask(FindCoordinatorRequest(coordinator_keys=keys))
    leaders = {one.node_id for one in response.coordinators}
    assert leaders == {1, 2}
    topic = client.broker.image.topics[TOPIC]
    for one in response.coordinators:
        assert one.node_id == topic.partitions[partition_for(one.key, 5)].leader


async def test_without_enough_brokers_there_is_no_coordinator_and_the_reason_is_told(tmp_path):
    client = Client(make_broker(tmp_path, offsets_topic_replication_factor=3))
    response = await client.ask(FindCoordinatorRequest(key="g"), 3)
    assert (response.error_code, response.node_id, response.port) == (
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        -1,
        -1,
    )
    assert "replicate" in response.error_message


async def test_a_controller_that_fails_means_try_again(broker, client):
    broker.controller.failure = NotControllerError()
    response = await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    assert response.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_leader_that_the_client_cannot_reach_means_try_again(broker, client):
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    response = await Client(broker, "INTERNAL").ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    assert response.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("key_type", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (9, ErrorCode.INVALID_REQUEST)],
)
async def test_coordinators_that_are_not_here(broker, client, key_type, code):
    response = await client.ask(FindCoordinatorRequest(coordinator_keys=["t"], key_type=key_type))
    assert response.coordinators[0].error_code == code
    assert broker.image.topics == {}


@pytest.mark.parametrize("version", [1, 4, 6])
async def test_the_topic_of_transactions_is_made_when_the_first_id_is_asked_for(tmp_path, version):
    client = Client(make_broker(tmp_path, transaction_state_log_replication_factor=1))
    keys = {"coordinator_keys": ["t-9"]} if version >= 4 else {"key": "t-9"}
    response = await client.ask(FindCoordinatorRequest(key_type=1, **keys), version)
    found = response if version < 4 else response.coordinators[0]
    assert (found.error_code, found.node_id, found.port) == (0, 1, 9092)
    assert len(client.broker.image.topics["__transaction_state"].partitions) == 50


async def test_without_enough_brokers_there_is_no_coordinator_of_transactions(client):
    response = await client.ask(FindCoordinatorRequest(coordinator_keys=["t"], key_type=1))
    assert response.coordinators[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert response.coordinators[0].error_message.startswith("__transaction_state cannot be created")


async def test_the_log_warns_once_of_each_topic_of_coordinators(client, caplog):
    with caplog.at_level("INFO", logger="gralha.broker"):
        for _ in range(3):
            await client.ask(FindCoordinatorRequest(coordinator_keys=["t"], key_type=1))
    found = [one for one in caplog.records if "was not created automatically" in one.getMessage()]
    assert [one.levelname for one in found] == ["WARNING", "INFO", "INFO"]
    assert (
        found[0]
        .getMessage()
        .endswith(
            " Start more brokers, or set transaction.state.log.replication.factor=1 and "
            "transaction.state.log.min.isr=1 in the file of each broker."
        )
    )


async def test_who_asks_while_the_topic_is_being_made_finds_a_coordinator_that_answers(broker, client):
    making = asyncio.ensure_future(client.ask(FindCoordinatorRequest(coordinator_keys=["g"])))
    while TOPIC not in broker.image.topics:
        await asyncio.sleep(0)
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]))
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="nobody")
    # Even if it has not loaded yet: no other broker is the coordinator.
    assert (await client.ask(heartbeat)).error_code != ErrorCode.NOT_COORDINATOR
    await making
