"""CreateTopics (versions 2 to 7): new topics, placed by the controller or by hand.

Each topic succeeds or fails by itself. The answer leaves when the topics are committed and the active
controller, if it is a broker as well, has its logs; the other brokers hear of them a moment later. It shows
their settings from version 5 on, their ids from 7.

Gaps: timeout_ms is not looked at, since the commit takes milliseconds or never comes. Apache Kafka answers
REQUEST_TIMED_OUT to a timeout of 0; here it creates the topic.
"""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import topics
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


async def decide(
    broker: Broker, context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    controller = broker.controller
    return await broker.execute(lambda image: topics.create_topics(image, request, controller.context))


def refusal(request: CreateTopicsRequest, error: KafkaError, version: int) -> CreateTopicsResponse:
    """A request that fails as a whole fails for each topic."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )
