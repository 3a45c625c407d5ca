"""AlterPartitionReassignments (versions 0 and 1): moves replicas to other brokers, or cancels a move.

The answer is sent when the moves are committed. ListPartitionReassignments tells when they are done.

Gaps: timeout_ms is ignored, as in CreateTopics.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import reassignments
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def decide(
    node: ControllerNode, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    controller = node.controller
    return await controller.execute(
        lambda image: reassignments.alter_partition_reassignments(image, request, controller.context)
    )


def refusal(
    request: AlterPartitionReassignmentsRequest, error: KafkaError, version: int
) -> AlterPartitionReassignmentsResponse:
    """As in Kafka, each partition has the error, too."""
    return AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(
                        partition_index=partition.partition_index,
                        error_code=error.code,
                        error_message=error.message,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
