"""UpdateFeatures (versions 0 to 2): changes the levels of features.

kraft.version belongs to the quorum. Level 1 writes the configured voters into the log as records, which can
then be added and removed (KIP-853). The whole request is checked first, and the other features follow after
kraft.version has succeeded. So all of them take effect, or none.

Gaps: timeout_ms is ignored for the other features, as in CreateTopics.
"""

from gralha.broker.handlers.controller_node import ControllerNode
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import features
from gralha.metadata.features import KRAFT_VERSION
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


async def decide(
    node: ControllerNode, context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    controller = node.controller
    version = context.api_version
    kraft_version = controller.kraft_version

    async def update(request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        return await controller.execute(
            lambda image: features.update_features(image, request, controller.context, version, kraft_version)
        )

    if not request.validate_only and _wants_dynamic_voters(request, kraft_version):
        checked = await update(_only_checked(request))
        if _has_failed(checked):
            return checked
        await controller.upgrade_voters(request.timeout_ms)
    return await update(request)


def refusal(request: UpdateFeaturesRequest, error: KafkaError, version: int) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message, results=[])


def _wants_dynamic_voters(request: UpdateFeaturesRequest, kraft_version: int) -> bool:
    wanted = [one.max_version_level for one in request.feature_updates if one.feature == KRAFT_VERSION]
    return kraft_version == 0 and wanted == [1]


def _only_checked(request: UpdateFeaturesRequest) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        timeout_ms=request.timeout_ms, feature_updates=request.feature_updates, validate_only=True
    )


def _has_failed(response: UpdateFeaturesResponse) -> bool:
    return response.error_code != 0 or any(one.error_code for one in response.results)
