"""BrokerHeartbeat (versions 0 to 2): a broker is alive, and asks to be fenced, unfenced or shut down.

The answer is sent when the controller's decision is committed.
"""

from gralha.broker.handlers.controller_node import ControllerNode, monotonic_ms
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.heartbeats import heartbeat
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse


async def handle(
    node: ControllerNode, context: RequestContext, request: BrokerHeartbeatRequest
) -> BrokerHeartbeatResponse:
    controller = node.controller
    node.meet(context.peer, request.broker_id)
    registration = controller.image.brokers.get(request.broker_id)
    if registration is not None and registration.epoch == request.broker_epoch:
        controller.context.liveness.touch(
            request.broker_id, request.broker_epoch, monotonic_ms(), request.current_metadata_offset
        )
    try:
        response = await controller.execute(lambda image: heartbeat(image, request, controller.context))
    except KafkaError as error:
        return BrokerHeartbeatResponse(error_code=error.code)
    if response.should_shut_down:
        # The next process of the broker must not wait for the end of this session.
        controller.context.liveness.forget(request.broker_id)
    return response
