"""The metadata of the cluster, as an immutable image.

An image never changes, so a reader may keep it as long as it likes. `delta.ImageDelta` makes the next image
from the records of the metadata log, and an `ImageChange` with the differences. Both images share all parts
that did not change. An image is made from records alone, both at start and while the node runs, so the result
is the same. `snapshot` does the reverse: it makes the records of an image.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from gralha.metadata.acls import EMPTY_ACLS, AclsImage
from gralha.metadata.delegation_tokens import DelegationTokens
from gralha.metadata.errors import MetadataError as MetadataError
from gralha.protocol.acls import Acl
from gralha.protocol.client_quotas import ClientQuotas
from gralha.protocol.shared_map import SharedMap

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2
METADATA_VERSION: Final = "metadata.version"

# Kinds of config resource, as in DescribeConfigs.
TOPIC_RESOURCE: Final = 2
BROKER_RESOURCE: Final = 4
BROKER_LOGGER_RESOURCE: Final = 8
CLIENT_METRICS_RESOURCE: Final = 16
GROUP_RESOURCE: Final = 32

ConfigResource = tuple[int, str]
# The name of a user, and the number of a SCRAM mechanism (1: SCRAM-SHA-256, 2: SCRAM-SHA-512).
ScramKey = tuple[str, int]
_NO_CONFIGS: Final[Mapping[str, str]] = {}
_NO_QUOTAS: Final[ClientQuotas] = {}
_NO_TOKENS: Final[DelegationTokens] = {}


class Endpoint(NamedTuple):
    """An address of a node. The protocol is Kafka's number (0 is PLAINTEXT)."""

    name: str
    host: str
    port: int
    security_protocol: int


class BrokerRegistration(NamedTuple):
    """A broker as it is registered."""

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, tuple[int, int]]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None

    @property
    def is_active(self) -> bool:
        """True if the broker may lead partitions and join in-sync replicas."""
        return not self.fenced and not self.in_controlled_shutdown

    def endpoint(self, listener_name: str) -> Endpoint | None:
        """The address of one listener."""
        return next((endpoint for endpoint in self.endpoints if endpoint.name == listener_name), None)


class ControllerRegistration(NamedTuple):
    """A controller as it is registered."""

    id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, tuple[int, int]]


class PartitionImage(NamedTuple):
    """A partition: its replicas in order of preference, its leader and its state."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader_recovery_state: int = 0


class ScramCredential(NamedTuple):
    """What the cluster knows of a user's password for one mechanism of SCRAM."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations}, keys hidden)"


class TopicImage(NamedTuple):
    """A topic with its partitions by number, 0 to n-1 in order."""

    name: str
    id: bytes
    partitions: Mapping[int, PartitionImage]


class MetadataImage(NamedTuple):
    """Everything that the metadata log says up to `offset`, inclusive."""

    offset: int
    epoch: int
    brokers: Mapping[int, BrokerRegistration]
    controllers: Mapping[int, ControllerRegistration]
    topics: SharedMap[str, TopicImage]
    topics_by_id: SharedMap[bytes, TopicImage]
    unified_names: SharedMap[str, str]
    configs: Mapping[ConfigResource, Mapping[str, str]]
    features: Mapping[str, int]
    next_producer_id: int
    scram: Mapping[ScramKey, ScramCredential] = {}
    acls: AclsImage = EMPTY_ACLS
    client_quotas: ClientQuotas = _NO_QUOTAS
    delegation_tokens: DelegationTokens = _NO_TOKENS

    def topic(self, name: str) -> TopicImage | None:
        """A topic by its name."""
        return self.topics.get(name)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """A partition by its topic's name and its number."""
        found = self.topics.get(topic)
        return found.partitions.get(index) if found is not None else None

    def topic_configs(self, name: str) -> Mapping[str, str]:
        """A topic's own settings."""
        return self.configs.get((TOPIC_RESOURCE, name), _NO_CONFIGS)

    def broker_configs(self, broker_id: int) -> Mapping[str, str]:
        """The dynamic settings of one broker."""
        return self.configs.get((BROKER_RESOURCE, str(broker_id)), _NO_CONFIGS)

    def default_broker_configs(self) -> Mapping[str, str]:
        """The dynamic settings of all brokers."""
        return self.configs.get((BROKER_RESOURCE, ""), _NO_CONFIGS)


EMPTY_IMAGE: Final = MetadataImage(-1, 0, {}, {}, SharedMap(), SharedMap(), SharedMap(), {}, {}, 0)


class ImageChange(NamedTuple):
    """The difference between two images."""

    # New and changed topics, as they are in the newer image.
    changed_topics: list[TopicImage]
    # As they were in the older image.
    deleted_topics: list[TopicImage]
    changed_configs: list[ConfigResource]
    changed_brokers: list[int]
    added_acls: Sequence[Acl] = ()
    removed_acls: Sequence[Acl] = ()
    client_quotas_changed: bool = False

    @property
    def changed_topic_configs(self) -> list[str]:
        """The names of topics whose own settings changed."""
        return [name for kind, name in self.changed_configs if kind == TOPIC_RESOURCE]

    @property
    def broker_configs_changed(self) -> bool:
        """True if a setting of brokers changed, which all topics may inherit."""
        return any(kind == BROKER_RESOURCE for kind, _ in self.changed_configs)
