"""FindCoordinator (versions 0 to 6): the broker that coordinates a group or a transactional id.

The key determines a partition of `__consumer_offsets` or of `__transaction_state`, and the leader of that
partition is the coordinator. The topic is created when the first client asks. From version 4 on a request may
have several keys (KIP-699).

Not here yet: share groups (key type 2, answered with INVALID_REQUEST).
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import endpoints, topic_creation
from gralha.broker.pipeline import RequestContext
from gralha.metadata.topic_names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.coordinators import CANNOT_BE_CREATED, partition_for
from gralha.protocol.errors import (
    CoordinatorNotAvailableError,
    InvalidRequestError,
    KafkaError,
)
from gralha.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
SEVERAL_KEYS_FROM_VERSION: Final = 4

# The topic whose partitions' leaders are the coordinators, by type of key.
TOPICS: Final = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTIONS_TOPIC}
RESOURCES: Final = {GROUP: ResourceType.GROUP, TRANSACTION: ResourceType.TRANSACTIONAL_ID}


def handle(
    broker: Broker, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
    topic = TOPICS.get(request.key_type)
    if topic is not None and not _may_describe_one(broker, context, request):
        return _answer(broker, context, request, None)
    if topic is None:
        return _answer(broker, context, request, None)
    if topic not in broker.image.topics:
        return _create_and_answer(broker, context, request, topic)
    if not broker.replicas.is_settled:
        return _settle_and_answer(broker, context, request)
    return _answer(broker, context, request, None)


async def _create_and_answer(
    broker: Broker, context: RequestContext, request: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    errors = await topic_creation.create_internal(broker, context, topic)
    return _answer(broker, context, request, errors.get(topic))


async def _settle_and_answer(
    broker: Broker, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """The topic is being created. Waits until its leaders have their coordinators.

    A client that gets NOT_COORDINATOR may wait for seconds before it asks again.
    """
    await broker.replicas.settled()
    return _answer(broker, context, request, None)


def _answer(
    broker: Broker, context: RequestContext, request: FindCoordinatorRequest, failure: KafkaError | None
) -> FindCoordinatorResponse:
    several = context.api_version >= SEVERAL_KEYS_FROM_VERSION
    coordinators = [_find(broker, context, request.key_type, key, failure) for key in _keys(context, request)]
    if several:
        return FindCoordinatorResponse(coordinators=coordinators)
    only = coordinators[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message or "NONE",  # Kafka's text for no error, which some tools print
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _keys(context: RequestContext, request: FindCoordinatorRequest) -> list[str]:
    several = context.api_version >= SEVERAL_KEYS_FROM_VERSION
    return request.coordinator_keys if several else [request.key]


def _may_describe_one(broker: Broker, context: RequestContext, request: FindCoordinatorRequest) -> bool:
    """Returns True if the request names something that the caller may describe.

    Otherwise its topic is not created for it.
    """
    rights = broker.rights
    if rights.authorizer is None:
        return True
    kind = RESOURCES[request.key_type]
    return any(rights.sees(context, Operation.DESCRIBE, kind, key) for key in _keys(context, request))


def _find(
    broker: Broker, context: RequestContext, key_type: int, key: str, failure: KafkaError | None
) -> Coordinator:
    try:
        kind = RESOURCES.get(key_type)
        if kind is not None:
            broker.rights.check(context, Operation.DESCRIBE, kind, key)
        if failure is not None:
            raise CoordinatorNotAvailableError(f"{TOPICS[key_type]} {CANNOT_BE_CREATED}: {failure.message}")
        node = _coordinator(broker, context.peer.listener, key_type, key)
    except KafkaError as error:
        return Coordinator(key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message)
    return Coordinator(key=key, node_id=node.id, host=node.host, port=node.port)


def _coordinator(broker: Broker, listener: str, key_type: int, key: str) -> endpoints.BrokerNode:
    if key_type == SHARE:
        raise InvalidRequestError("This broker has no share coordinator")
    if key_type not in TOPICS:
        raise InvalidRequestError(f"There are no coordinators of type {key_type}")
    topic = broker.image.topics.get(TOPICS[key_type])
    if topic is None:
        raise CoordinatorNotAvailableError()
    partition = topic.partitions[partition_for(key, len(topic.partitions))]
    node = endpoints.alive_node(broker.image, partition.leader, listener)
    if node is None:
        raise CoordinatorNotAvailableError()
    return node
