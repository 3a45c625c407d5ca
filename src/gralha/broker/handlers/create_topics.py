"""CreateTopics (versions 2 to 7): creates topics, placed by the controller or the caller.

Each topic succeeds or fails by itself. The answer is sent when the topics are committed and the active
controller, if it is a broker as well, has created its logs. The other brokers follow a moment later. From
version 5 on the answer has the configs of the topics, from version 7 on their ids.

Gaps: timeout_ms is ignored, because the commit takes milliseconds or never happens. Apache Kafka answers
REQUEST_TIMED_OUT to a timeout of 0. Here the topic is created.
"""

from collections import Counter
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import topic_rights
from gralha.broker.pipeline import RequestContext
from gralha.broker.rights import Rights
from gralha.metadata.controller import topics
from gralha.metadata.topic_names import CLUSTER_METADATA_TOPIC
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
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
    rights = broker.rights
    refused: dict[str, None] = {}  # in the order of the request
    if rights.authorizer is not None:
        refused = _refused(rights, context, request)
        request = topic_rights.with_topics(
            request, [topic for topic in request.topics if topic.name not in refused]
        )
    mutations = broker.throttle.mutations(context, STRICT_SINCE)
    response = await broker.execute(
        lambda image: topics.create_topics(image, request, controller.context, mutations)
    )
    response.throttle_time_ms = mutations.throttle_ms()
    if rights.authorizer is not None:
        _hide_configs(rights, context, response)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    created = [topic.name for topic in response.topics if not topic.error_code]
    if created and not request.validate_only:
        rights.audit.changed(context, "topics created", topics=created)
    response.topics += [
        CreatableTopicResult(name=name, error_code=code, error_message="Authorization failed.")
        for name in refused
    ]
    return response


def _refused(rights: Rights, context: RequestContext, request: CreateTopicsRequest) -> dict[str, None]:
    """The topics that the caller may not create. Names that are refused for everybody are not among them."""
    if rights.sees(context, Operation.CREATE, ResourceType.CLUSTER):
        return {}
    counts = Counter(topic.name for topic in request.topics)
    asked = [name for name, count in counts.items() if count == 1 and name != CLUSTER_METADATA_TOPIC]
    return {
        name: None for name in asked if not rights.may(context, Operation.CREATE, ResourceType.TOPIC, name)
    }


def _hide_configs(rights: Rights, context: RequestContext, response: CreateTopicsResponse) -> None:
    """Leaves out the configs of topics whose configs the caller may not describe."""
    for topic in response.topics:
        if topic.error_code:
            continue
        if not rights.sees(context, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name):
            topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = []


def refusal(request: CreateTopicsRequest, error: KafkaError, version: int) -> CreateTopicsResponse:
    """If the whole request fails, each topic gets the error."""
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )
