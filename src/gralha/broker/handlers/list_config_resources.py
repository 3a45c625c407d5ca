"""ListConfigResources (versions 0 and 1): the resources that have configs.

Version 0 was ListClientMetricsResources and lists only those. Version 1 (KIP-1142) takes the types to list:
topics, brokers and their loggers, and the client metrics and groups that have their own configs. An empty
list means all types.
"""

from collections.abc import Collection
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

KINDS: Final = (
    TOPIC_RESOURCE,
    BROKER_RESOURCE,
    BROKER_LOGGER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)


def handle(
    broker: Broker, context: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    kinds: Collection[int] = (CLIENT_METRICS_RESOURCE,)
    if context.api_version > 0:
        kinds = request.resource_types or KINDS
    if any(kind not in KINDS for kind in kinds):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_type=kind, resource_name=name)
            for kind in dict.fromkeys(kinds)
            for name in _names(broker.image, kind)
        ]
    )


def _names(image: MetadataImage, kind: int) -> list[str]:
    if kind == TOPIC_RESOURCE:
        return list(image.topics)
    if kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return [str(broker_id) for broker_id in image.brokers]
    return [name for other, name in image.configs if other == kind]
