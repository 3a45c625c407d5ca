"""CreateTopics and DeleteTopics. Each topic is decided separately; the records are appended together."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from gralha.metadata.config_keys import (
    TOPIC_CONFIGS,
    BrokerConfigLayers,
    topic_config_value_and_source,
)
from gralha.metadata.controller.configs import check_topic_configs
from gralha.metadata.controller.decision import (
    MAX_RECORDS_PER_REQUEST,
    NO_QUOTA,
    ControllerContext,
    Decision,
    Mutations,
)
from gralha.metadata.controller.partitions import assigned_partitions, placed_partitions
from gralha.metadata.image import TOPIC_RESOURCE, MetadataImage, PartitionImage
from gralha.metadata.snapshot import partition_record
from gralha.metadata.topic_names import CLUSTER_METADATA_TOPIC, invalid_reason, unified_name
from gralha.protocol.errors import (
    ErrorCode,
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    TopicDeletionDisabledError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from gralha.protocol.message import Message
from gralha.protocol.messages.cluster_records import ConfigRecord
from gralha.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from gralha.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from gralha.protocol.messages.topic_records import RemoveTopicRecord, TopicRecord
from gralha.protocol.primitives import ZERO_UUID

_SHOWN_CONFIGS: Final = sorted(name for name, key in TOPIC_CONFIGS.items() if not key.internal)


# CreateTopics


def create_topics(
    image: MetadataImage,
    request: CreateTopicsRequest,
    context: ControllerContext,
    mutations: Mutations = NO_QUOTA,
) -> Decision[CreateTopicsResponse]:
    """Decides for each topic. With `validate_only`, nothing is recorded."""
    counts = Counter(topic.name for topic in request.topics)
    taken: dict[str, str] = {}
    results: dict[str, CreatableTopicResult] = {}
    records: list[Message] = []
    too_many = _partition_total(image, request, context) > MAX_RECORDS_PER_REQUEST
    for topic in request.topics:
        if topic.name in results:
            continue
        try:
            if too_many:
                raise PolicyViolationError("Excessively large number of partitions per request.")
            _check_name(image, topic.name, counts[topic.name], taken)
            result, topic_records = _create_topic(image, topic, context, mutations)
        except KafkaError as error:
            result = CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
        else:
            taken[unified_name(topic.name) or topic.name] = topic.name
            records += topic_records
        results[topic.name] = result
    response = CreateTopicsResponse(topics=list(results.values()))
    return Decision(response, [] if request.validate_only else records)


def _partition_total(image: MetadataImage, request: CreateTopicsRequest, context: ControllerContext) -> int:
    default = context.broker_number(image, "num.partitions")
    return sum(
        len(topic.assignments) or (default if topic.num_partitions == -1 else max(topic.num_partitions, 0))
        for topic in request.topics
    )


def _check_name(image: MetadataImage, name: str, count: int, taken: dict[str, str]) -> None:
    if count > 1:
        raise InvalidRequestError("Duplicate topic name.")
    if name == CLUSTER_METADATA_TOPIC:
        raise InvalidRequestError(f"Creation of internal topic {name} is prohibited.")
    reason = invalid_reason(name)
    if reason is not None:
        raise InvalidTopicError(reason)
    if name in image.topics:
        raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
    unified = unified_name(name)
    if unified is not None:
        # If the names of two topics differ only in '.' and '_', their metrics have the same name.
        colliding = image.unified_names.get(unified) or taken.get(unified)
        if colliding is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {colliding}")


def _create_topic(
    image: MetadataImage, topic: CreatableTopic, context: ControllerContext, mutations: Mutations
) -> tuple[CreatableTopicResult, list[Message]]:
    configs = _creation_configs(topic)
    partitions = _new_partitions(image, topic, context)
    mutations.record(len(partitions))
    topic_id = context.new_uuid()
    records: list[Message] = [TopicRecord(name=topic.name, topic_id=topic_id)]
    records += [
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=topic.name, name=name, value=value)
        for name, value in configs.items()
    ]
    records += [partition_record(topic_id, index, one) for index, one in enumerate(partitions)]
    result = CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
        configs=_result_configs(configs, context.config_layers(image)),
    )
    return result, records


def _result_configs(configs: Mapping[str, str], layers: BrokerConfigLayers) -> list[CreatableTopicConfigs]:
    results = []
    for name in _SHOWN_CONFIGS:
        value, source = topic_config_value_and_source(name, configs, layers)
        results.append(CreatableTopicConfigs(name=name, value=value, config_source=source))
    return results


def _creation_configs(topic: CreatableTopic) -> dict[str, str]:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise InvalidConfigError(f"Null value not supported for topic configs: {','.join(nulls)}")
    configs = {config.name: config.value for config in topic.configs if config.value is not None}
    check_topic_configs(configs)
    return configs


def _new_partitions(
    image: MetadataImage, topic: CreatableTopic, context: ControllerContext
) -> list[PartitionImage]:
    if topic.assignments:
        return _assigned_partitions(image, topic)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise InvalidReplicationFactorError(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
    count = topic.num_partitions
    if count == -1:
        count = context.broker_number(image, "num.partitions")
    replication_factor = topic.replication_factor
    if replication_factor == -1:
        replication_factor = context.broker_number(image, "default.replication.factor")
    return placed_partitions(image, count, replication_factor, context)


def _assigned_partitions(image: MetadataImage, topic: CreatableTopic) -> list[PartitionImage]:
    if topic.replication_factor != -1:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if topic.num_partitions != -1:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    by_index: dict[int, CreatableReplicaAssignment] = {}
    for assignment in topic.assignments:
        if assignment.partition_index in by_index:
            raise InvalidReplicaAssignmentError(
                f"Found multiple manual partition assignments for partition {assignment.partition_index}"
            )
        by_index[assignment.partition_index] = assignment
    replicas = [by_index[index].broker_ids for index in sorted(by_index)]
    partitions = assigned_partitions(image, replicas, sorted(by_index), None)
    if sorted(by_index) != list(range(len(by_index))):
        raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
    return partitions


# DeleteTopics


def delete_topics(
    image: MetadataImage,
    request: DeleteTopicsRequest,
    context: ControllerContext,
    version: int,
    mutations: Mutations = NO_QUOTA,
) -> Decision[DeleteTopicsResponse]:
    """Deletes topics by name or by id. A topic that is named twice, also once each, is not deleted."""
    if not context.broker_flag(image, "delete.topic.enable"):
        if version < 3:
            raise InvalidRequestError("Topic deletion is disabled.")
        raise TopicDeletionDisabledError("Topic deletion is disabled.")
    states = [*request.topics, *(DeleteTopicState(name=name) for name in request.topic_names)]
    counts = Counter((state.name, state.topic_id) for state in states)
    results: dict[tuple[str | None, bytes], DeletableTopicResult] = {}
    records: list[Message] = []
    for state in states:
        key = (state.name, state.topic_id)
        if key in results:
            continue
        result = DeletableTopicResult(name=state.name, topic_id=state.topic_id)
        try:
            name, topic_id = _topic_to_delete(image, state, counts)
            mutations.record(len(image.topics_by_id[topic_id].partitions))
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        else:
            result.name, result.topic_id = name, topic_id
            records.append(RemoveTopicRecord(topic_id=topic_id))
        results[key] = result
    return Decision(DeleteTopicsResponse(responses=list(results.values())), records)


def _topic_to_delete(
    image: MetadataImage, state: DeleteTopicState, counts: Counter[tuple[str | None, bytes]]
) -> tuple[str, bytes]:
    if state.name is not None and state.topic_id != ZERO_UUID:
        raise InvalidRequestError("You may not specify both topic name and topic id.")
    if state.name is None and state.topic_id == ZERO_UUID:
        raise InvalidRequestError("Neither topic name nor id were specified.")
    if counts[state.name, state.topic_id] > 1:
        raise InvalidRequestError(f"Duplicate topic {'id' if state.name is None else 'name'}.")
    if state.name is None:
        topic = image.topics_by_id.get(state.topic_id)
        if topic is None:
            raise UnknownTopicIdError
    else:
        topic = image.topics.get(state.name)
        if topic is None:
            raise UnknownTopicOrPartitionError
    if counts[topic.name, ZERO_UUID] + counts[None, topic.id] > 1:
        raise InvalidRequestError("The provided topic name maps to an ID that was already supplied.")
    return topic.name, topic.id
