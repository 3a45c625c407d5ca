"""UpdateFeatures: changes the levels of features.

All updates of a request take effect, or none. Every broker and controller must support the new level. A level
may fall only if that is safe.
"""

from typing import Final

from gralha.metadata.config_keys import broker_config_value
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.eligible_replicas import without_eligible_replicas
from gralha.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    KRAFT_VERSIONS,
    SUPPORTED_FEATURES,
)
from gralha.metadata.image import BROKER_RESOURCE, MetadataImage
from gralha.protocol.errors import ErrorCode, InvalidRequestError, KafkaError, error_for
from gralha.protocol.message import Message
from gralha.protocol.messages.cluster_records import ConfigRecord, FeatureLevelRecord
from gralha.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
_MIN_ISR: Final = "min.insync.replicas"


def update_features(
    image: MetadataImage,
    request: UpdateFeaturesRequest,
    context: ControllerContext,
    version: int,
    kraft_version: int,
) -> Decision[UpdateFeaturesResponse]:
    """Changes levels. From version 2 on the response has one error for the request, before that one for each
    feature.

    kraft.version is only checked here: the quorum itself changes it.
    """
    records: list[Message] = []
    try:
        names = [update.feature for update in request.feature_updates]
        if len(set(names)) < len(names):
            raise InvalidRequestError("Provided features are not unique.")
        for update in request.feature_updates:
            current = (
                kraft_version if update.feature == KRAFT_VERSION else image.features.get(update.feature, 0)
            )
            records += _update(image, update, context, version, current)
    except KafkaError as error:
        others = _others_not_supported(image, request, context)
        failure = error_for(error.code, f"{error.message}{others}")
        return Decision(_answer(request, version, failure), [])
    return Decision(_answer(request, version, None), [] if request.validate_only else records)


def _others_not_supported(
    image: MetadataImage, request: UpdateFeaturesRequest, context: ControllerContext
) -> str:
    """A sentence that names all unsupported features, so that a person does not find them one by one."""
    lacking = [
        update.feature
        for update in request.feature_updates
        if _not_supported(image, context, update.feature, update.max_version_level) is not None
    ]
    if len(lacking) < 2:
        return ""
    return f" These features are not supported at the levels that were asked for: {', '.join(lacking)}."


def _answer(request: UpdateFeaturesRequest, version: int, error: KafkaError | None) -> UpdateFeaturesResponse:
    code = 0 if error is None else error.code
    message = None if error is None else error.message
    if message is not None and code == ErrorCode.INVALID_UPDATE_VERSION:
        message = f"The update failed for all features since the following feature had an error: {message}"
    if version >= 2:
        return UpdateFeaturesResponse(error_code=code, error_message=message, results=[])
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.feature, error_code=code, error_message=message)
            for update in request.feature_updates
        ],
    )


def _update(
    image: MetadataImage, update: FeatureUpdateKey, context: ControllerContext, version: int, current: int
) -> list[Message]:
    name, level = update.feature, update.max_version_level
    upgrade_type = update.upgrade_type
    if version == 0:
        upgrade_type = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _refusal(name, level, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _refusal(name, level, "A feature version cannot be less than 0.")
    why = _not_supported(image, context, name, level)
    if why is not None:
        raise _refusal(name, level, why)
    if level < current and upgrade_type == UPGRADE:
        raise _refusal(
            name,
            level,
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade.",
        )
    if level > current and upgrade_type != UPGRADE:
        raise _refusal(name, level, "Can't downgrade to a newer version.")
    if level < current and name == KRAFT_VERSION:
        raise _refusal(name, level, "Voters that are in the log stay there.")
    if level == current or name == KRAFT_VERSION:
        return []
    records: list[Message] = [FeatureLevelRecord(name=name, feature_level=level)]
    if name == ELIGIBLE_LEADER_REPLICAS_VERSION:
        records += _eligible_leader_records(image, context, level)
    return records


def _refusal(name: str, level: int, why: str) -> KafkaError:
    return error_for(
        ErrorCode.INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {name}. {why}"
    )


def _not_supported(image: MetadataImage, context: ControllerContext, name: str, level: int) -> str | None:
    if name == KRAFT_VERSION:
        nodes = [(f"Local controller {context.node_id}", KRAFT_VERSIONS)]
    else:
        nodes = _levels(image, context, name)
    for node, (lowest, highest) in nodes:
        if lowest <= level <= highest:
            continue
        if highest == 0:
            return f"{node} does not support this feature."
        versions = f"{lowest}-{highest}" if lowest < highest else f"{lowest}"
        return f"{node} only supports versions {versions}"
    return None


def _levels(image: MetadataImage, context: ControllerContext, name: str) -> list[tuple[str, tuple[int, int]]]:
    """The levels that each node supports, this node first."""
    nodes = [(f"Local controller {context.node_id}", SUPPORTED_FEATURES.get(name, (0, 0)))]
    nodes += [(f"Broker {one.id}", one.features.get(name, (0, 0))) for one in image.brokers.values()]
    nodes += [(f"Controller {one.id}", one.features.get(name, (0, 0))) for one in image.controllers.values()]
    return nodes


def _eligible_leader_records(image: MetadataImage, context: ControllerContext, level: int) -> list[Message]:
    """Eligible leader replicas need one min.insync.replicas for all brokers, stored in the log."""
    return without_eligible_replicas(image) if level == 0 else min_isr_records(image, context)


def min_isr_records(image: MetadataImage, context: ControllerContext) -> list[Message]:
    """The records that make min.insync.replicas a setting of the cluster instead of single brokers."""
    records: list[Message] = []
    if _MIN_ISR not in image.default_broker_configs():
        value = broker_config_value(_MIN_ISR, context.config_layers(image))
        records.append(
            ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=_MIN_ISR, value=value)
        )
    for (kind, name), values in image.configs.items():
        if kind == BROKER_RESOURCE and name and _MIN_ISR in values:
            records.append(
                ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=name, name=_MIN_ISR, value=None)
            )
    return records
