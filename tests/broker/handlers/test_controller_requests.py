"""Requests of brokers and administrators to the controller.

The controller here applies its decisions at once. Other tests check how records are committed.
"""

from collections.abc import Awaitable

import pytest

from gralha.broker.audit import Audit
from gralha.broker.handlers import CONTROLLER_APIS
from gralha.broker.pipeline import Peer, RequestContext
from gralha.broker.rights import Rights
from gralha.metadata.features import BOOTSTRAP_FEATURES, SUPPORTED_FEATURES
from gralha.protocol.errors import ErrorCode, NotControllerError
from gralha.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from gralha.protocol.messages.alter_partition import AlterPartitionRequest
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from gralha.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from gralha.protocol.messages.controller_registration import ControllerRegistrationRequest
from gralha.protocol.messages.controller_registration import Feature as ControllerFeature
from gralha.protocol.messages.controller_registration import Listener as ControllerListener
from gralha.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from gralha.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from gralha.protocol.messages.unregister_broker import UnregisterBrokerRequest
from gralha.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from gralha.protocol.primitives import Reader, Writer
from tests.metadata.cluster import context, introduction, replay
from tests.metadata.controller.several import Cluster


class Controller:
    """The part of ControllerService that handlers use."""

    def __init__(self, image):
        self.image = image
        self.context = context(node_id=100)
        self.is_active = True
        self.kraft_version = 0

    async def upgrade_voters(self, timeout_ms):
        if not self.is_active:
            raise NotControllerError
        self.kraft_version = 1

    async def execute(self, decide):
        if not self.is_active:
            raise NotControllerError
        decision = decide(self.image)
        self.image, _ = replay(self.image, decision.records)
        return decision.response


class Node:
    cluster_id = "cluster"

    def __init__(self, image):
        self.controller = Controller(image)
        self.rights = Rights(None, Audit(lambda: 0))

    def meet(self, peer, node_id):
        """It has no neighbours."""

    async def ask(self, request, version=None):
        """Through the bytes of request and response, as on the wire."""
        version = request.MAX_VERSION if version is None else version
        writer = Writer()
        request.encode(writer, version)
        request = type(request).decode(Reader(writer.to_bytes()), version)
        handle = CONTROLLER_APIS[request.API_KEY].handle
        peer = Peer("host", 1, "CONTROLLER", "User:ANONYMOUS", CONTROLLER_APIS)
        answer = handle(self, RequestContext(peer, version, None), request)
        assert isinstance(answer, Awaitable)
        response = await answer
        assert response is not None
        writer = Writer()
        response.encode(writer, version)
        return type(response).decode(Reader(writer.to_bytes()), version)


@pytest.fixture
def node():
    return Node(Cluster(3, [1, 2, 3]).image)


def registration(broker_id, **others):
    broker = introduction(broker_id)
    return BrokerRegistrationRequest(
        **{
            "broker_id": broker_id,
            "cluster_id": "cluster",
            "incarnation_id": b"p" * 16,
            "listeners": [Listener("PLAINTEXT", "host", 9092, 0)],
            "features": [Feature(name, *levels) for name, levels in SUPPORTED_FEATURES.items()],
            "log_dirs": list(broker.log_dirs),
            "rack": "r",
            **others,
        }
    )


async def test_a_broker_registers_and_is_unfenced(node):
    response = await node.ask(registration(4))
    assert response.error_code == 0
    broker = node.controller.image.brokers[4]
    assert (broker.epoch, broker.rack, broker.fenced) == (response.broker_epoch, "r", True)
    assert broker.features == SUPPORTED_FEATURES
    assert broker.endpoints[0].host == "host"
    beat = BrokerHeartbeatRequest(
        broker_id=4, broker_epoch=response.broker_epoch, current_metadata_offset=node.controller.image.offset
    )
    answer = await node.ask(beat)
    assert (answer.error_code, answer.is_caught_up, answer.is_fenced) == (0, True, False)
    beat.broker_epoch += 1
    answer = await node.ask(beat)
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH


async def test_a_second_process_must_wait_for_the_end_of_the_first(node):
    await node.ask(registration(4))
    second = registration(4, incarnation_id=b"q" * 16)
    response = await node.ask(second)
    assert response.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    node.controller.context.liveness.disconnected(4)
    assert (await node.ask(second)).error_code == 0


async def test_who_was_told_to_stop_may_start_again_at_once(node):
    epoch = (await node.ask(registration(4))).broker_epoch
    beat = BrokerHeartbeatRequest(broker_id=4, broker_epoch=epoch, want_shut_down=True)
    assert (await node.ask(beat)).should_shut_down
    again = registration(4, incarnation_id=b"q" * 16, previous_broker_epoch=epoch)
    assert (await node.ask(again)).error_code == 0


async def test_a_broker_of_another_cluster_is_refused(node):
    response = await node.ask(registration(4, cluster_id="other"))
    assert (response.error_code, response.broker_epoch) == (ErrorCode.INCONSISTENT_CLUSTER_ID, -1)
    response = await node.ask(registration(4, is_migrating_zk_broker=True))
    assert response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


