"""UpdateFeatures (versions 0 to 2): the levels of features.

Gaps: timeout_ms is not looked at, as in CreateTopics. The level of kraft.version is not changed here.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import features
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


async def handle(
    node: ControllerNode, context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    controller = node.controller
    version = context.api_version
    try:
        return await controller.execute(
            lambda image: features.update_features(image, request, controller.context, version)
        )
    except KafkaError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message, results=[])
