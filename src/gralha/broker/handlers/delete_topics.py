"""DeleteTopics (versions 1 to 6): deletes topics by name, from version 6 on by name or id.

Each topic succeeds or fails by itself, but all fail if delete.topic.enable is false. The answer is sent when
the deletion is committed. Then the names are free again. The files are deleted after file.delete.delay.ms.

Gaps: timeout_ms is ignored, as in CreateTopics.
"""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import topics
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

# From here on a client that has used up its quota is refused. Before, it was only held back (KIP-599).
STRICT_SINCE: Final = 5


async def decide(
    broker: Broker, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    controller = broker.controller
    mutations = broker.throttle.mutations(context, STRICT_SINCE)
    response = await broker.execute(
        lambda image: topics.delete_topics(image, request, controller.context, context.api_version, mutations)
    )
    response.throttle_time_ms = mutations.throttle_ms()
    return response


def refusal(request: DeleteTopicsRequest, error: KafkaError, version: int) -> DeleteTopicsResponse:
    """If the whole request fails, each topic gets the error."""
    states = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=state.name, topic_id=state.topic_id, error_code=error.code, error_message=error.message
            )
            for state in states
        ]
    )