async def test_a_broker_is_unregistered(node):
    response = await node.ask(UnregisterBrokerRequest(broker_id=1))
    assert (response.error_code, response.error_message) == (0, None)
    assert node.controller.image.partition("t", 0).leader == 2
    response = await node.ask(UnregisterBrokerRequest(broker_id=1))
    assert response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert response.error_message


async def test_a_leader_changes_its_isr(node):
    cluster = Cluster(3, [1, 2, 3])
    node.controller.image = cluster.image
    response = await node.ask(cluster.isr_request(1, 2))
    assert response.topics[0].partitions[0].isr == [1, 2]
    response = await node.ask(AlterPartitionRequest(broker_id=1, broker_epoch=99))
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


async def test_leaders_are_elected(node):
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0])])
    response = await node.ask(request)
    (result,) = response.replica_election_results[0].partition_result
    assert result.error_code == ErrorCode.ELECTION_NOT_NEEDED
    request.election_type = 5
    response = await node.ask(request)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.INVALID_REQUEST


async def test_replicas_are_moved_and_listed(node):
    topic = ReassignableTopic("t", [ReassignablePartition(0, [2, 1])])
    response = await node.ask(AlterPartitionReassignmentsRequest(topics=[topic]))
    assert (response.error_code, response.error_message) == (0, None)
    assert node.controller.image.partition("t", 0).replicas == (2, 1)
    response = await node.ask(ListPartitionReassignmentsRequest())
    assert (response.error_code, response.topics) == (0, [])


async def test_features_are_updated(node):
    update = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    response = await node.ask(UpdateFeaturesRequest(feature_updates=[update]))
    assert response.error_code == 0
    assert node.controller.image.features.keys() == BOOTSTRAP_FEATURES.keys() - {"group.version"}


async def test_the_voters_become_records(node):
    update = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)
    request = UpdateFeaturesRequest(feature_updates=[update], validate_only=True)
    assert (await node.ask(request)).error_code == 0
    assert node.controller.kraft_version == 0
    request.validate_only = False
    assert (await node.ask(request)).error_code == 0
    assert node.controller.kraft_version == 1


async def test_features_change_together_or_not_at_all(node):
    quorum = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)
    wrong = FeatureUpdateKey(feature="group.version", max_version_level=99, upgrade_type=1)
    for version in (1, 2):
        request = UpdateFeaturesRequest(feature_updates=[quorum, wrong])
        response = await node.ask(request, version)
        codes = {response.error_code, *(one.error_code for one in response.results)}
        assert ErrorCode.INVALID_UPDATE_VERSION in codes
        assert node.controller.kraft_version == 0, "voters that are records stay records"
    downgrade = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    request = UpdateFeaturesRequest(feature_updates=[downgrade, quorum])
    assert (await node.ask(request)).error_code == 0
    assert node.controller.kraft_version == 1
    assert "group.version" not in node.controller.image.features


async def test_producer_ids_are_given_in_blocks(node):
    epoch = node.controller.image.brokers[1].epoch
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
    blocks = [await node.ask(request) for _ in range(2)]
    assert [(one.producer_id_start, one.producer_id_len) for one in blocks] == [(0, 1000), (1000, 1000)]
    request.broker_epoch += 1
    assert (await node.ask(request)).error_code == ErrorCode.STALE_BROKER_EPOCH


async def test_a_controller_registers(node):
    request = ControllerRegistrationRequest(
        controller_id=9,
        incarnation_id=b"i" * 16,
        listeners=[ControllerListener("CONTROLLER", "host", 9093, 0)],
        features=[ControllerFeature("metadata.version", 30, 30)],
    )
    response = await node.ask(request)
    assert (response.error_code, response.error_message) == (0, None)
    assert node.controller.image.controllers[9].features == {"metadata.version": (30, 30)}


ASKED = [
    registration(4),
    BrokerHeartbeatRequest(broker_id=1),
    UnregisterBrokerRequest(),
    AlterPartitionRequest(),
    ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0])]),
    AlterPartitionReassignmentsRequest(),
    ListPartitionReassignmentsRequest(),
    UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="a")]),
    AllocateProducerIdsRequest(),
    ControllerRegistrationRequest(),
]


@pytest.mark.parametrize("request_", ASKED)
async def test_a_node_that_is_not_the_active_controller_says_so_in_every_version(node, request_):
    node.controller.is_active = False
    for version in range(request_.MIN_VERSION, request_.MAX_VERSION + 1):
        response = await node.ask(of_version(request_, version), version)
        code = response.error_code
        if isinstance(request_, ElectLeadersRequest) and version == 0:
            code = response.replica_election_results[0].partition_result[0].error_code
        assert code == ErrorCode.NOT_CONTROLLER


def of_version(request_, version):
    """Old versions of a registration cannot say everything."""
    if isinstance(request_, BrokerRegistrationRequest) and version < 2:
        return registration(4, log_dirs=[])
    return request_
