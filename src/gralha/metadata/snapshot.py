"""The records of an image, as a snapshot of the metadata log has them."""

from collections.abc import Iterator, Mapping

from gralha.metadata.acls import acl_record
from gralha.metadata.delegation_tokens import token_record
from gralha.metadata.image import (
    METADATA_VERSION,
    BrokerRegistration,
    ControllerRegistration,
    MetadataImage,
    PartitionImage,
)
from gralha.protocol.client_quotas import QuotaEntity
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_records import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from gralha.protocol.messages.cluster_records import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
    ProducerIdsRecord,
)
from gralha.protocol.messages.security_records import UserScramCredentialRecord
from gralha.protocol.messages.topic_records import PartitionRecord, TopicRecord


def snapshot_records(image: MetadataImage) -> Iterator[Message]:
    """The records of an image, in an order in which they can be applied. The metadata version is first."""
    yield from _feature_records(image.features)
    for controller in image.controllers.values():
        yield controller_record(controller)
    for broker in image.brokers.values():
        yield broker_record(broker)
    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in topic.partitions.items():
            yield partition_record(topic.id, index, partition)
    for (resource_type, resource_name), values in image.configs.items():
        for name, value in values.items():
            yield ConfigRecord(
                resource_type=resource_type, resource_name=resource_name, name=name, value=value
            )
    for (name, mechanism), credential in image.scram.items():
        yield UserScramCredentialRecord(
            name=name,
            mechanism=mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for token in image.delegation_tokens.values():
        yield token_record(token)
    for entity, quotas in image.client_quotas.items():
        for name, limit in quotas.items():
            yield quota_record(entity, name, limit)
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    for acl_id, acl in image.acls.by_id.items():
        yield acl_record(acl_id, acl)


def _feature_records(features: Mapping[str, int]) -> Iterator[Message]:
    for name in sorted(features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=features[name])


def broker_record(broker: BrokerRegistration) -> RegisterBrokerRecord:
    """The record that registers a broker."""
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(one.name, one.host, one.port, one.security_protocol) for one in broker.endpoints
        ],
        features=[BrokerFeature(name, *levels) for name, levels in broker.features.items()],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if broker.cordoned_log_dirs is None else list(broker.cordoned_log_dirs),
    )


def controller_record(controller: ControllerRegistration) -> RegisterControllerRecord:
    """The record that registers a controller."""
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        end_points=[
            ControllerEndpoint(one.name, one.host, one.port, one.security_protocol)
            for one in controller.endpoints
        ],
        features=[ControllerFeature(name, *levels) for name, levels in controller.features.items()],
    )


def quota_record(entity: QuotaEntity, name: str, value: float | None) -> ClientQuotaRecord:
    """The record that sets a quota. A value of None removes it."""
    return ClientQuotaRecord(
        entity=[EntityData(*part) for part in entity], key=name, value=value or 0.0, remove=value is None
    )


def partition_record(topic_id: bytes, index: int, partition: PartitionImage) -> PartitionRecord:
    """The record that creates a partition in its current state."""
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.eligible_leader_replicas) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )
