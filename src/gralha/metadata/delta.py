"""Applies records to an image. The result is the next image and what has changed.

    delta = ImageDelta(image)
    for record in records: delta.apply(record)
    image, change = delta.finish(offset, epoch)

A delta copies a part of the image when a record changes that part for the first time. The maps of topics are
large, so the next image shares them with the last one (`shared_map`). A record that contradicts the image (a
partition of an unknown topic, a broker epoch that is not the current one) raises MetadataError.
"""

from collections.abc import Callable
from typing import Any, Final

from gralha.metadata.acls import AclsDelta, changed_between
from gralha.metadata.delegation_tokens import DelegationToken, token_from
from gralha.metadata.image import (
    NO_LEADER_CHANGE,
    TOPIC_RESOURCE,
    BrokerRegistration,
    ConfigResource,
    ControllerRegistration,
    Endpoint,
    ImageChange,
    MetadataError,
    MetadataImage,
    PartitionImage,
    ScramCredential,
    ScramKey,
    TopicImage,
)
from gralha.metadata.topic_names import unified_name
from gralha.protocol.client_quotas import QuotaEntity, quota_entity
from gralha.protocol.message import Message
from gralha.protocol.messages.broker_records import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from gralha.protocol.messages.cluster_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
)
from gralha.protocol.messages.security_records import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from gralha.protocol.messages.topic_records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from gralha.protocol.shared_map import SharedMapChange


