"""FindCoordinator (versions 0 to 6): the broker that coordinates a group.

The id of a group determines a partition of `__consumer_offsets`, and the leader of that partition coordinates
the group. The topic is created when the first client asks. From version 4 on a request may have several keys
(KIP-699).

Not here yet: transactional ids (key type 1) and share groups (key type 2, answered with INVALID_REQUEST).

For a transactional id the error must make each client give up at once. librdkafka does so only for
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: after UNSUPPORTED_VERSION it repeats the request until its user sees a
time-out. It sends versions up to 2. The Java client sends later versions. It gives up after
UNSUPPORTED_VERSION, and shows our message only then.
"""

import logging
from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import endpoints, topic_creation
from gralha.broker.pipeline import RequestContext
from gralha.metadata.topic_names import OFFSETS_TOPIC
from gralha.protocol.coordinators import partition_for
from gralha.protocol.errors import (
    CoordinatorNotAvailableError,
    ErrorCode,
    InvalidRequestError,
    KafkaError,
    UnsupportedVersionError,
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
NO_TRANSACTIONS: Final = (
    "This broker has no transactions yet: remove transactional.id from the producer's settings. "
    "An idempotent producer (enable.idempotence=true) works."
)

log = logging.getLogger("gralha.broker")


def handle(
    broker: Broker, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
    if request.key_type != GROUP:
        return _answer(broker, context, request, None)
    if OFFSETS_TOPIC not in broker.image.topics:
        return _create_and_answer(broker, context, request)
    if not broker.replicas.is_settled:
        return _settle_and_answer(broker, context, request)
    return _answer(broker, context, request, None)


async def _create_and_answer(
    broker: Broker, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    errors = await topic_creation.create(broker, context, [OFFSETS_TOPIC])
    return _answer(broker, context, request, errors.get(OFFSETS_TOPIC))


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
    keys = request.coordinator_keys if several else [request.key]
    coordinators = [_find(broker, context.peer.listener, request.key_type, key, failure) for key in keys]
    if several:
        return FindCoordinatorResponse(coordinators=coordinators)
    only = coordinators[0]
    is_refused = request.key_type == TRANSACTION and only.error_code == ErrorCode.UNSUPPORTED_VERSION
    return FindCoordinatorResponse(
        error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if is_refused else only.error_code,
        error_message=only.error_message or "NONE",  # Kafka's text for no error, which some tools print
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _find(broker: Broker, listener: str, key_type: int, key: str, failure: KafkaError | None) -> Coordinator:
    try:
        if failure is not None:
            raise CoordinatorNotAvailableError(f"{OFFSETS_TOPIC} cannot be created: {failure.message}")
        node = _coordinator(broker, listener, key_type, key)
    except KafkaError as error:
        return Coordinator(key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message)
    return Coordinator(key=key, node_id=node.id, host=node.host, port=node.port)


def _coordinator(broker: Broker, listener: str, key_type: int, key: str) -> endpoints.BrokerNode:
    if key_type == TRANSACTION:
        log.warning("The transactional.id '%s' was refused. %s", key, NO_TRANSACTIONS)
        raise UnsupportedVersionError(NO_TRANSACTIONS)
    if key_type == SHARE:
        raise InvalidRequestError("This broker has no share coordinator")
    if key_type != GROUP:
        raise InvalidRequestError(f"There are no coordinators of type {key_type}")
    topic = broker.image.topics.get(OFFSETS_TOPIC)
    if topic is None:
        raise CoordinatorNotAvailableError()
    partition = topic.partitions[partition_for(key, len(topic.partitions))]
    node = endpoints.alive_node(broker.image, partition.leader, listener)
    if node is None:
        raise CoordinatorNotAvailableError()
    return node
