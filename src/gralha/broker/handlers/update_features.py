"""UpdateFeatures (versions 0 to 2): the levels of features.

kraft.version is the quorum's own: raising it to 1 makes records of the voters that were configured, which can
be added and removed from then on (KIP-853). The others follow when that has succeeded.

Gaps: timeout_ms is not looked at for the others, as in CreateTopics.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import features
from gralha.metadata.features import KRAFT_VERSION
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


async def handle(
    node: ControllerNode, context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    controller = node.controller
    version = context.api_version
    kraft_version = controller.kraft_version
    try:
        if not request.validate_only and _wants_dynamic_voters(request, kraft_version):
            await controller.upgrade_voters(request.timeout_ms)
        return await controller.execute(
            lambda image: features.update_features(image, request, controller.context, version, kraft_version)
        )
    except KafkaError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message, results=[])


def _wants_dynamic_voters(request: UpdateFeaturesRequest, kraft_version: int) -> bool:
    wanted = [one.max_version_level for one in request.feature_updates if one.feature == KRAFT_VERSION]
    return kraft_version == 0 and wanted == [1]