class ImageDelta:
    """Builds the next image."""

    def __init__(self, image: MetadataImage) -> None:
        self._before = image
        # A part is None until this delta changes it.
        self._topics: SharedMapChange[str, TopicImage] | None = None
        self._topics_by_id: SharedMapChange[bytes, TopicImage] | None = None
        self._unified_names: SharedMapChange[str, str] | None = None
        self._configs: dict[ConfigResource, dict[str, str]] | None = None
        self._brokers: dict[int, BrokerRegistration] | None = None
        self._controllers: dict[int, ControllerRegistration] | None = None
        self._features: dict[str, int] | None = None
        self._scram: dict[ScramKey, ScramCredential] | None = None
        self._next_producer_id = image.next_producer_id
        self._acls: AclsDelta | None = None
        self._client_quotas: dict[QuotaEntity, dict[str, float]] | None = None
        self._delegation_tokens: dict[str, DelegationToken] | None = None
        # The partitions that this delta has copied and may change in place, by topic id.
        self._own_partitions: dict[bytes, dict[int, PartitionImage]] = {}
        self._own_configs: set[ConfigResource] = set()
        self._deleted_topics: dict[bytes, TopicImage] = {}

    def apply(self, record: Message) -> None:
        """Applies one record."""
        handler = _HANDLERS.get(type(record))
        if handler is None:
            raise MetadataError(f"cannot apply a {type(record).__name__}")
        handler(self, record)

    def finish(self, offset: int, epoch: int) -> tuple[MetadataImage, ImageChange]:
        """The image after all records, which end at `offset`, and the change."""
        before = self._before
        after = MetadataImage(
            offset,
            epoch,
            before.brokers if self._brokers is None else self._brokers,
            before.controllers if self._controllers is None else self._controllers,
            before.topics if self._topics is None else self._topics.finish(),
            before.topics_by_id if self._topics_by_id is None else self._topics_by_id.finish(),
            before.unified_names if self._unified_names is None else self._unified_names.finish(),
            before.configs if self._configs is None else self._configs,
            before.features if self._features is None else self._features,
            self._next_producer_id,
            before.scram if self._scram is None else self._scram,
            before.acls if self._acls is None else self._acls.finish(),
            before.client_quotas if self._client_quotas is None else self._client_quotas,
            before.delegation_tokens if self._delegation_tokens is None else self._delegation_tokens,
        )
        return after, self._change(after)

    def _change(self, after: MetadataImage) -> ImageChange:
        before = self._before
        changed = [after.topics_by_id[id_] for id_ in self._own_partitions]
        added_acls, removed_acls = ([], []) if self._acls is None else self._acls.changed(after.acls)
        return ImageChange(
            changed_topics=changed,
            deleted_topics=list(self._deleted_topics.values()),
            changed_configs=sorted(self._own_configs),
            changed_brokers=_changed_keys(before.brokers, after.brokers),
            added_acls=added_acls,
            removed_acls=removed_acls,
            client_quotas_changed=before.client_quotas != after.client_quotas,
        )

    # Topics

    def _own_topics(self) -> SharedMapChange[str, TopicImage]:
        if self._topics is None:
            self._topics = self._before.topics.change()
        return self._topics

    def _own_topics_by_id(self) -> SharedMapChange[bytes, TopicImage]:
        if self._topics_by_id is None:
            self._topics_by_id = self._before.topics_by_id.change()
        return self._topics_by_id

    def _own_unified_names(self) -> SharedMapChange[str, str]:
        if self._unified_names is None:
            self._unified_names = self._before.unified_names.change()
        return self._unified_names

    def _apply_topic(self, record: TopicRecord) -> None:
        topics = self._own_topics()
        by_id = self._own_topics_by_id()
        if record.name in topics or record.topic_id in by_id:
            raise MetadataError(f"topic {record.name} is created twice")
        partitions: dict[int, PartitionImage] = {}
        topic = TopicImage(record.name, record.topic_id, partitions)
        topics[topic.name] = by_id[topic.id] = topic
        self._own_partitions[topic.id] = partitions
        unified = unified_name(topic.name)
        if unified is not None:
            self._own_unified_names()[unified] = topic.name

    def _apply_remove_topic(self, record: RemoveTopicRecord) -> None:
        by_id = self._own_topics_by_id()
        topic = by_id.get(record.topic_id)
        if topic is None:
            raise MetadataError("a record removes a topic that does not exist")
        del by_id[topic.id]
        del self._own_topics()[topic.name]
        self._own_partitions.pop(topic.id, None)
        if topic.id in self._before.topics_by_id:
            self._deleted_topics[topic.id] = self._before.topics_by_id[topic.id]
        unified = unified_name(topic.name)
        if unified is not None and self._own_unified_names().get(unified) == topic.name:
            del self._own_unified_names()[unified]
        self._remove_configs((TOPIC_RESOURCE, topic.name))

    def _partitions_to_change(self, topic_id: bytes) -> dict[int, PartitionImage]:
        """The partitions of a topic. The first call copies them."""
        partitions = self._own_partitions.get(topic_id)
        if partitions is None:
            by_id = self._own_topics_by_id()
            topic = by_id.get(topic_id)
            if topic is None:
                raise MetadataError("a record changes a partition of a topic that does not exist")
            partitions = dict(topic.partitions)
            changed = TopicImage(topic.name, topic_id, partitions)
            self._own_topics()[topic.name] = by_id[topic_id] = changed
            self._own_partitions[topic_id] = partitions
        return partitions

    def _apply_partition(self, record: PartitionRecord) -> None:
        partitions = self._partitions_to_change(record.topic_id)
        if record.partition_id not in partitions and record.partition_id != len(partitions):
            raise MetadataError(f"partition {record.partition_id} follows partition {len(partitions) - 1}")
        partitions[record.partition_id] = PartitionImage(
            tuple(record.replicas),
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            tuple(record.directories),
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
            tuple(record.eligible_leader_replicas or ()),
            tuple(record.last_known_elr or ()),
            record.leader_recovery_state,
        )

    def _apply_partition_change(self, record: PartitionChangeRecord) -> None:
        partitions = self._partitions_to_change(record.topic_id)
        old = partitions.get(record.partition_id)
        if old is None:
            raise MetadataError(f"partition {record.partition_id} changes, but does not exist")
        partitions[record.partition_id] = changed_partition(old, record)

    def _apply_clear_elr(self, record: ClearElrRecord) -> None:
        """Clears the eligible leader replicas of one topic, or of all topics if none is named."""
        topics = self._own_topics()
        named = topics.get(record.topic_name)
        if record.topic_name and named is None:
            raise MetadataError(f"topic {record.topic_name} changes, but does not exist")
        for topic in topics.values() if named is None else (named,):
            for index, old in topic.partitions.items():
                if old.eligible_leader_replicas or old.last_known_elr:
                    self._partitions_to_change(topic.id)[index] = old._replace(
                        partition_epoch=old.partition_epoch + 1,
                        eligible_leader_replicas=(),
                        last_known_elr=(),
                    )

    # Configs

    def _apply_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        if self._configs is None:
            self._configs = dict(self._before.configs)  # type: ignore[arg-type]
        if resource not in self._own_configs:
            self._own_configs.add(resource)
            self._configs[resource] = dict(self._configs.get(resource, {}))
        values = self._configs.setdefault(resource, {})
        if record.value is not None:
            values[record.name] = record.value
        else:
            values.pop(record.name, None)
        if not values:
            del self._configs[resource]

    def _remove_configs(self, resource: ConfigResource) -> None:
        configs = self._before.configs if self._configs is None else self._configs
        if resource in configs:
            if self._configs is None:
                self._configs = dict(self._before.configs)  # type: ignore[arg-type]
            del self._configs[resource]
            self._own_configs.add(resource)

    # Brokers and controllers

    def _own_brokers(self) -> dict[int, BrokerRegistration]:
        if self._brokers is None:
            self._brokers = dict(self._before.brokers)
        return self._brokers

    def _apply_register_broker(self, record: RegisterBrokerRecord) -> None:
        self._own_brokers()[record.broker_id] = BrokerRegistration(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            _endpoints(record.end_points),
            _features(record.features),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            tuple(record.log_dirs),
            None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
        )

    def _registered(self, broker_id: int, epoch: int) -> BrokerRegistration:
        registration = self._own_brokers().get(broker_id)
        if registration is None or registration.epoch != epoch:
            raise MetadataError(f"broker {broker_id} is not registered with epoch {epoch}")
        return registration

    def _apply_unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._registered(record.broker_id, record.broker_epoch)
        del self._own_brokers()[record.broker_id]

    def _apply_fence(self, record: FenceBrokerRecord) -> None:
        registration = self._registered(record.id, record.epoch)
        self._own_brokers()[record.id] = registration._replace(fenced=True)

    def _apply_unfence(self, record: UnfenceBrokerRecord) -> None:
        registration = self._registered(record.id, record.epoch)
        self._own_brokers()[record.id] = registration._replace(fenced=False)

    def _apply_broker_change(self, record: BrokerRegistrationChangeRecord) -> None:
        registration = self._registered(record.broker_id, record.broker_epoch)
        self._own_brokers()[record.broker_id] = registration._replace(
            fenced=record.fenced > 0 if record.fenced else registration.fenced,
            in_controlled_shutdown=bool(record.in_controlled_shutdown) or registration.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs) or registration.log_dirs,
            cordoned_log_dirs=registration.cordoned_log_dirs
            if record.cordoned_log_dirs is None
            else tuple(record.cordoned_log_dirs),
        )

    def _apply_register_controller(self, record: RegisterControllerRecord) -> None:
        if self._controllers is None:
            self._controllers = dict(self._before.controllers)
        self._controllers[record.controller_id] = ControllerRegistration(
            record.controller_id,
            record.incarnation_id,
            _endpoints(record.end_points),
            _features(record.features),
        )

    # Access control lists

    def _own_acls(self) -> AclsDelta:
        if self._acls is None:
            self._acls = AclsDelta(self._before.acls)
        return self._acls

    def _apply_acl(self, record: AccessControlEntryRecord) -> None:
        self._own_acls().add(record)

    def _apply_remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        self._own_acls().remove(record)

    # The rest

    def _apply_feature(self, record: FeatureLevelRecord) -> None:
        if self._features is None:
            self._features = dict(self._before.features)
        if record.feature_level:
            self._features[record.name] = record.feature_level
        else:
            self._features.pop(record.name, None)

    def _apply_producer_ids(self, record: ProducerIdsRecord) -> None:
        if record.next_producer_id <= self._next_producer_id:
            raise MetadataError("producer ids must grow, or two producers would get the same id")
        self._next_producer_id = record.next_producer_id

    def _own_scram(self) -> dict[ScramKey, ScramCredential]:
        if self._scram is None:
            self._scram = dict(self._before.scram)
        return self._scram

    def _apply_scram(self, record: UserScramCredentialRecord) -> None:
        self._own_scram()[record.name, record.mechanism] = ScramCredential(
            record.salt, record.stored_key, record.server_key, record.iterations
        )

    def _apply_remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        if self._own_scram().pop((record.name, record.mechanism), None) is None:
            raise MetadataError(f"a record removes a SCRAM credential of {record.name} that does not exist")

    def _own_delegation_tokens(self) -> dict[str, DelegationToken]:
        if self._delegation_tokens is None:
            self._delegation_tokens = dict(self._before.delegation_tokens)
        return self._delegation_tokens

    def _apply_delegation_token(self, record: DelegationTokenRecord) -> None:
        self._own_delegation_tokens()[record.token_id] = token_from(record)

    def _apply_remove_delegation_token(self, record: RemoveDelegationTokenRecord) -> None:
        # A controller of Apache Kafka may remove a token twice, because it decides on committed tokens.
        self._own_delegation_tokens().pop(record.token_id, None)

    def _apply_client_quota(self, record: ClientQuotaRecord) -> None:
        if self._client_quotas is None:
            self._client_quotas = {one: dict(values) for one, values in self._before.client_quotas.items()}
        entity = quota_entity((one.entity_type, one.entity_name) for one in record.entity)
        values = self._client_quotas.setdefault(entity, {})
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if not values:
            del self._client_quotas[entity]

    def _apply_nothing(self, record: NoOpRecord) -> None:
        """The controller writes this record after a quiet time. It changes nothing."""


