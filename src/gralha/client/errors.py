"""What can go wrong between this process and a cluster, apart from the cluster's own error codes.

    ClientError                 a sentence for a person: what happened and what to do
    +-- ConnectionFailedError   no connection to a broker, or it broke before the answer came
    +-- RequestTimeoutError     a broker did not answer in time
    +-- UnsupportedApiError     the broker does not serve the API, or no version that we speak

A broker's own refusals are `gralha.protocol.errors.KafkaError`s and carry Kafka's error codes.
"""


class ClientError(Exception):
    """A failure on this side of the connection, explained to a person."""


class ConnectionFailedError(ClientError):
    """A broker could not be reached, or the connection broke before its answer came."""


class RequestTimeoutError(ClientError):
    """A broker did not answer within the time that it was given."""


class UnsupportedApiError(ClientError):
    """The broker does not serve an API, or none of the versions that we speak."""
