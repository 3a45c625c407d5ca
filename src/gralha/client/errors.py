"""What can go wrong between this process and a cluster, apart from the cluster's own error codes.

    ClientError                 a sentence for a person: what happened and what to do
    +-- ConnectionFailedError   no connection to a broker: the request was not sent
    +-- UnansweredError         the connection broke after the request was sent: it may have been carried out
        +-- RequestTimeoutError     the broker did not answer in time
    +-- UnsupportedApiError     the broker does not serve the API, or no version that we speak

A broker's own refusals are `gralha.protocol.errors.KafkaError`s and carry Kafka's error codes.
"""


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
