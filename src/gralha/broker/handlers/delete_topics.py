"""DeleteTopics (versions 1 to 6): topics by name, from version 6 on by name or id.

Each topic succeeds or fails by itself, unless delete.topic.enable is false, which fails them all. The answer
leaves when the deletion is committed: the names are free again, the files go after file.delete.delay.ms.

Gaps: timeout_ms is not looked at, as in CreateTopics.
"""

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


async def decide(
    broker: Broker, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    controller = broker.controller
    return await broker.execute(
        lambda image: topics.delete_topics(image, request, controller.context, context.api_version)
    )


def refusal(request: DeleteTopicsRequest, error: KafkaError, version: int) -> DeleteTopicsResponse:
    """A request that fails as a whole fails for each topic."""
    states = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=state.name, topic_id=state.topic_id, error_code=error.code, error_message=error.message
            )
            for state in states
        ]
    )
