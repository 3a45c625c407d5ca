"""ApiVersions (versions 0 to 4): the APIs and versions of this broker. It is the first request of a client.

The answer comes from the table of handlers, so it is exactly what the broker supports. There is one
exception, as in Kafka: Produce is advertised from version 0, although it is supported from version 3. Without
version 0 librdkafka assumes that the broker cannot compress (KAFKA-18659).

An unknown version of ApiVersions itself is answered in version 0 with UNSUPPORTED_VERSION and the supported
range (KIP-511). From version 3 on a client names its software. A name with other characters than letters,
digits, `-` and `.` is refused. Versions below 4 leave out features whose lowest level is 0, which old clients
cannot read (KAFKA-17492).
"""

import re
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import API_VERSIONS, Api, RequestContext
from gralha.metadata.features import KRAFT_VERSION, KRAFT_VERSIONS, SUPPORTED_FEATURES
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

PRODUCE: Final = 0
SOFTWARE_FROM_VERSION: Final = 3
LEVEL_ZERO_FROM_VERSION: Final = 4
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(
    broker: Broker, context: RequestContext, request: ApiVersionsRequest | None
) -> ApiVersionsResponse:
    if request is None:
        served = _advertised(context.peer.served[API_VERSIONS])
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[served])
    if context.api_version >= SOFTWARE_FROM_VERSION and not _names_software(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    image = broker.image
    levels = {**image.features, KRAFT_VERSION: broker.controller.kraft_version}
    return ApiVersionsResponse(
        api_keys=[_advertised(api) for _, api in sorted(context.peer.served.items())],
        supported_features=_supported_features(context.api_version),
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(levels.items())
            if level > 0
        ],
    )


def _advertised(api: Api) -> ApiVersion:
    return ApiVersion(
        api_key=api.key,
        min_version=0 if api.key == PRODUCE else api.min_version,
        max_version=api.max_version,
    )


def _names_software(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(SOFTWARE.fullmatch(name) for name in names)


def _supported_features(version: int) -> list[SupportedFeatureKey]:
    return [
        SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
        for name, (lowest, highest) in sorted({**SUPPORTED_FEATURES, KRAFT_VERSION: KRAFT_VERSIONS}.items())
        if lowest > 0 or version >= LEVEL_ZERO_FROM_VERSION
    ]
