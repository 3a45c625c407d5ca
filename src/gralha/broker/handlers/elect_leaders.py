"""ElectLeaders (versions 0 to 2): elects preferred leaders, or any live replicas.

Gaps: timeout_ms is ignored, as in CreateTopics. The answer is sent when the leaders are committed, not when
they serve clients.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import leader_elections
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


async def decide(
    node: ControllerNode, context: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    controller = node.controller
    return await controller.execute(
        lambda image: leader_elections.elect_leaders(image, request, controller.context)
    )


def refusal(request: ElectLeadersRequest, error: KafkaError, version: int) -> ElectLeadersResponse:
    """The error is in every partition, because version 0 has no error for the whole request."""
    return ElectLeadersResponse(
        error_code=error.code if version >= 1 else 0,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=error.code, error_message=error.message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or []
        ],
    )
