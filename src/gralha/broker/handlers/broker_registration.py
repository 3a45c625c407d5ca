"""BrokerRegistration (versions 0 to 4): a broker's process starts and gets its broker epoch.

While the broker's previous process lives, the answer is DUPLICATE_BROKER_REGISTRATION, and the broker asks
again. A second request of the same process only updates the broker's description.
"""

from gralha.broker.handlers.controller_node import ControllerNode, monotonic_ms
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.brokers import BrokerIntroduction, register_broker
from gralha.metadata.controller.decision import Decision
from gralha.metadata.image import Endpoint, MetadataImage
from gralha.protocol.errors import BrokerIdNotRegisteredError, InconsistentClusterIdError, KafkaError
from gralha.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)


async def handle(
    node: ControllerNode, context: RequestContext, request: BrokerRegistrationRequest
) -> BrokerRegistrationResponse:
    now_ms = monotonic_ms()
    controller = node.controller

    def decide(image: MetadataImage) -> Decision[int]:
        return register_broker(image, introduction(request), controller.context, now_ms)

    try:
        _check(node, request)
        epoch = await controller.execute(decide)
    except KafkaError as error:
        return BrokerRegistrationResponse(error_code=error.code)
    controller.context.liveness.touch(request.broker_id, epoch, monotonic_ms())
    return BrokerRegistrationResponse(broker_epoch=epoch)


def _check(node: ControllerNode, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != node.cluster_id:
        raise InconsistentClusterIdError(
            f"Expected cluster ID {node.cluster_id}, but got cluster ID {request.cluster_id}"
        )
    if request.is_migrating_zk_broker:
        raise BrokerIdNotRegisteredError("Controller does not support registering ZK brokers.")


def introduction(request: BrokerRegistrationRequest) -> BrokerIntroduction:
    """The description of the broker."""
    return BrokerIntroduction(
        request.broker_id,
        request.incarnation_id,
        tuple(Endpoint(one.name, one.host, one.port, one.security_protocol) for one in request.listeners),
        tuple(request.log_dirs),
        request.rack,
        {one.name: (one.min_supported_version, one.max_supported_version) for one in request.features},
        request.previous_broker_epoch,
    )
