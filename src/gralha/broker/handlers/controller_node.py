"""The parts of a node that the handlers of controller requests use."""

import asyncio
from typing import Protocol

from gralha.broker.pipeline import Peer
from gralha.metadata.service import ControllerService


class ControllerNode(Protocol):
    """A node that may be the active controller. It may be a broker as well."""

    @property
    def controller(self) -> ControllerService: ...
    @property
    def cluster_id(self) -> str: ...

    def meet(self, peer: Peer, node_id: int) -> None:
        """The other end of a connection is a node of the cluster."""


def monotonic_ms() -> int:
    """The clock of `Liveness`: the event loop's."""
    return int(asyncio.get_running_loop().time() * 1000)
