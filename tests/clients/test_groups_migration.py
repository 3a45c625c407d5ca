"""Groups that change their protocol while they have members (KIP-848).

Every client with the classic protocol meets one with the consumer protocol.
"""

from __future__ import annotations

import pytest

from tests.clients.driver import Driver
from tests.clients.group_clients import (
    AIOKAFKA,
    CONFLUENT,
    CONFLUENT_CONSUMER,
    JAVA,
    JAVA_CONSUMER,
    KAFKA_PYTHON,
    KAFKAJS,
)
from tests.clients.groups import GroupClient
from tests.clients.scenarios.group_stage import GroupStage, Programs

NEW_CLIENTS = {
    CONFLUENT: CONFLUENT_CONSUMER,
    KAFKA_PYTHON: CONFLUENT_CONSUMER,
    AIOKAFKA: CONFLUENT_CONSUMER,
    KAFKAJS: CONFLUENT_CONSUMER,
    JAVA: JAVA_CONSUMER,
}
classic_clients = pytest.mark.parametrize("client", NEW_CLIENTS, ids=lambda client: client.name)


@classic_clients
def test_upgrade(client: GroupClient, programs: Programs, reference: Driver) -> None:
    with GroupStage(client, programs, reference, "upgrade") as stage:
        topic = stage.topic(partitions=4)
        stage.produce(topic, 0, 5)
        old = stage.join([topic])
        stage.divided([old], [4])
        stage.eventually(lambda: old.look().offsets((topic, 0)) == list(range(5)), old)
        old.commit({(topic, 0): 3})
        assert stage.view().type == "classic"

        new = stage.join([topic], client=NEW_CLIENTS[client])
        stage.divided([old, new], [2, 2])
        assert stage.view().type == "consumer"

        old.leave()
        stage.divided([new], [4])
        # After an eager rebalance a member begins again at the last commit.
        stage.eventually(lambda: set(new.look().offsets((topic, 0))) == {3, 4}, new)
        assert (stage.view().type, stage.view().state) == ("consumer", "Stable")


@classic_clients
def test_downgrade(client: GroupClient, programs: Programs, reference: Driver) -> None:
    with GroupStage(client, programs, reference, "downgrade") as stage:
        topic = stage.topic(partitions=4)
        stage.produce(topic, 0, 5)
        new = stage.join([topic], client=NEW_CLIENTS[client])
        stage.divided([new], [4])
        stage.eventually(lambda: new.look().offsets((topic, 0)) == list(range(5)), new)
        new.commit({(topic, 0): 3})

        old = stage.join([topic])
        stage.divided([old, new], [2, 2])
        assert stage.view().type == "consumer"

        new.leave()
        stage.divided([old], [4])
        stage.eventually(lambda: set(old.look().offsets((topic, 0))) == {3, 4}, old)
        assert stage.view().type == "classic"
