"""UnregisterBroker (version 0): removes a broker that is gone for good."""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import brokers
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


async def decide(
    node: ControllerNode, context: RequestContext, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    controller = node.controller
    await controller.execute(
        lambda image: brokers.unregister_broker(image, request.broker_id, controller.context)
    )
    controller.context.liveness.forget(request.broker_id)
    return UnregisterBrokerResponse(error_message=None)


def refusal(request: UnregisterBrokerRequest, error: KafkaError, version: int) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)
