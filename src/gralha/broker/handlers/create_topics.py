"""CreateTopics (versions 2 to 7): creates topics, placed by the controller or the caller.

Each topic succeeds or fails by itself. The answer is sent when the topics are committed and the active
controller, if it is a broker as well, has created its logs. The other brokers follow a moment later. From
version 5 on the answer has the configs of the topics, from version 7 on their ids.

Gaps: timeout_ms is ignored, because the commit takes milliseconds or never happens. Apache Kafka answers
REQUEST_TIMED_OUT to a timeout of 0. Here the topic is created.
"""

from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import topics
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

# From here on a client that has used up its quota is refused. Before, it was only held back (KIP-599).
STRICT_SINCE: Final = 6


async def decide(
    broker: Broker, context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    controller = broker.controller
    mutations = broker.throttle.mutations(context, STRICT_SINCE)
    response = await broker.execute(
        lambda image: topics.create_topics(image, request, controller.context, mutations)
    )
    response.throttle_time_ms = mutations.throttle_ms()
    return response


def refusal(request: CreateTopicsRequest, error: KafkaError, version: int) -> CreateTopicsResponse:
    """If the whole request fails, each topic gets the error."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )
