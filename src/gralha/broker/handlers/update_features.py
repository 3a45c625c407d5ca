"""UpdateFeatures (versions 0 to 2): the levels of features.

kraft.version is the quorum's own: raising it to 1 makes records of the voters that were configured, which can
be added and removed from then on (KIP-853). The others follow when that has succeeded.

Gaps: timeout_ms is not looked at for the others, as in CreateTopics.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import features
from gralha.metadata.features import KRAFT_VERSION
from gralha.protocol.errors import KafkaError, NotControllerError, error_for
from gralha.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from gralha.raft.driver import NotLeaderError


async def handle(
    node: ControllerNode, context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    controller = node.controller
    version = context.api_version
    kraft_version = controller.driver.kraft_version
    try:
        if not request.validate_only and _wants_dynamic_voters(request, kraft_version):
            await _upgrade_voters(node, request)
        return await controller.execute(
            lambda image: features.update_features(image, request, controller.context, version, kraft_version)
        )
    except KafkaError as error:
        return features.answer(request, version, error)


def _wants_dynamic_voters(request: UpdateFeaturesRequest, kraft_version: int) -> bool:
    wanted = [one.max_version_level for one in request.feature_updates if one.feature == KRAFT_VERSION]
    return kraft_version == 0 and wanted == [1]


async def _upgrade_voters(node: ControllerNode, request: UpdateFeaturesRequest) -> None:
    try:
        response = await node.controller.driver.upgrade_voters(request.timeout_ms)
    except NotLeaderError:
        raise NotControllerError from None
    if response.error_code:
        raise error_for(response.error_code, response.message)
