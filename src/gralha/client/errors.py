"""What can go wrong between this process and a cluster, apart from the cluster's own error codes.

    ClientError                 a sentence for a person: what happened and what to do
    +-- ConnectionFailedError   no connection to a broker: the request was not sent
    +-- UnansweredError         the connection broke after the request was sent: it may have been carried out
        +-- RequestTimeoutError     the broker did not answer in time
    +-- UnsupportedApiError     the broker does not serve the API, or no version that we speak
    +-- SettingsError           a setting that cannot be
    +-- RowsError               rows that cannot become records: a column is missing, a topic is null
    +-- OffsetsLostError        records that were asked for are not in the log, or not any more
    +-- TopicRecreatedError     the topic of that name is another one than the one that was asked for
    +-- TopicDeletedError       the cluster does not have, or no longer has, the partition to read
    +-- DeliveryError           records could not be written, or it is not known whether they were
        +-- DeliveryRefusedError    the cluster will not take them, however often it is asked

A broker's own refusals are `gralha.protocol.errors.KafkaError`s and carry Kafka's error codes. They are named
here, too, for those who may import the client only.
"""

from gralha.protocol.errors import ErrorCode, KafkaError

__all__ = [
    "ClientError",
    "ConnectionFailedError",
    "DeliveryError",
    "DeliveryRefusedError",
    "ErrorCode",
    "KafkaError",
    "OffsetsLostError",
    "RequestTimeoutError",
    "RowsError",
    "SettingsError",
    "TopicDeletedError",
    "TopicRecreatedError",
    "UnansweredError",
    "UnsupportedApiError",
]


class ClientError(Exception):
    """A failure on this side of the connection, explained to a person."""


class ConnectionFailedError(ClientError):
    """A broker could not be reached: the request was not sent."""


class UnansweredError(ClientError):
    """A request was sent, but no answer came that can be read: it may have been carried out."""


class RequestTimeoutError(UnansweredError):
    """A broker did not answer within the time that it was given."""


class UnsupportedApiError(ClientError):
    """The broker does not serve an API, or none of the versions that we speak."""


class SettingsError(ClientError):
    """A setting has a value that it cannot have."""


class RowsError(ClientError):
    """Rows that cannot be written as records, with the reason."""


class OffsetsLostError(ClientError):
    """The log does not hold an offset that was asked for; what came before it has been handed out."""

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
            why = "the log ends before it: was the topic truncated, or deleted and created anew"
        super().__init__(
            f"{topic}-{partition} has no offset {wanted}: {why}. "
            f"It holds the offsets {log_start_offset} to {log_end_offset} (exclusive)."
        )

    def __reduce__(self) -> tuple[object, ...]:
        """For pickle: errors travel from Spark's workers to its driver."""
        values = (self.topic, self.partition, self.wanted, self.log_start_offset, self.log_end_offset)
        return type(self), values


class TopicRecreatedError(ClientError):
    """The topic was deleted and created anew: offsets of the old one mean nothing in it."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(f"The topic {topic} was deleted and created anew since its offsets were noted.")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.topic,)


class TopicDeletedError(ClientError):
    """There is no such partition: its topic was deleted, or never was."""

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        super().__init__(
            f"The cluster has no partition {topic}-{partition}: the topic was deleted since its offsets were "
            "noted, or its name is another one. See what is there with: kafka-topics --list"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.topic, self.partition)


class DeliveryError(ClientError):
    """Records that the cluster did not take: of one partition, of a topic, or all (None)."""

    def __init__(self, topic: str | None, partition: int | None, reason: str, code: int = 0) -> None:
        self.topic = topic
        self.partition = partition
        self.reason = reason
        # The broker's answer, by Kafka's number; 0 when there was none.
        self.code = code
        where = "" if topic is None else f" to {topic}" if partition is None else f" to {topic}-{partition}"
        super().__init__(f"Records could not be written{where}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.topic, self.partition, self.reason, self.code)


class DeliveryRefusedError(DeliveryError):
    """Records that are refused for good: too large for the topic, no such topic, access denied."""
