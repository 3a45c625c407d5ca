"""The calls of a transactional producer, and of a program that ends transactions which others have written.

`init_producer_id` makes this process the owner of a transactional id: it aborts what an earlier owner has
left open, and fences it. `end_transactions` needs no ownership. It names the producer id and the epoch, so it
can only end that one transaction. It can be repeated: a transaction that has ended in the same way already
counts as success.

Two-phase commit (KIP-939) needs brokers with `transaction.two.phase.commit.enable`. A producer that enables
it has transactions without a timeout. Such a transaction is prepared when all its records are flushed: then
it stays open until somebody ends it. `keep_transaction` becomes the owner of a transactional id and leaves
the transaction as it is.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from gralha.client.calls import raise_for
from gralha.client.config_calls import ConfigCalls
from gralha.client.coordinator_calls import TRANSACTION, Answers, CoordinatorCalls
from gralha.client.errors import TransactionError
from gralha.client.leader_calls import by_topic
from gralha.client.transaction_errors import transaction_error
from gralha.client.transaction_state import KeptTransaction, TransactionHandle
from gralha.client.transaction_values import ProducerIdentity
from gralha.client.values import ConfigResource, ResourceType, TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from gralha.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FEATURE: Final = "transaction.version"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
DEFAULT_MAX_TIMEOUT_MS: Final = 900_000
_SHORTEST_TIMEOUT_MS: Final = 1_000
# Later versions of AddPartitionsToTxn are for brokers.
_ADD_VERSION: Final = 3
# The last versions for transactions v1.
LAST_V1_PRODUCE: Final = 11
_LAST_V1_END: Final = 4
# The first version of InitProducerId with two-phase commit.
_TWO_PHASE_VERSION: Final = 6
# So many requests wait on one connection at the same time.
_PIPELINED: Final = 100


class TransactionalCalls(CoordinatorCalls):
    """Calls to the coordinators of transactional ids."""

    def uses_v2(self) -> bool:
        """Returns True if the cluster's feature transaction.version allows transactions v2 (KIP-890)."""
        answer = self.cluster.once(lambda: self.cluster.any_connection().api_versions)
        return any(one.name == FEATURE and one.max_version_level >= 2 for one in answer.finalized_features)

    def supports_two_phase_commit(self) -> bool:
        """Returns True if a broker of the cluster allows two-phase commit. All brokers should agree on it."""
        answer = self.cluster.once(lambda: self.cluster.any_connection().api_versions)
        key = InitProducerIdRequest.API_KEY
        return any(one.api_key == key and one.max_version >= _TWO_PHASE_VERSION for one in answer.api_keys)

    def max_timeout_ms(self) -> int:
        """The longest timeout that the brokers allow. Kafka's default if they do not tell."""
        broker = min(self.cluster.once(self.cluster.brokers))
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        found = ConfigCalls(self.cluster).describe_configs([resource])[resource]
        if isinstance(found, KafkaError):
            return DEFAULT_MAX_TIMEOUT_MS
        values = [entry.value for entry in found if entry.name == MAX_TIMEOUT]
        return int(values[0]) if values and values[0] else DEFAULT_MAX_TIMEOUT_MS

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        *,
        expected: TransactionHandle | None = None,
        enables_two_phase_commit: bool = False,
    ) -> ProducerIdentity:
        """Becomes the owner of a transactional id. Waits until its last transaction has ended.

        Brokers may allow only shorter timeouts. Then the longest one that they accept of half, a quarter and
        so on is used. With `expected` the call fails if the id has another producer id or a newer epoch; the
        id must not have an open transaction then (KIP-360). With `enables_two_phase_commit` the transactions
        have no timeout, whatever `timeout_ms` is.
        """

        def ask(broker: int) -> ProducerIdentity:
            request = InitProducerIdRequest(
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
                enable_2pc=enables_two_phase_commit,
            )
            if expected is not None:
                request.producer_id, request.producer_epoch = expected.producer_id, expected.producer_epoch
            response = self._init_on(broker, request)
            return ProducerIdentity(response.producer_id, response.producer_epoch)

        while True:
            try:
                return self._ask_coordinator(transactional_id, ask, key_type=TRANSACTION)
            except KafkaError as error:
                is_too_long = error.code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
                if not is_too_long or timeout_ms <= _SHORTEST_TIMEOUT_MS:
                    raise transaction_error(
                        transactional_id, "get a producer id", error, self.cluster.security
                    ) from error
                timeout_ms //= 2

    def keep_transaction(self, transactional_id: str, timeout_ms: int) -> KeptTransaction:
        """Becomes the owner of a transactional id, and leaves its open transaction as it is (KIP-939).

        The earlier owner is fenced. End the transaction with the handle in the answer. Nothing can be added
        to it. `timeout_ms` counts for later transactions, if there is none to keep.
        """
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=timeout_ms, keep_prepared_txn=True
        )

        def ask(broker: int) -> KeptTransaction:
            response = self._init_on(broker, request)
            written_by = None
            if response.ongoing_txn_producer_id >= 0:
                written_by = ProducerIdentity(
                    response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch
                )
            handle = TransactionHandle(
                transactional_id, response.producer_id, response.producer_epoch, is_v2=True
            )
            return KeptTransaction(handle, written_by)

        try:
            return self._ask_coordinator(transactional_id, ask, key_type=TRANSACTION)
        except KafkaError as error:
            raise transaction_error(
                transactional_id, "keep its transaction", error, self.cluster.security
            ) from error

    def _refused(self, transactional_id: str, doing: str, error: KafkaError) -> TransactionError:
        return transaction_error(transactional_id, doing, error, self.cluster.security)

    def _init_on(self, broker: int, request: InitProducerIdRequest) -> InitProducerIdResponse:
        """Raises UNSUPPORTED_VERSION if the broker does not allow the two-phase commit of the request."""
        connection = self.cluster.connection_to(broker)
        needs_two_phases = request.enable_2pc or request.keep_prepared_txn
        if needs_two_phases and connection.version_for(request) < _TWO_PHASE_VERSION:
            raise error_for(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Broker {broker} allows no two-phase commit. Set transaction.two.phase.commit.enable=true "
                "on all brokers and restart them.",
            )
        response = connection.send(request, InitProducerIdResponse)
        raise_for(response.error_code)
        return response

    def add_partitions(self, handle: TransactionHandle, partitions: Iterable[TopicPartition]) -> None:
        """Adds partitions to a transaction (v1). The first ones begin it."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=handle.transactional_id,
            v3_and_below_producer_id=handle.producer_id,
            v3_and_below_producer_epoch=handle.producer_epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=[one.partition for one in group])
                for topic, group in by_topic(partitions).items()
            ],
        )

        def ask(broker: int) -> None:
            response = self.cluster.send_to(
                broker, request, AddPartitionsToTxnResponse, max_version=_ADD_VERSION
            )
            raise_for(response.error_code)
            codes = [
                partition.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for partition in topic.results_by_partition
            ]
            # Either all are added or none. Those that were not the reason say OPERATION_NOT_ATTEMPTED.
            for code in sorted(codes, key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED):
                raise_for(code)

        try:
            self._ask_coordinator(handle.transactional_id, ask, key_type=TRANSACTION)
        except KafkaError as error:
            raise transaction_error(
                handle.transactional_id, "add partitions", error, self.cluster.security
            ) from error

    def end_transaction(self, handle: TransactionHandle, *, committed: bool) -> ProducerIdentity:
        """Commits or aborts one transaction. Returns the identity for the next one."""
        result = self.end_transactions([handle], committed=committed)[handle]
        if isinstance(result, TransactionError):
            raise result
        return result

    def end_transactions(
        self, handles: Iterable[TransactionHandle], *, committed: bool
    ) -> dict[TransactionHandle, ProducerIdentity | TransactionError]:
        """Commits or aborts transactions, also of other processes. Many wait for their answers at once."""
        by_id = {handle.transactional_id: handle for handle in handles}

        def ask(broker: int, ids: list[str]) -> Answers[ProducerIdentity]:
            answers: Answers[ProducerIdentity] = {}
            for start in range(0, len(ids), _PIPELINED):
                part = [by_id[one] for one in ids[start : start + _PIPELINED]]
                answers.update(self._end_on(broker, part, committed))
            return answers

        doing = "commit its transaction" if committed else "abort its transaction"
        results = self._ask_coordinators(by_id, ask, key_type=TRANSACTION)
        return {
            handle: self._refused(one, doing, result)
            if isinstance(result := results[one], KafkaError)
            else result
            for one, handle in by_id.items()
        }

    def _end_on(
        self, broker: int, handles: Sequence[TransactionHandle], committed: bool
    ) -> Answers[ProducerIdentity]:
        connection = self.cluster.connection_to(broker)
        begun = [
            connection.begin(
                EndTxnRequest(
                    transactional_id=handle.transactional_id,
                    producer_id=handle.producer_id,
                    producer_epoch=handle.producer_epoch,
                    committed=committed,
                ),
                max_version=None if handle.is_v2 else _LAST_V1_END,
            )
            for handle in handles
        ]
        return {
            handle.transactional_id: _next_identity(handle, connection.complete(one, EndTxnResponse))
            for handle, one in zip(handles, begun, strict=True)
        }


def _next_identity(handle: TransactionHandle, response: EndTxnResponse) -> ProducerIdentity | KafkaError:
    if response.error_code != ErrorCode.NONE:
        return error_for(response.error_code)
    if response.producer_id < 0:
        return ProducerIdentity(handle.producer_id, handle.producer_epoch)
    return ProducerIdentity(response.producer_id, response.producer_epoch)
