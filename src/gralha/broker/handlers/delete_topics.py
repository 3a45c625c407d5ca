"""DeleteTopics (versions 1 to 6): deletes topics by name, from version 6 on by name or id.

Each topic succeeds or fails by itself, but all fail if delete.topic.enable is false. The answer is sent when
the deletion is committed. Then the names are free again. The files are deleted after file.delete.delay.ms.

Gaps: timeout_ms is ignored, as in CreateTopics.
"""

from collections import Counter
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.broker.rights import Rights
from gralha.metadata.controller import topics
from gralha.metadata.image import MetadataImage
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError, error_message
from gralha.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from gralha.protocol.primitives import ZERO_UUID

# From here on a client that has used up its quota is refused. Before, it was only held back (KIP-599).
STRICT_SINCE: Final = 5


async def decide(
    broker: Broker, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    controller = broker.controller
    rights = broker.rights
    refused: list[DeletableTopicResult] = []
    if rights.authorizer is not None:
        request, refused = _split(rights, context, request, controller.latest_image)
    mutations = broker.throttle.mutations(context, STRICT_SINCE)
    response = await broker.execute(
        lambda image: topics.delete_topics(image, request, controller.context, context.api_version, mutations)
    )
    response.throttle_time_ms = mutations.throttle_ms()
    deleted = [topic.name for topic in response.responses if not topic.error_code]
    if deleted:
        rights.audit.changed(context, "topics deleted", topics=deleted)
    response.responses += refused
    return response


def _split(
    rights: Rights, context: RequestContext, request: DeleteTopicsRequest, image: MetadataImage
) -> tuple[DeleteTopicsRequest, list[DeletableTopicResult]]:
    """The request for the topics that the caller may delete, and the results of the others.

    A caller that may not describe a topic does not learn its name from its id, nor whether a name exists.
    """
    if rights.sees(context, Operation.DELETE, ResourceType.CLUSTER):
        return request, []
    states = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    counts = Counter((state.name, state.topic_id) for state in states)
    allowed: list[DeleteTopicState] = []
    refused: list[DeletableTopicResult] = []
    for state in states:
        is_malformed = (state.name is None) == (state.topic_id == ZERO_UUID)
        if is_malformed or counts[state.name, state.topic_id] > 1:
            allowed.append(state)  # an error for everybody
        elif state.name is None:
            known = image.topics_by_id.get(state.topic_id)
            if known is None or _may(rights, context, Operation.DELETE, known.name):
                allowed.append(state)
            else:
                sees = rights.sees(context, Operation.DESCRIBE, ResourceType.TOPIC, known.name)
                refused.append(_refused(known.name if sees else None, state.topic_id))
        elif _may(rights, context, Operation.DESCRIBE, state.name) and (
            state.name not in image.topics or _may(rights, context, Operation.DELETE, state.name)
        ):
            allowed.append(state)
        else:
            refused.append(_refused(state.name, ZERO_UUID))
    changed = DeleteTopicsRequest(topics=allowed, topic_names=[], timeout_ms=request.timeout_ms)
    return changed, refused


def _may(rights: Rights, context: RequestContext, operation: Operation, topic: str) -> bool:
    return rights.may(context, operation, ResourceType.TOPIC, topic)


def _refused(name: str | None, topic_id: bytes) -> DeletableTopicResult:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=code, error_message=error_message(code)
    )


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
