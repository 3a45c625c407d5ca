"""The values of the client's calls, independent of protocol versions."""

from enum import IntEnum
from typing import NamedTuple

from gralha.protocol.special_timestamps import EARLIEST as EARLIEST
from gralha.protocol.special_timestamps import EARLIEST_LOCAL as EARLIEST_LOCAL
from gralha.protocol.special_timestamps import EARLIEST_PENDING_UPLOAD as EARLIEST_PENDING_UPLOAD
from gralha.protocol.special_timestamps import LATEST as LATEST
from gralha.protocol.special_timestamps import LATEST_TIERED as LATEST_TIERED
from gralha.protocol.special_timestamps import MAX_TIMESTAMP as MAX_TIMESTAMP


class TopicPartition(NamedTuple):
    """A partition of a topic, printed as `topic-partition`, as in Kafka."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetRange(NamedTuple):
    """A range of offsets of one partition. With a topic id, the topic must have that id."""

    topic: str
    partition: int
    start: int
    end: int  # exclusive
    topic_id: bytes | None = None

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


class TopicListing(NamedTuple):
    """A topic without its partitions."""

    name: str
    topic_id: bytes
    is_internal: bool


class PartitionDescription(NamedTuple):
    """The replicas of a partition. Eligible leader replicas (KIP-966) are None if the broker does not tell
    them.
    """

    partition: int
    leader: int | None
    replicas: list[int]
    in_sync_replicas: list[int]
    eligible_leader_replicas: list[int] | None = None
    last_known_eligible_leader_replicas: list[int] | None = None


class TopicDescription(NamedTuple):
    """A topic and its partitions, ordered by number."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: list[PartitionDescription]


class NewTopic(NamedTuple):
    """A topic to create. `assignments` has the brokers of each partition, or the cluster chooses them."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: dict[int, list[int]] | None = None
    configs: dict[str, str] | None = None


class NewPartitions(NamedTuple):
    """The new number of partitions, and the brokers of the new ones (None: the cluster decides)."""

    total: int
    assignments: list[list[int]] | None = None


class ResourceType(IntEnum):
    """The types of resources with configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """A resource with configs. A broker without a name means all brokers."""

    type: ResourceType
    name: str


class ConfigSource(IntEnum):
    """The source of a config's value, with Kafka's name."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """A place where a config is set."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """A config. The value of a sensitive config is None."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[ConfigSynonym]
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source == ConfigSource.DEFAULT_CONFIG


class ListedOffset(NamedTuple):
    """The answer to a request for an offset. -1 if no record matches."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


class ReplicaSize(NamedTuple):
    """The size of a partition in a data folder."""

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    """A data folder of a broker. `error_code` is 0 while it works."""

    path: str
    error_code: int
    replicas: list[ReplicaSize]
    total_bytes: int
    usable_bytes: int


class ClusterNode(NamedTuple):
    """A broker or a controller with its advertised address."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


class ClusterDescription(NamedTuple):
    """A cluster's id, its active controller (or a broker that forwards to it) and its nodes by id."""

    cluster_id: str
    controller_id: int
    nodes: list[ClusterNode]

    @property
    def broker_ids(self) -> list[int]:
        return [node.id for node in self.nodes]
