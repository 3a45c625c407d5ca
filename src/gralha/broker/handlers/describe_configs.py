"""DescribeConfigs (versions 1 to 4): the configs of topics, brokers, groups and loggers, and their sources.

Without keys, all configs are in the answer. Synonyms are all places where a config can be set, strongest
first. Documentation and types are in the answer from version 3 on. The broker with an empty name has the
dynamic configs of all brokers. A broker answers only for itself. Sensitive configs have no value.

A group has configs even if it does not exist, as in Kafka.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.handlers import broker_loggers, config_resources
from gralha.broker.pipeline import RequestContext
from gralha.metadata.config_keys import (
    BrokerConfigLayers,
    ConfigSource,
    ConfigType,
    EffectiveConfig,
    default_broker_configs,
    effective_broker_configs,
    effective_group_configs,
    effective_topic_configs,
)
from gralha.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from gralha.metadata.topic_names import invalid_reason
from gralha.protocol.acls import Operation
from gralha.protocol.errors import (
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    UnknownTopicOrPartitionError,
)
from gralha.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

RESOURCES_PER_TURN: Final = 50


async def handle(
    broker: Broker, context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    results: dict[tuple[int, str], DescribeConfigsResult] = {}
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        if key not in results:
            results[key] = _describe(broker, context, request, resource)
            if len(results) % RESOURCES_PER_TURN == 0:
                await asyncio.sleep(0)  # lets other tasks run
    return DescribeConfigsResponse(results=list(results.values()))


def _describe(
    broker: Broker,
    context: RequestContext,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
    try:
        config_resources.check_rights(
            broker.rights,
            context,
            Operation.DESCRIBE_CONFIGS,
            resource.resource_type,
            resource.resource_name,
        )
        configs = _configs(broker, resource.resource_type, resource.resource_name)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
        return result
    keys = resource.configuration_keys
    result.configs = [
        _entry(config, request.include_synonyms, request.include_documentation)
        for config in configs
        if not keys or config.name in keys
    ]
    return result


def _configs(broker: Broker, kind: int, name: str) -> Iterable[EffectiveConfig]:
    image = broker.image
    config_resources.check_addressee(broker, kind, name)
    if kind == TOPIC_RESOURCE:
        reason = invalid_reason(name)
        if reason is not None:
            raise InvalidTopicError(reason)
        if name not in image.topics:
            raise UnknownTopicOrPartitionError()
        return effective_topic_configs(image.topic_configs(name), _layers(broker))
    if kind == BROKER_RESOURCE:
        if name:
            return effective_broker_configs(_layers(broker))
        return default_broker_configs(image.default_broker_configs())
    if kind == BROKER_LOGGER_RESOURCE:
        return _set_directly(broker_loggers.levels(), ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)
    if not name:
        raise InvalidRequestError("The name of the resource must not be empty")
    if kind == GROUP_RESOURCE:
        return effective_group_configs(image.configs.get((kind, name), {}), _layers(broker))
    if kind == CLIENT_METRICS_RESOURCE:
        return _set_directly(image.configs.get((kind, name), {}), ConfigSource.CLIENT_METRICS_CONFIG)
    raise InvalidRequestError(f"There are no resources of type {kind}")


def _layers(broker: Broker) -> BrokerConfigLayers:
    image = broker.image
    return BrokerConfigLayers(
        image.broker_configs(broker.config.node_id), image.default_broker_configs(), broker.config.texts
    )


def _set_directly(values: Mapping[str, str], source: ConfigSource) -> list[EffectiveConfig]:
    """Configs that inherit nothing and have no known type."""
    return [
        EffectiveConfig(name, value, source, False, False, ConfigType.UNKNOWN, None, [])
        for name, value in values.items()
    ]


def _entry(
    config: EffectiveConfig, include_synonyms: bool, include_documentation: bool
) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=config.source,
        is_sensitive=config.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in config.synonyms
        ]
        if include_synonyms
        else [],
        config_type=config.type,
        documentation=config.documentation if include_documentation else None,
    )
