"""The client that sent a request to a group."""

from collections.abc import Callable
from typing import NamedTuple


class Caller(NamedTuple):
    """The client that sent a request, as groups remember it."""

    client_id: str
    client_host: str
    api_version: int
    # Whether the client may describe a topic. None: it may describe all.
    may_describe: Callable[[str], bool] | None = None
