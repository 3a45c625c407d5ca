"""ListPartitionReassignments (version 0): the reassignments under way.

The active controller answers from committed metadata.
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


async def decide(
    node: ControllerNode, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    def listing(image: MetadataImage) -> Decision[ListPartitionReassignmentsResponse]:
        return Decision(reassignments.list_partition_reassignments(image, request), [])

    return await node.controller.execute(listing)


def refusal(
    request: ListPartitionReassignmentsRequest, error: KafkaError, version: int
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=error.code, error_message=error.message, topics=[])
