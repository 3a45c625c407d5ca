"""Automatic creation of topics: those that a Metadata request names, and those of coordinators.

The settings are those of this broker, as in Kafka: num.partitions and default.replication.factor for ordinary
topics, offsets.topic.* and transaction.state.log.* for internal ones. If the replication factor is larger
than the number of brokers, the topic is not created. The error says so and names the setting, and so does
the log: a producer or a member of a group repeats its request, and its user sees nothing. An invalid topic
name is refused here and is not logged.
"""

from functools import partial
from typing import Final, cast

from gralha.broker.broker import Broker
from gralha.broker.handlers import create_topics
from gralha.broker.pipeline import Peer, RequestContext
from gralha.metadata.topic_names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, invalid_reason
from gralha.protocol.errors import ErrorCode, InvalidTopicError, KafkaError, error_for
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

# Clients that ask for metadata or a coordinator should try again instead of waiting for an election.
TIMEOUT_MS: Final = 5_000
# These settings have the number of replicas of the coordinators' topics.
REPLICATION_SETTINGS: Final = {
    OFFSETS_TOPIC: ["offsets.topic.replication.factor"],
    TRANSACTIONS_TOPIC: ["transaction.state.log.replication.factor", "transaction.state.log.min.isr"],
}


async def create_internal(broker: Broker, context: RequestContext, name: str) -> dict[str, KafkaError]:
    """Creates the topic of coordinators. That is this broker's own request: the client needs no right."""
    peer = context.peer
    own = Peer(peer.host, peer.port, peer.listener, peer.principal, peer.apis)
    own.is_this_node = True
    return await create(broker, RequestContext(own, context.api_version, context.client_id), [name])


async def create(broker: Broker, context: RequestContext, names: list[str]) -> dict[str, KafkaError]:
    """Creates topics and waits until they exist. Returns the errors of those that could not be created."""
    reasons = {name: invalid_reason(name) for name in names}
    errors: dict[str, KafkaError] = {
        name: InvalidTopicError(reason) for name, reason in reasons.items() if reason is not None
    }
    valid = [name for name in names if name not in errors]
    if not valid:
        return errors
    request = CreateTopicsRequest(topics=[_settings(broker, name) for name in valid])
    for result in (await _create(broker, context, request)).topics:
        # Another request may have created it meanwhile.
        if result.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            reason = result.error_message or ""
            if result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR:
                reason = f"{reason} {_way_out(broker, result.name)}"
            errors[result.name] = error_for(result.error_code, reason)
            about = result.name if result.name in REPLICATION_SETTINGS else "topics"
            broker.warnings.warn(
                f"{about}: {reason}", "Topic %s was not created automatically: %s", result.name, reason
            )
    return errors


def _way_out(broker: Broker, name: str) -> str:
    """The advice for a cluster that has fewer brokers than replicas."""
    usable = sum(not one.fenced for one in broker.image.brokers.values())
    settings = REPLICATION_SETTINGS.get(name, ["default.replication.factor"])
    wanted = " and ".join(f"{setting}={max(1, usable)}" for setting in settings)
    return f"Start more brokers, or set {wanted} in the file of each broker."


async def _create(
    broker: Broker, context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    asking = RequestContext(context.peer, request.MAX_VERSION, context.client_id)
    decide = partial(create_topics.decide, broker, asking, request)
    try:
        return cast(CreateTopicsResponse, await broker.decide(request, asking, decide, TIMEOUT_MS))
    except KafkaError as error:
        return create_topics.refusal(request, error, request.MAX_VERSION)


def _settings(broker: Broker, name: str) -> CreatableTopic:
    config = broker.config
    if name == OFFSETS_TOPIC:
        return CreatableTopic(
            name=name,
            num_partitions=config.number("offsets.topic.num.partitions"),
            replication_factor=config.number("offsets.topic.replication.factor"),
            configs=_configs(
                {
                    "cleanup.policy": "compact",
                    "compression.type": "producer",
                    "segment.bytes": str(config.number("offsets.topic.segment.bytes")),
                }
            ),
        )
    if name == TRANSACTIONS_TOPIC:
        return CreatableTopic(
            name=name,
            num_partitions=config.number("transaction.state.log.num.partitions"),
            replication_factor=config.number("transaction.state.log.replication.factor"),
            configs=_configs(
                {
                    "cleanup.policy": "compact",
                    "compression.type": "uncompressed",
                    "min.insync.replicas": str(config.number("transaction.state.log.min.isr")),
                    "segment.bytes": str(config.number("transaction.state.log.segment.bytes")),
                    "unclean.leader.election.enable": "false",
                }
            ),
        )
    return CreatableTopic(
        name=name,
        num_partitions=config.number("num.partitions"),
        replication_factor=config.number("default.replication.factor"),
    )


def _configs(values: dict[str, str]) -> list[CreatableTopicConfig]:
    return [CreatableTopicConfig(name=name, value=value) for name, value in values.items()]
