"""The base of all admin calls."""

from gralha.client.cluster import Cluster
from gralha.protocol.errors import ErrorCode, KafkaError, error_for


class Calls:
    """A group of calls on one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster


def error_or_none(code: int, message: str | None = None) -> KafkaError | None:
    """The error of a response's code and message, or None if it succeeded."""
    return None if code == ErrorCode.NONE else error_for(code, message or None)


def raise_for(code: int, message: str | None = None) -> None:
    """Raises the error of a response's code and message, if there is one."""
    error = error_or_none(code, message)
    if error is not None:
        raise error
