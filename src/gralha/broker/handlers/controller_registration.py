"""ControllerRegistration (version 0): a controller sends its endpoints and features to the active one."""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.brokers import register_controller
from gralha.metadata.image import ControllerRegistration, Endpoint
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


async def handle(
    node: ControllerNode, context: RequestContext, request: ControllerRegistrationRequest
) -> ControllerRegistrationResponse:
    registration = ControllerRegistration(
        request.controller_id,
        request.incarnation_id,
        tuple(Endpoint(one.name, one.host, one.port, one.security_protocol) for one in request.listeners),
        {one.name: (one.min_supported_version, one.max_supported_version) for one in request.features},
    )
    try:
        await node.controller.execute(lambda image: register_controller(image, registration))
    except KafkaError as error:
        return ControllerRegistrationResponse(error_code=error.code, error_message=error.message)
    return ControllerRegistrationResponse(error_message=None)
