"""IncrementalAlterConfigs and AlterConfigs: the settings of topics, brokers and groups.

All changes of a resource are made, or none. Settings of BROKER_LOGGER (log levels) are not metadata, and the
brokers handle them. Settings of client metrics are refused, because no broker uses them.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from gralha.metadata.config_keys import (
    BROKER_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIGS,
    ConfigKey,
    ConfigType,
    split_list,
    validate_broker_configs,
    validate_group_configs,
    validate_topic_configs,
)
from gralha.metadata.controller.decision import ControllerContext, Decision
from gralha.metadata.controller.eligible_replicas import MIN_ISR, after_config_changes
from gralha.metadata.features import has_eligible_leader_replicas
from gralha.metadata.image import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    ConfigResource,
    MetadataImage,
)
from gralha.metadata.topic_names import invalid_reason
from gralha.protocol.errors import (
    BrokerIdNotRegisteredError,
    InvalidConfigError,
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    UnknownTopicOrPartitionError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages import alter_configs as legacy
from gralha.protocol.messages import incremental_alter_configs as incremental
from gralha.protocol.messages.cluster_records import ConfigRecord

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
_OPERATION_NAMES: Final = {SET: "SET", DELETE: "DELETE", APPEND: "APPEND", SUBTRACT: "SUBTRACT"}

MAX_VALUE_BYTES: Final = 32767

_KEYS: Final[dict[int, Mapping[str, ConfigKey]]] = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    GROUP_RESOURCE: GROUP_CONFIGS,
}


# IncrementalAlterConfigs


def incremental_alter_configs(
    image: MetadataImage, request: incremental.IncrementalAlterConfigsRequest, context: ControllerContext
) -> Decision[incremental.IncrementalAlterConfigsResponse]:
    """Sets or deletes single settings, or adds and removes items of lists."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    responses = []
    records: list[Message] = []
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        response = incremental.AlterConfigsResourceResponse(
            error_message=None, resource_type=key[0], resource_name=key[1]
        )
        try:
            _check_once(counts[key], [config.name for config in resource.configs])
            changes = _incremental_changes(image, key, resource.configs)
            records += _change_records(image, key, changes, context)
        except KafkaError as error:
            response.error_code, response.error_message = error.code, error.message
        responses.append(response)
    records += after_config_changes(image, records)
    return Decision(
        incremental.IncrementalAlterConfigsResponse(responses=responses),
        [] if request.validate_only else records,
    )


def _check_once(resource_count: int, names: list[str]) -> None:
    if resource_count > 1:
        raise InvalidRequestError("Each resource must appear at most once.")
    if len(set(names)) < len(names):
        raise InvalidRequestError("Error due to duplicate config keys")


def _incremental_changes(
    image: MetadataImage, resource: ConfigResource, configs: list[incremental.AlterableConfig]
) -> dict[str, str | None]:
    nulls = [one.name for one in configs if one.config_operation != DELETE and one.value is None]
    if nulls:
        raise InvalidRequestError(f"Null value not supported for : {', '.join(nulls)}")
    current = image.configs.get(resource, {})
    changes: dict[str, str | None] = {}
    for one in configs:
        if one.config_operation == SET:
            changes[one.name] = one.value
        elif one.config_operation == DELETE:
            changes[one.name] = None
        elif one.config_operation in (APPEND, SUBTRACT):
            changes[one.name] = _change_list(resource, one, current.get(one.name))
        else:
            raise InvalidRequestError(f"Unknown operations type {one.config_operation}")
    return changes


def _change_list(resource: ConfigResource, change: incremental.AlterableConfig, current: str | None) -> str:
    key = _KEYS.get(resource[0], {}).get(change.name)
    if key is None or key.type is not ConfigType.LIST:
        operation = _OPERATION_NAMES[change.config_operation]
        raise InvalidConfigError(f"Can't {operation} to key {change.name} because its type is not LIST.")
    items = [item for item in split_list(key.default_text or "" if current is None else current) if item]
    for item in split_list(change.value or ""):
        if change.config_operation == APPEND:
            if item not in items:
                items.append(item)
        elif item in items:
            items.remove(item)
    return ",".join(items)


# AlterConfigs


