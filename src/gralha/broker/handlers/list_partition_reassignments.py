"""ListPartitionReassignments (version 0): the replicas that are on the move.

The active controller answers from what is committed.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import reassignments
from gralha.metadata.controller.decision import Decision
from gralha.metadata.image import MetadataImage
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


async def handle(
    node: ControllerNode, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    def decide(image: MetadataImage) -> Decision[ListPartitionReassignmentsResponse]:
        return Decision(reassignments.list_partition_reassignments(image, request), [])

    try:
        return await node.controller.execute(decide)
    except KafkaError as error:
        return ListPartitionReassignmentsResponse(
            error_code=error.code, error_message=error.message, topics=[]
        )
