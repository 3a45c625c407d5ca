"""Errors between this process and a cluster, apart from the cluster's own error codes.

    ClientError                 a sentence for a person: what happened and what to do
    +-- ConnectionFailedError   no connection to a broker: the request was not sent
    +-- UnansweredError         the connection broke after the request was sent: it may have taken effect
        +-- RequestTimeoutError     the broker did not answer in time
    +-- LoginFailedError        the broker does not accept the user, or there is no token to log in with
    +-- UnsupportedApiError     the broker does not support the API, or no common version
    +-- SettingsError           a setting has an invalid value
    +-- RowsError               rows that cannot become records: a column is missing, a topic is null
    +-- OffsetsLostError        the log does not have requested records, or not any more
    +-- TopicRecreatedError     the topic was deleted and created again
    +-- TopicDeletedError       the cluster does not have the partition, or not any more
    +-- DeliveryError           records could not be written, or it is not known whether they were
        +-- DeliveryRefusedError    the cluster refuses the records for good
    +-- TransactionError        a transaction cannot go on, and its id cannot be used as it is
        +-- TransactionUnfinishedError  it is not known yet how it ends: ask again
        +-- TransactionAbortableError   this transaction is lost; another one of the same id may succeed
        +-- ProducerFencedError         a newer producer has taken over the id, or the transaction has ended

Errors that a broker answers with are `gralha.protocol.errors.KafkaError`s with Kafka's error codes. This
module also exports them, for rooms that may import only the client.
"""

from gralha.protocol.errors import ErrorCode, KafkaError

__all__ = [
    "ClientError",
    "ConnectionFailedError",
    "DeliveryError",
    "DeliveryRefusedError",
    "ErrorCode",
    "KafkaError",
    "LoginFailedError",
    "OffsetsLostError",
    "ProducerFencedError",
    "RequestTimeoutError",
    "RowsError",
    "SettingsError",
    "TopicDeletedError",
    "TopicRecreatedError",
    "TransactionAbortableError",
    "TransactionError",
    "TransactionUnfinishedError",
    "UnansweredError",
    "UnsupportedApiError",
]


class ClientError(Exception):
    """A failure on the client's side of the connection, explained to a person."""


class ConnectionFailedError(ClientError):
    """A broker could not be reached. The request was not sent."""


class UnansweredError(ClientError):
    """A request was sent but got no readable answer. It may have taken effect."""


class RequestTimeoutError(UnansweredError):
    """A broker did not answer in time."""


class LoginFailedError(ClientError):
    """The broker does not accept the user, or there is no token to log in with."""


class UnsupportedApiError(ClientError):
    """The broker does not support an API, or there is no common version."""


class SettingsError(ClientError):
    """A setting has an invalid value."""


class RowsError(ClientError):
    """Rows that cannot be written as records."""


class OffsetsLostError(ClientError):
    """The log does not have a requested offset. The records before it have been read."""

    def __init__(
        self, topic: str, partition: int, wanted: int, log_start_offset: int, log_end_offset: int
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.wanted = wanted
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        if wanted < log_start_offset:
            why = "older records were deleted, by retention or by hand"
        else:
            why = "the log ends before it; the topic may have been truncated, or deleted and created again"
        super().__init__(
            f"{topic}-{partition} has no offset {wanted}: {why}. "
            f"It has the offsets {log_start_offset} to {log_end_offset} (exclusive)."
        )

    def __reduce__(self) -> tuple[object, ...]:
        """For pickle: Spark sends errors from its workers to its driver."""
        values = (self.topic, self.partition, self.wanted, self.log_start_offset, self.log_end_offset)
        return type(self), values


class TopicRecreatedError(ClientError):
    """The topic was deleted and created again. Offsets of the old topic mean nothing in the new one."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(f"The topic {topic} was deleted and created again after its offsets were stored.")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.topic,)


class TopicDeletedError(ClientError):
    """The partition does not exist: its topic was deleted, or never existed."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        super().__init__(
            f"The cluster has no partition {topic}-{partition}: the topic was deleted after its offsets were "
            "stored, or its name is wrong. List the topics with: kafka-topics --list"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.topic, self.partition)


class DeliveryError(ClientError):
    """The cluster did not accept records of a partition, of a topic (without partition), or of all topics."""

    def __init__(self, topic: str | None, partition: int | None, reason: str, code: int = 0) -> None:
        self.topic = topic
        self.partition = partition
        self.reason = reason
        # Kafka's error code from the broker's answer, or 0 if there was no answer.
        self.code = code
        where = "" if topic is None else f" to {topic}" if partition is None else f" to {topic}-{partition}"
        super().__init__(f"Records could not be written{where}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.topic, self.partition, self.reason, self.code)


class DeliveryRefusedError(DeliveryError):
    """The cluster refuses the records for good: too large, no such topic, access denied."""


class TransactionError(ClientError):
    """A transaction cannot go on. Of the errors without a subclass none passes by itself."""

    def __init__(self, transactional_id: str, doing: str, reason: str, code: int = 0) -> None:
        self.transactional_id = transactional_id
        self.doing = doing
        self.reason = reason
        # Kafka's error code from the broker's answer, or 0 if there was no answer.
        self.code = code
        super().__init__(f"The transactional id {transactional_id} could not {doing}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.transactional_id, self.doing, self.reason, self.code)


class TransactionUnfinishedError(TransactionError):
    """The cluster did not answer in time. The request may have taken effect, and may be repeated."""


class TransactionAbortableError(TransactionError):
    """The transaction must be aborted. After that its id can be used again."""


class ProducerFencedError(TransactionError):
    """The producer's epoch is old: a newer producer has the id, or the cluster has ended the transaction."""
