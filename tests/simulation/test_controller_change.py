"""Clients do not notice that the controller changes: their requests wait for the next one."""

from collections.abc import Callable
from typing import cast

import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from gralha.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from gralha.simulation.cluster import Settings, SimulatedCluster, SimulatedNode, quiet
from gralha.simulation.loop import no_threads

SETTINGS = Settings(brokers=3)
PATIENCE_MS = 40_000
TOPIC_RESOURCE = 2


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=3)])


def delete(name: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])


def grow(name: str) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=name, count=3, assignments=None)])


def configure(name: str) -> IncrementalAlterConfigsRequest:
    change = AlterableConfig(name="retention.ms", value="1000")
    return IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC_RESOURCE, name, [change])])


def codes(response: Message) -> list[int]:
    match response:
        case CreateTopicsResponse():
            return [topic.error_code for topic in response.topics]
        case DeleteTopicsResponse():
            return [topic.error_code for topic in response.responses]
        case CreatePartitionsResponse():
            return [topic.error_code for topic in response.results]
    return [resource.error_code for resource in cast(IncrementalAlterConfigsResponse, response).responses]


class Asked:
    """One request to every broker at the same time, each about other topics."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.answers: dict[str, list[int]] = {}

    def ask_all(self, requests: Callable[[int], dict[str, Message]]) -> None:
        for node in self.cluster.nodes.values():
            for what, request in requests(node.node_id).items():
                self._ask(node, f"{what} by {node.node_id}", request)

    def _ask(self, node: SimulatedNode, what: str, request: Message) -> None:
        client = self.cluster.new_client(what)
        client._bootstrap = [node.address]

        async def ask() -> None:
            response = await client.peers.ask(-1, request, timeout_ms=PATIENCE_MS)
            self.answers[what] = codes(response)

        self.cluster.run_client(ask)

    def wait(self, count: int) -> None:
        assert self.cluster.run_until(lambda: len(self.answers) == count, 60, "all are answered")


def freeze_followers(cluster: SimulatedCluster) -> Callable[[], None]:
    others = [node for node in cluster.nodes.values() if not is_active(node)]
    for node in others:
        node.freeze()

    def thaw() -> None:
        for node in others:
            node.thaw()

    return thaw


def freeze_controller(cluster: SimulatedCluster) -> Callable[[], None]:
    node = next(node for node in cluster.nodes.values() if is_active(node))
    node.freeze()
    return node.thaw


def cut_controller_off(cluster: SimulatedCluster) -> Callable[[], None]:
    active = next(node for node in cluster.nodes.values() if is_active(node))
    for node in cluster.nodes.values():
        if node is not active:
            cluster.network.cut(active.host.address, node.host.address)
            cluster.network.cut(node.host.address, active.host.address)
    return cluster.network.heal


def is_active(node: SimulatedNode) -> bool:
    return node.node is not None and node.node._controller is not None and node.node._controller.is_active


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fault", [freeze_followers, freeze_controller, cut_controller_off])
def test_requests_wait_for_the_next_controller(
    fault: Callable[[SimulatedCluster], Callable[[], None]], seed: int
) -> None:
    with quiet(), no_threads():
        cluster = SimulatedCluster(seed, SETTINGS)
        cluster.format()
        for node in cluster.nodes.values():
            node.start()
        assert cluster.run_until(lambda: cluster.all_ready, 60, "all nodes are ready")
        asked = Asked(cluster)
        names = ("old", "doomed", "small")
        asked.ask_all(lambda node_id: {f"create {name}": create(f"{name}-{node_id}") for name in names})
        asked.wait(9)
        asked.answers.clear()
        mend = fault(cluster)
        cluster.run_for(0.1)
        asked.ask_all(
            lambda node_id: {
                "create": create(f"new-{node_id}"),
                "delete": delete(f"doomed-{node_id}"),
                "grow": grow(f"small-{node_id}"),
                "configure": configure(f"old-{node_id}"),
            }
        )
        cluster.run_for(5)
        mend()
        asked.wait(12)
        assert asked.answers == {what: [ErrorCode.NONE] for what in asked.answers}
        assert cluster.world.failures == []
        cluster.world.bury()
