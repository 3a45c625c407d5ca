"""CreatePartitions (versions 0 to 3): more partitions for a topic, placed by the controller or by hand.

Each topic succeeds or fails by itself. The answer leaves when the partitions are committed and those that
belong on this broker have their logs.

Gaps: timeout_ms is not looked at, as in CreateTopics.
"""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import partitions
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)


async def decide(
    broker: Broker, context: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    controller = broker.controller
    return await broker.execute(
        lambda image: partitions.create_partitions(image, request, controller.context)
    )


def refusal(request: CreatePartitionsRequest, error: KafkaError, version: int) -> CreatePartitionsResponse:
    """A request that fails as a whole fails for each topic."""
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )
