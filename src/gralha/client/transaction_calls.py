"""Admin calls about transactions: list and describe them, abort one, fence a producer (KIP-664, KIP-1222).

Coordinators know transactional ids, partitions know producer ids. A transaction that hangs is one that a
partition holds open and no coordinator will end.
"""

from collections.abc import Iterable
from typing import Final

from gralha.client.calls import error_or_none
from gralha.client.coordinator_calls import TRANSACTION, CoordinatorCalls
from gralha.client.coordinator_calls import Answers as IdAnswers
from gralha.client.errors import ConnectionFailedError, UnansweredError
from gralha.client.leader_calls import Answers, LeaderCalls, by_topic
from gralha.client.transaction_values import (
    ProducerIdentity,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionToAbort,
)
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages import describe_producers, describe_transactions
from gralha.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from gralha.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from gralha.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from gralha.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

# From these versions on ListTransactions filters by duration (KIP-994) and by pattern (KIP-1152).
_DURATION_VERSION: Final = 1
_PATTERN_VERSION: Final = 2


class TransactionCalls(LeaderCalls, CoordinatorCalls):
    """Calls to the coordinators of transactions, and to partitions about producers."""

    # Coordinators

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """The transactional ids of each broker. No filter means all. Raises if one broker fails.

        `duration_ms`: only transactions that run for longer. `pattern` is a regular expression for brokers.
        """
        answers = self.list_transactions_on(
            sorted(self.cluster.once(self.cluster.brokers)),
            states=states,
            producer_ids=producer_ids,
            duration_ms=duration_ms,
            pattern=pattern,
        )
        listings: dict[int, list[TransactionListing]] = {}
        for broker, answer in answers.items():
            if isinstance(answer, KafkaError):
                raise answer
            listings[broker] = answer
        return listings

    def list_transactions_on(
        self,
        brokers: Iterable[int],
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
        is_patient: bool = True,
    ) -> dict[int, list[TransactionListing] | KafkaError]:
        """The transactional ids of some brokers, or the error of each broker that fails.

        A broker that is too old for a filter answers with UNSUPPORTED_VERSION. Without patience a broker that
        cannot be reached is asked only once.
        """
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=duration_ms,
            transactional_id_pattern=pattern or None,
        )

        def attempt(pending: list[int]) -> dict[int, list[TransactionListing] | KafkaError]:
            found: dict[int, list[TransactionListing] | KafkaError] = {}
            for broker in pending:
                try:
                    found[broker] = self._list_transactions_on(broker, request)
                except (ConnectionFailedError, UnansweredError) as lost:
                    found[broker] = error_for(ErrorCode.NETWORK_EXCEPTION, str(lost))
            return found

        return self.cluster.each(brokers, attempt, is_change=not is_patient)

    def _list_transactions_on(
        self, broker: int, request: ListTransactionsRequest
    ) -> list[TransactionListing] | KafkaError:
        connection = self.cluster.connection_to(broker)
        version = connection.version_for(request)
        if request.duration_filter >= 0 and version < _DURATION_VERSION:
            return _too_old(broker, "duration")
        if request.transactional_id_pattern is not None and version < _PATTERN_VERSION:
            return _too_old(broker, "pattern")
        response = connection.send(request, ListTransactionsResponse)
        if response.error_code != ErrorCode.NONE:
            reason = error_for(response.error_code)
            return error_for(
                response.error_code,
                f"ListTransactions request sent to broker {broker} failed with an unexpected exception: "
                f"{reason}",
            )
        return [
            TransactionListing(one.transactional_id, one.producer_id, one.transaction_state)
            for one in response.transaction_states
        ]

    def describe_transactions(
        self, transactional_ids: Iterable[str]
    ) -> dict[str, TransactionDescription | KafkaError]:
        """The state of transactional ids, from their coordinators."""

        def ask(broker: int, ids: list[str]) -> IdAnswers[TransactionDescription]:
            request = DescribeTransactionsRequest(transactional_ids=ids)
            response = self.cluster.send_to(broker, request, DescribeTransactionsResponse)
            return {one.transactional_id: _description(broker, one) for one in response.transaction_states}

        return self._ask_coordinators(transactional_ids, ask, key_type=TRANSACTION)

    def fence_producer(self, transactional_id: str) -> ProducerIdentity:
        """Takes the next epoch of a transactional id: aborts its transaction and fences its producer.

        An id that does not exist begins to exist. The call waits until the transaction has ended.
        """
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=self.cluster.request_timeout_ms
        )

        def ask(broker: int) -> ProducerIdentity:
            response = self.cluster.send_to(broker, request, InitProducerIdResponse)
            if response.error_code != ErrorCode.NONE:
                raise _about_id("InitProducerId", transactional_id, response.error_code)
            return ProducerIdentity(response.producer_id, response.producer_epoch)

        # A second attempt only fences again, so this call is repeated like one that changes nothing.
        return self._ask_coordinator(transactional_id, ask, key_type=TRANSACTION)

    # Partitions

    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker_id: int | None = None
    ) -> dict[TopicPartition, list[ProducerState] | KafkaError]:
        """The producers that partitions remember, on their leaders or on one broker."""

        def ask(broker: int, group: list[TopicPartition]) -> Answers[list[ProducerState]]:
            topics = [
                TopicRequest(name=topic, partition_indexes=[one.partition for one in members])
                for topic, members in by_topic(group).items()
            ]
            response = self.cluster.send_to(
                broker, DescribeProducersRequest(topics=topics), DescribeProducersResponse
            )
            answers: Answers[list[ProducerState]] = {}
            for topic in response.topics:
                for partition in topic.partitions:
                    which = TopicPartition(topic.name, partition.partition_index)
                    error = _about_partition(which, partition.error_code, broker_id)
                    answers[which] = error or [_producer(one) for one in partition.active_producers]
            return answers

        if broker_id is None:
            return self._ask_leaders(partitions, ask)
        # A broker without a replica of the partition will not get one soon: nothing is repeated.
        return self.cluster.each(partitions, lambda pending: ask(broker_id, pending), is_change=True)

    def abort_transaction(self, transaction: TransactionToAbort) -> None:
        """Ends a transaction in one partition, whatever its coordinator knows. Raises if it cannot."""
        topic, number = transaction.partition
        request = WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=transaction.producer_id,
                    producer_epoch=transaction.producer_epoch,
                    transaction_result=False,
                    topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[number])],
                    coordinator_epoch=transaction.coordinator_epoch,
                )
            ]
        )

        def ask(broker: int, _partitions: list[TopicPartition]) -> Answers[None]:
            response = self.cluster.send_to(broker, request, WriteTxnMarkersResponse)
            return {
                TopicPartition(one.name, partition.partition_index): _about_marker(
                    transaction, partition.error_code
                )
                for marker in response.markers
                for one in marker.topics
                for partition in one.partitions
            }

        error = self._ask_leaders([transaction.partition], ask)[transaction.partition]
        if error is not None:
            raise error


# --- values ---------------------------------------------------------------------------------------------


def _description(
    broker: int, state: describe_transactions.TransactionState
) -> TransactionDescription | KafkaError:
    if state.error_code != ErrorCode.NONE:
        return _about_id("DescribeTransactions", state.transactional_id, state.error_code)
    return TransactionDescription(
        coordinator_id=broker,
        transactional_id=state.transactional_id,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        state=state.transaction_state,
        timeout_ms=state.transaction_timeout_ms,
        start_time_ms=_or_none(state.transaction_start_time_ms),
        partitions=sorted(
            TopicPartition(topic.topic, partition) for topic in state.topics for partition in topic.partitions
        ),
    )


def _producer(state: describe_producers.ProducerState) -> ProducerState:
    return ProducerState(
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        last_sequence=state.last_sequence,
        last_timestamp_ms=state.last_timestamp,
        coordinator_epoch=_or_none(state.coordinator_epoch),
        transaction_start_offset=_or_none(state.current_txn_start_offset),
    )


def _or_none(number: int) -> int | None:
    return None if number < 0 else number


# --- errors, in the words that Kafka's admin client uses ------------------------------------------------


def _too_old(broker: int, what: str) -> KafkaError:
    return error_for(
        ErrorCode.UNSUPPORTED_VERSION, f"Broker {broker} is too old to list transactions by {what}."
    )


def _about_id(api: str, transactional_id: str, code: int) -> KafkaError:
    start = f"{api} request for transactionalId `{transactional_id}` failed"
    match code:
        case ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return error_for(code, f"{start} because the ID could not be found")
        case ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return error_for(code, f"{start} due to transactional ID authorization failure")
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return error_for(code, f"{start} due to cluster authorization failure")
    return error_for(code, f"{start} due to unexpected error: {error_for(code)}")


def _about_partition(partition: TopicPartition, code: int, broker_id: int | None) -> KafkaError | None:
    start = f"Failed to describe active producers for partition {partition}"
    match code:
        case ErrorCode.NONE:
            return None
        case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return error_for(code)
        case ErrorCode.NOT_LEADER_OR_FOLLOWER if broker_id is not None:
            return error_for(code, f"{start} on brokerId {broker_id}")
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return error_for(code, f"{start} due to authorization failure on topic `{partition.topic}`")
    return error_for(code, f"{start} due to unexpected error: {error_for(code)}")


def _about_marker(transaction: TransactionToAbort, code: int) -> KafkaError | None:
    start = f"WriteTxnMarkers request with {transaction} failed"
    match code:
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return error_for(code, f"{start} due to cluster authorization error")
        case ErrorCode.INVALID_PRODUCER_EPOCH:
            return error_for(code, f"{start} due an invalid producer epoch")
        case ErrorCode.TRANSACTION_COORDINATOR_FENCED:
            return error_for(
                code,
                f"{start} since the provided coordinator epoch {transaction.coordinator_epoch} has been "
                "fenced by the active coordinator",
            )
    error = error_or_none(code)
    return None if error is None else error_for(code, f"{start} due to unexpected error: {error}")