def changed_partition(old: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """The partition after a change."""
    elects = record.leader != NO_LEADER_CHANGE
    return PartitionImage(
        _new(record.replicas, old.replicas),
        _new(record.isr, old.isr),
        record.leader if elects else old.leader,
        # A record that names a leader, even the same one, begins a new epoch.
        old.leader_epoch + 1 if elects else old.leader_epoch,
        old.partition_epoch + 1,
        old.directories if record.directories is None else tuple(record.directories),
        _new(record.removing_replicas, old.removing_replicas),
        _new(record.adding_replicas, old.adding_replicas),
        _new(record.eligible_leader_replicas, old.eligible_leader_replicas),
        _new(record.last_known_elr, old.last_known_elr),
        old.leader_recovery_state if record.leader_recovery_state == -1 else record.leader_recovery_state,
    )


def _new(values: list[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if values is None else tuple(values)


def _endpoints(endpoints: list[BrokerEndpoint] | list[ControllerEndpoint]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(one.name, one.host, one.port, one.security_protocol) for one in endpoints)


def _features(features: list[BrokerFeature] | list[ControllerFeature]) -> dict[str, tuple[int, int]]:
    return {one.name: (one.min_supported_version, one.max_supported_version) for one in features}


def _changed_keys(before: Any, after: Any) -> list[Any]:
    if before is after:
        return []
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def change_between(before: MetadataImage, after: MetadataImage) -> ImageChange:
    """The change between two images without the records between them, after a snapshot was loaded."""
    changed = [topic for id_, topic in after.topics_by_id.items() if topic != before.topics_by_id.get(id_)]
    added_acls, removed_acls = changed_between(before.acls, after.acls)
    return ImageChange(
        changed_topics=changed,
        deleted_topics=[topic for id_, topic in before.topics_by_id.items() if id_ not in after.topics_by_id],
        changed_configs=_changed_keys(before.configs, after.configs),
        changed_brokers=_changed_keys(before.brokers, after.brokers),
        added_acls=added_acls,
        removed_acls=removed_acls,
        client_quotas_changed=before.client_quotas != after.client_quotas,
    )


_HANDLERS: Final[dict[type[Message], Callable[[ImageDelta, Any], None]]] = {
    AccessControlEntryRecord: ImageDelta._apply_acl,
    BrokerRegistrationChangeRecord: ImageDelta._apply_broker_change,
    ClearElrRecord: ImageDelta._apply_clear_elr,
    ClientQuotaRecord: ImageDelta._apply_client_quota,
    ConfigRecord: ImageDelta._apply_config,
    DelegationTokenRecord: ImageDelta._apply_delegation_token,
    FeatureLevelRecord: ImageDelta._apply_feature,
    FenceBrokerRecord: ImageDelta._apply_fence,
    NoOpRecord: ImageDelta._apply_nothing,
    PartitionChangeRecord: ImageDelta._apply_partition_change,
    PartitionRecord: ImageDelta._apply_partition,
    ProducerIdsRecord: ImageDelta._apply_producer_ids,
    RegisterBrokerRecord: ImageDelta._apply_register_broker,
    RegisterControllerRecord: ImageDelta._apply_register_controller,
    RemoveAccessControlEntryRecord: ImageDelta._apply_remove_acl,
    RemoveDelegationTokenRecord: ImageDelta._apply_remove_delegation_token,
    RemoveTopicRecord: ImageDelta._apply_remove_topic,
    RemoveUserScramCredentialRecord: ImageDelta._apply_remove_scram,
    TopicRecord: ImageDelta._apply_topic,
    UnfenceBrokerRecord: ImageDelta._apply_unfence,
    UnregisterBrokerRecord: ImageDelta._apply_unregister_broker,
    UserScramCredentialRecord: ImageDelta._apply_scram,
}
