"""AllocateProducerIds (version 0): gives a broker a block of producer ids to hand out."""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import producer_ids
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)


async def handle(
    node: ControllerNode, context: RequestContext, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    try:
        block = await node.controller.execute(
            lambda image: producer_ids.allocate_producer_ids(image, request.broker_id, request.broker_epoch)
        )
    except KafkaError as error:
        return AllocateProducerIdsResponse(error_code=error.code)
    return AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.size)
