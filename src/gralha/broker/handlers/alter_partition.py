"""AlterPartition (versions 2 and 3): a leader changes the ISR of partitions that it leads."""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import isr_changes
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse


async def handle(
    node: ControllerNode, context: RequestContext, request: AlterPartitionRequest
) -> AlterPartitionResponse:
    controller = node.controller
    version = context.api_version
    try:
        return await controller.execute(
            lambda image: isr_changes.alter_partition(image, request, controller.context, version)
        )
    except KafkaError as error:
        return AlterPartitionResponse(error_code=error.code, topics=[])
