"""The transaction coordinator inside a broker: its settings and its partitions."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Final

from gralha.broker.config import NodeConfig
from gralha.coordination.coordinator import Coordinator
from gralha.coordination.runtime import CoordinatorPorts
from gralha.metadata.features import transaction_version
from gralha.metadata.image import MetadataImage
from gralha.metadata.topic_names import TRANSACTIONS_TOPIC
from gralha.replication.manager import ReplicaManager
from gralha.replication.partition import Partition
from gralha.storage.disk import DiskError
from gralha.transactions.config import TransactionsConfig
from gralha.transactions.producer_ids import ProducerIds

if TYPE_CHECKING:
    from gralha.transactions.shard import TransactionShard
    from gralha.transactions.transaction import Transaction

TWO_PHASE_COMMIT_ENABLE: Final = "transaction.two.phase.commit.enable"

# The code of the shards is imported with the first transactional id, so that a broker starts faster.
TransactionCoordinator = Coordinator["TransactionShard"]

# As in Kafka, an answer waits this long for its record to be replicated.
COMMIT_TIMEOUT_MS: Final = 5_000


def transactions_config(config: NodeConfig) -> TransactionsConfig:
    """The settings of the transaction coordinator in a node's configuration."""
    return TransactionsConfig(
        transaction_max_timeout_ms=config.number("transaction.max.timeout.ms"),
        transactional_id_expiration_ms=config.number("transactional.id.expiration.ms"),
        transaction_remove_expired_transaction_cleanup_interval_ms=config.number(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
        transaction_two_phase_commit_enable=config.flag(TWO_PHASE_COMMIT_ENABLE),
    )


def coordinate_transactions(
    config: NodeConfig,
    image: Callable[[], MetadataImage],
    replicas: ReplicaManager,
    clock: Callable[[], int],
    readers: Executor,
    producer_ids: ProducerIds,
    on_prepared: "Callable[[Transaction], None]",
) -> TransactionCoordinator:
    """A coordinator that follows the leaders of the partitions of `__transaction_state`.

    `on_prepared` gets each decided transaction, to write its markers.
    """
    settings = transactions_config(config)

    def version() -> int:
        return transaction_version(image().features)

    def partition_count() -> int:
        topic = image().topics.get(TRANSACTIONS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    def new_shard() -> "TransactionShard":
        from gralha.transactions.shard import TransactionShard

        return TransactionShard(settings, version, producer_ids.take, on_prepared)

    def log_broken(error: BaseException) -> None:
        """A failed sync ends the broker. The coordinator survives all other errors."""
        if isinstance(error, DiskError) and error.is_fatal:
            replicas.on_failure(error)

    ports = CoordinatorPorts(new_shard, clock, readers, COMMIT_TIMEOUT_MS, log_broken)
    coordinator = Coordinator(ports, partition_count)

    def leader_changed(partition: Partition) -> None:
        if partition.topic == TRANSACTIONS_TOPIC:
            coordinator.leader_changed(partition)

    for partition in replicas.by_name.get(TRANSACTIONS_TOPIC, {}).values():
        coordinator.leader_changed(partition)
    replicas.leader_listeners.append(leader_changed)
    return coordinator
