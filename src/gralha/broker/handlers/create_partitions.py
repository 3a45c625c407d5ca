"""CreatePartitions (versions 0 to 3): adds partitions to a topic, placed by the controller or the caller.

Each topic succeeds or fails by itself. The answer is sent when the partitions are committed and this broker
has created the logs of its own.

Gaps: timeout_ms is ignored, as in CreateTopics.
"""

from collections import Counter
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_rights
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import partitions
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

# From here on a client that has used up its quota is refused. Before, it was only held back (KIP-599).
STRICT_SINCE: Final = 3


async def decide(
    broker: Broker, context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    controller = broker.controller
    rights = broker.rights
    refused: dict[str, None] = {}  # in the order of the request
    if rights.authorizer is not None:
        counts = Counter(topic.name for topic in request.topics)
        once = [name for name, count in counts.items() if count == 1]
        allowed = rights.allowed(context, Operation.ALTER, ResourceType.TOPIC, once)
        refused = {name: None for name in once if name not in allowed}
        request = topic_rights.with_topics(
            request, [topic for topic in request.topics if topic.name not in refused]
        )
    mutations = broker.throttle.mutations(context, STRICT_SINCE)
    response = await broker.execute(
        lambda image: partitions.create_partitions(image, request, controller.context, mutations)
    )
    response.throttle_time_ms = mutations.throttle_ms()
    changed = [result.name for result in response.results if not result.error_code]
    if changed and not request.validate_only:
        rights.audit.changed(context, "partitions added", topics=changed)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response.results += [CreatePartitionsTopicResult(name, code, None) for name in refused]
    return response


def refusal(request: CreatePartitionsRequest, error: KafkaError, version: int) -> CreatePartitionsResponse:
    """If the whole request fails, each topic gets the error."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )
