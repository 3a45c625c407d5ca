"""The settings of the transaction coordinator, under Kafka's names with underscores."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TransactionsConfig:
    """All settings of the state machines. The defaults are Kafka's."""

    transaction_max_timeout_ms: int = 15 * 60 * 1000
    transactional_id_expiration_ms: int = 7 * 24 * 3600 * 1000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3600 * 1000
    # Whether producers may have transactions without a timeout (KIP-939).
    transaction_two_phase_commit_enable: bool = False