def alter_configs(
    image: MetadataImage, request: legacy.AlterConfigsRequest, context: ControllerContext
) -> Decision[legacy.AlterConfigsResponse]:
    """The older call: it sets the given settings and removes all others of the resource."""
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    responses = []
    records: list[Message] = []
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        response = legacy.AlterConfigsResourceResponse(
            error_message=None, resource_type=key[0], resource_name=key[1]
        )
        try:
            _check_once(counts[key], [config.name for config in resource.configs])
            nulls = [config.name for config in resource.configs if config.value is None]
            if nulls:
                raise InvalidRequestError(f"Null value not supported for : {', '.join(nulls)}")
            changes: dict[str, str | None] = dict.fromkeys(image.configs.get(key, {}))
            changes.update({config.name: config.value for config in resource.configs})
            records += _change_records(image, key, changes, context)
        except KafkaError as error:
            response.error_code, response.error_message = error.code, error.message
        responses.append(response)
    records += after_config_changes(image, records)
    return Decision(
        legacy.AlterConfigsResponse(responses=responses), [] if request.validate_only else records
    )


# Both


def _change_records(
    image: MetadataImage, resource: ConfigResource, changes: dict[str, str | None], context: ControllerContext
) -> list[Message]:
    """The records of the changes. The settings are checked as they will be after the changes."""
    current = image.configs.get(resource, {})
    for value in changes.values():
        if value is not None and len(value.encode()) > MAX_VALUE_BYTES:
            raise InvalidConfigError(
                "The configuration value cannot be added because it exceeds the maximum value size of "
                f"{MAX_VALUE_BYTES} bytes."
            )
    after = {**current, **changes}
    _check_resource(
        image, resource, {name: value for name, value in after.items() if value is not None}, context
    )
    _check_min_isr(image, resource, changes)
    return [
        ConfigRecord(resource_type=resource[0], resource_name=resource[1], name=name, value=value)
        for name, value in changes.items()
        # A broker's record is written even if nothing changes: it makes the broker reload files such as
        # certificates.
        if current.get(name) != value or resource[0] == BROKER_RESOURCE
    ]


def _check_min_isr(image: MetadataImage, resource: ConfigResource, changes: dict[str, str | None]) -> None:
    """All brokers must have the same minimum, because it decides which replicas are eligible (KIP-966)."""
    if resource[0] != BROKER_RESOURCE or MIN_ISR not in changes:
        return
    if resource[1] and has_eligible_leader_replicas(image.features):
        raise InvalidConfigError("Broker-level min.insync.replicas cannot be altered while ELR is enabled.")


def _check_resource(
    image: MetadataImage, resource: ConfigResource, configs: Mapping[str, str], context: ControllerContext
) -> None:
    kind, name = resource
    if kind == TOPIC_RESOURCE:
        _check_topic(image, name, configs)
    elif kind == BROKER_RESOURCE:
        _check_broker(image, name, configs, context)
    elif kind == GROUP_RESOURCE:
        if not name:
            raise InvalidRequestError("Default group resources are not allowed.")
        why = validate_group_configs(configs, context.config_layers(image))
        if why is not None:
            raise InvalidConfigError(why)
    else:
        raise InvalidRequestError(f"Unknown resource type {kind}")


def _check_topic(image: MetadataImage, name: str, configs: Mapping[str, str]) -> None:
    if not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    reason = invalid_reason(name)
    if reason is not None:
        raise InvalidTopicError(reason)
    check_topic_configs(configs)
    if name not in image.topics:
        raise UnknownTopicOrPartitionError(f"The topic '{name}' does not exist.")


def check_topic_configs(configs: Mapping[str, str]) -> None:
    """Raises InvalidConfigError for settings that a topic cannot have."""
    why = validate_topic_configs(configs)
    if why is not None:
        raise InvalidConfigError(why)


def _check_broker(
    image: MetadataImage, name: str, configs: Mapping[str, str], context: ControllerContext
) -> None:
    if name:
        if not (name.isascii() and name.isdigit()):
            raise InvalidRequestError("Unable to parse broker name as a base 10 number.")
        if int(name) not in image.brokers and int(name) != context.node_id:
            raise BrokerIdNotRegisteredError(f"No node with id {name} found.")
    why = validate_broker_configs(configs, per_broker=bool(name))
    if why is not None:
        # KAFKA-13609: Kafka answers INVALID_REQUEST for brokers, and clients may rely on that.
        raise InvalidRequestError(why)
