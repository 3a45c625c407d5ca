"""Nodes of other clusters: the result of a wrong address, or of a folder with a wrong cluster id.

Waiting does not help, so the log tells a person about it: once for each node, not at every retry.
"""

import logging
from collections.abc import Collection
from typing import Final

log = logging.getLogger("gralha.raft")

# A request can name any cluster, so only this many are remembered and logged.
_MAX_REFUSED: Final = 10
_MAX_ID_LENGTH: Final = 64

_ADVICE: Final = (
    "Check that controller.quorum.voters and controller.quorum.bootstrap.servers name servers of one "
    "cluster. If a folder was formatted with the wrong id, empty it and run kafka-storage format with the "
    "right --cluster-id."
)


class Strangers:
    """The nodes that belong to another cluster. The cluster id of this node is in `folder`."""

    def __init__(self, own_cluster_id: str | None, folder: str) -> None:
        self._here = f"cluster {own_cluster_id} ({folder}/meta.properties)"
        # The cluster of each node, or None if the node did not tell its cluster id.
        self._clusters: dict[int, str | None] = {}
        self._asked: set[int] = set()
        self._refused: set[str] = set()

    def is_new(self, node_id: int) -> bool:
        """Returns True the first time a node reports that this node belongs to another cluster."""
        known = node_id in self._asked
        self._asked.add(node_id)
        return not known

    def found(self, node_id: int, cluster_id: str | None) -> None:
        """A node belongs to another cluster."""
        self._clusters[node_id] = cluster_id
        name = (
            f"Controller {node_id}"
            if node_id >= 0
            else f"Server {-1 - node_id} of controller.quorum.bootstrap.servers"
        )
        theirs = _cluster(cluster_id)
        log.error("%s belongs to %s, this node to %s. %s", name, theirs, self._here, _ADVICE)

    def gone(self, node_id: int) -> None:
        """A node has answered as a member of this cluster."""
        self._asked.discard(node_id)
        self._clusters.pop(node_id, None)

    def refused(self, node_id: int | None, cluster_id: str) -> None:
        """A request of a node of another cluster was refused."""
        cluster_id = cluster_id[:_MAX_ID_LENGTH]
        if cluster_id in self._refused or len(self._refused) >= _MAX_REFUSED:
            return
        self._refused.add(cluster_id)
        name = "A client" if node_id is None else f"Node {node_id}"
        log.warning(
            "%s of %s was refused: this node belongs to %s. %s",
            name,
            _cluster(cluster_id),
            self._here,
            _ADVICE,
        )

    def majority(self, others: Collection[int]) -> str | None:
        """An explanation if so many voters belong to another cluster that the rest is no majority."""
        found = [node_id for node_id in others if node_id in self._clusters]
        if 2 * len(found) <= len(others):
            return None
        theirs = ", ".join(sorted({_cluster(self._clusters[node_id]) for node_id in found}))
        counts = f"{len(found)} of {len(others)} controllers"
        return f"{counts} belong to {theirs}; this node belongs to {self._here}"


def _cluster(cluster_id: str | None) -> str:
    return "another cluster" if cluster_id is None else f"cluster {cluster_id!r}"
