"""The brokers of a command that names none.

`GRALHA_BOOTSTRAP_SERVERS` is for all commands. Without it `gralha topics` and the like use the address of
`gralha up`, and `kafka-topics` demands the option, as Kafka's command does.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

ENVIRONMENT: Final = "GRALHA_BOOTSTRAP_SERVERS"
ADDRESS_OF_UP: Final = "localhost:9092"

_is_gralha: ContextVar[bool] = ContextVar("_is_gralha", default=False)


def default_bootstrap_servers() -> str:
    """The brokers of GRALHA_BOOTSTRAP_SERVERS, otherwise the address of `gralha up`."""
    return os.environ.get(ENVIRONMENT) or ADDRESS_OF_UP


def is_gralha() -> bool:
    """Returns True if the command was typed as `gralha COMMAND`."""
    return _is_gralha.get()


def servers_without_option() -> str | None:
    """The brokers of a command without --bootstrap-server. None if the command demands the option."""
    return default_bootstrap_servers() if _is_gralha.get() else os.environ.get(ENVIRONMENT) or None


def default_in_help() -> str | None:
    """The default of --bootstrap-server for the help text. None if the command demands the option."""
    servers = servers_without_option()
    if servers is None:
        return None
    if os.environ.get(ENVIRONMENT):
        return f"(default: {servers}, from {ENVIRONMENT})"
    return f"(default: {servers}, or {ENVIRONMENT} if it is set)"


@contextmanager
def as_gralha() -> Iterator[None]:
    """A command in this block was typed as `gralha COMMAND`."""
    token = _is_gralha.set(True)
    try:
        yield
    finally:
        _is_gralha.reset(token)
