"""The metadata of a cluster as a tree of directories and files, as Kafka's metadata shell shows it.

A directory is a dictionary, a file is its text. Registrations have the text that Kafka's Java classes print.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from gralha import __version__
from gralha.cli.feature_levels import METADATA_VERSION, level_text
from gralha.cli.java_numbers import double_text
from gralha.cli.metadata_file import ReadMetadata
from gralha.cli.redaction import is_secret
from gralha.metadata.delegation_tokens import DelegationToken
from gralha.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    BrokerRegistration,
    ConfigResource,
    ControllerRegistration,
    Endpoint,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from gralha.protocol.acls import Acl
from gralha.protocol.batches import NO_PRODUCER_ID
from gralha.protocol.client_quotas import CLIENT_ID, IP, USER, QuotaEntity
from gralha.protocol.primitives import uuid_to_string

Node = str | dict[str, "Node"]

_RESOURCES: Final = {
    TOPIC_RESOURCE: "TOPIC",
    BROKER_RESOURCE: "BROKER",
    BROKER_LOGGER_RESOURCE: "BROKER_LOGGER",
    CLIENT_METRICS_RESOURCE: "CLIENT_METRICS",
    GROUP_RESOURCE: "GROUP",
}
# The numbers of the SCRAM mechanisms in records.
_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
# What the shell shows in place of a secret.
_HIDDEN: Final = "[redacted]"
_QUOTA_ENTITIES: Final = {CLIENT_ID: "clientId", IP: "ip", USER: "user"}
_SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_RECOVERY_STATES: Final = ("RECOVERED", "RECOVERING")


def tree_of(metadata: ReadMetadata) -> dict[str, Node]:
    """The root directory."""
    image = metadata.image
    configs = [(one, values) for one, values in image.configs.items() if values]
    return {
        "local": {"version": __version__, "commitId": "unknown"},
        "image": {
            "provenance": _provenance(metadata),
            "features": _features(image),
            "cluster": {
                "brokers": {str(one.id): broker_text(one) for one in image.brokers.values()},
                "controllers": {str(one.id): controller_text(one) for one in image.controllers.values()},
            },
            "topics": _topics(image),
            "configs": {_resource_name(one): _configs(one, values) for one, values in configs},
            "producerIds": {"nextProducerId": str(image.next_producer_id or NO_PRODUCER_ID)},
            "clientQuotas": {
                _entity_name(entity): {name: double_text(value) for name, value in values.items()}
                for entity, values in image.client_quotas.items()
            },
            "acls": {"byId": {uuid_to_string(id_): acl_text(acl) for id_, acl in image.acls.by_id.items()}},
            "scram": {name: _scram(image, number) for number, name in _MECHANISMS.items()},
            "delegationToken": {
                token.id: delegation_token_text(token) for token in image.delegation_tokens.values()
            },
        },
    }


def _provenance(metadata: ReadMetadata) -> str:
    time = datetime.fromtimestamp(metadata.timestamp_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{metadata.timestamp_ms % 1000:03}".rstrip("0.")
    image = metadata.image
    return f"offset {image.offset}, epoch {image.epoch}, time {time}{fraction}Z[UTC]"


def _features(image: MetadataImage) -> dict[str, Node]:
    features: dict[str, Node] = {
        f"finalized_{name}": str(level) for name, level in image.features.items() if name != METADATA_VERSION
    }
    level = image.features.get(METADATA_VERSION)
    # Kafka shows the Java object.
    text = "Optional.empty" if level is None else f"Optional[{level_text(METADATA_VERSION, level)}]"
    return {**features, "metadataVersion": text}


def _topics(image: MetadataImage) -> dict[str, Node]:
    by_name: dict[str, Node] = {name: _topic(topic) for name, topic in image.topics.items()}
    return {
        "byName": by_name,
        "byId": {uuid_to_string(topic.id): by_name[topic.name] for topic in image.topics.values()},
    }


def _topic(topic: TopicImage) -> dict[str, Node]:
    partitions: dict[str, Node] = {
        str(number): partition_text(partition) for number, partition in topic.partitions.items()
    }
    return {"name": topic.name, "id": uuid_to_string(topic.id), **partitions}


def _configs(resource: ConfigResource, values: Mapping[str, str]) -> dict[str, Node]:
    return {name: _HIDDEN if is_secret(resource[0], name) else value for name, value in values.items()}


def _scram(image: MetadataImage, mechanism: int) -> dict[str, Node]:
    """The users of a mechanism. Kafka's shell prints their keys."""
    return {
        name: (
            f"ScramCredentialData(salt={_HIDDEN}, storedKey={_HIDDEN}, serverKey={_HIDDEN}, "
            f"iterations={credential.iterations})"
        )
        for (name, number), credential in image.scram.items()
        if number == mechanism
    }


