"""DescribeCluster (versions 0 to 2): the cluster's id, its controller and its brokers.

Addresses are those of the client's listener. Version 2 can include fenced brokers. The endpoint type says
whether the client expects brokers (1) or controllers (2, KIP-919). A listener of the other kind refuses the
request.
"""

from typing import Final

from gralha.broker import handlers
from gralha.broker.broker import Broker
from gralha.broker.handlers import endpoints
from gralha.broker.pipeline import RequestContext
from gralha.broker.rights import NOT_ASKED
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS: Final = 1
CONTROLLERS: Final = 2


def handle(
    broker: Broker, context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"There are no endpoints of type {request.endpoint_type}",
        )
    here = CONTROLLERS if context.peer.apis is handlers.CONTROLLER_APIS else BROKERS
    if request.endpoint_type != here:
        meant, sent = ("broker", "controller") if here == CONTROLLERS else ("controller", "broker")
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message=f"The request is meant for a {meant}, but was sent to a {sent}",
        )
    return _controllers(broker) if here == CONTROLLERS else _brokers(broker, context, request)


def _controllers(broker: Broker) -> DescribeClusterResponse:
    quorum = broker.controller.driver
    known = [(voter_id, quorum.endpoint_of(voter_id)) for voter_id in quorum.voter_ids]
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=broker.cluster_id,
        controller_id=quorum.leader_id,
        brokers=[
            DescribeClusterBroker(broker_id=voter_id, host=endpoint[0], port=endpoint[1], rack=None)
            for voter_id, endpoint in known
            if endpoint is not None
        ],
    )


def _brokers(
    broker: Broker, context: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    nodes = endpoints.all_nodes(broker.image, context.peer.listener)
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=endpoints.controller_id(broker, nodes),
        brokers=[
            DescribeClusterBroker(
                broker_id=node.id, host=node.host, port=node.port, rack=node.rack, is_fenced=node.fenced
            )
            for node in nodes
            if request.include_fenced_brokers or not node.fenced
        ],
        cluster_authorized_operations=(broker.rights.cluster_operations(context) if asked else NOT_ASKED),
    )