def _entity_name(entity: QuotaEntity) -> str:
    """The name of a directory of quotas. Kafka leaves defaults out, so that it has several without a name."""
    return "_".join(f"{_QUOTA_ENTITIES[kind]}({_escaped(name or '')})" for kind, name in entity)


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _resource_name(resource: ConfigResource) -> str:
    kind, name = resource
    type_name = _RESOURCES.get(kind, "UNKNOWN")
    return f"{type_name}:{name}" if name else type_name


# --- registrations, as Java prints them ----------------------------------------------------------------


def broker_text(broker: BrokerRegistration) -> str:
    cordoned = "null" if broker.cordoned_log_dirs is None else _uuids(broker.cordoned_log_dirs)
    return (
        f"BrokerRegistration(id={broker.id}, epoch={broker.epoch}, "
        f"incarnationId={uuid_to_string(broker.incarnation_id)}, listeners={_endpoints(broker.endpoints)}, "
        f"supportedFeatures={_ranges(broker.features)}, rack={_optional(broker.rack)}, "
        f"fenced={_boolean(broker.fenced)}, "
        f"inControlledShutdown={_boolean(broker.in_controlled_shutdown)}, isMigratingZkBroker=false, "
        f"directories={_uuids(broker.log_dirs)}, cordonedDirectories={cordoned})"
    )


def controller_text(controller: ControllerRegistration) -> str:
    return (
        f"ControllerRegistration(id={controller.id}, "
        f"incarnationId={uuid_to_string(controller.incarnation_id)}, zkMigrationReady=false, "
        f"listeners={_endpoints(controller.endpoints)}, supportedFeatures={_ranges(controller.features)})"
    )


def acl_text(acl: Acl) -> str:
    return (
        f"StandardAcl(resourceType={acl.resource_type.name}, resourceName={acl.resource_name}, "
        f"patternType={acl.pattern_type.name}, principal={acl.principal}, host={acl.host}, "
        f"operation={acl.operation.name}, permissionType={acl.permission.name})"
    )


def delegation_token_text(token: DelegationToken) -> str:
    """The brackets are Kafka's. The secret of a token is not in the metadata."""
    return (
        f"DelegationTokenDatatokenId={token.id}(owner={token.owner}(tokenRequester={token.requester}"
        f"(renewers={' '.join(token.renewers)}, issueTimestamp={token.issued_ms}, "
        f"maxTimestamp={token.max_ms}), expiryTimestamp={token.expires_ms}"
    )


def partition_text(partition: PartitionImage) -> str:
    return (
        f"PartitionRegistration(replicas={_list(partition.replicas)}, "
        f"directories={_uuids(partition.directories)}, isr={_list(partition.isr)}, "
        f"removingReplicas={_list(partition.removing_replicas)}, "
        f"addingReplicas={_list(partition.adding_replicas)}, "
        f"elr={_list(partition.eligible_leader_replicas)}, lastKnownElr={_list(partition.last_known_elr)}, "
        f"leader={partition.leader}, "
        f"leaderRecoveryState={_RECOVERY_STATES[partition.leader_recovery_state]}, "
        f"leaderEpoch={partition.leader_epoch}, partitionEpoch={partition.partition_epoch})"
    )


def _endpoints(endpoints: Iterable[Endpoint]) -> str:
    return _list(
        f"Endpoint(listenerName='{one.name}', securityProtocol={_SECURITY_PROTOCOLS[one.security_protocol]}, "
        f"host='{one.host}', port={one.port})"
        for one in sorted(endpoints)
    )


def _ranges(features: Mapping[str, tuple[int, int]]) -> str:
    texts = [
        f"{name}: {low}" if low == high else f"{name}: {low}-{high}"
        for name, (low, high) in sorted(features.items())
    ]
    return f"{{{', '.join(texts)}}}"


def _uuids(ids: Iterable[bytes]) -> str:
    return _list(map(uuid_to_string, ids))


def _list(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def _optional(text: str | None) -> str:
    return "Optional.empty" if text is None else f"Optional[{text}]"


def _boolean(value: bool) -> str:
    return "true" if value else "false"
