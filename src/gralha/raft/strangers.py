"""Nodes of other clusters, which a wrong address or a folder with a wrong cluster id leads to.

No waiting helps against that, so a person is told: once for each node, not every time it is asked again.
"""

import logging
from collections.abc import Collection
from typing import Final

log = logging.getLogger("gralha.raft")

# Who asks may call itself what it likes; only so many clusters are remembered, and told of.
_MAX_REFUSED: Final = 10
_MAX_ID_LENGTH: Final = 64

_ADVICE: Final = (
    "See that controller.quorum.voters and controller.quorum.bootstrap.servers name servers of one cluster. "
    "If a folder was formatted with the wrong id, empty it and type kafka-storage format with the right "
    "--cluster-id."
)


class Strangers:
    """Who has said to be of another cluster. `folder` is where this node's own cluster id stands."""

    def __init__(self, own_cluster_id: str | None, folder: str) -> None:
        self._here = f"cluster {own_cluster_id} ({folder}/meta.properties)"
        # By the ids that peers have; a cluster whose id could not be found out is None.
        self._clusters: dict[int, str | None] = {}
        self._asked: set[int] = set()
        self._refused: set[str] = set()

    def is_new(self, node_id: int) -> bool:
        """Whether a node that calls this one a stranger was not known to; from now on it is."""
        known = node_id in self._asked
        self._asked.add(node_id)
        return not known

    def found(self, node_id: int, cluster_id: str | None) -> None:
        """A node is of another cluster."""
        self._clusters[node_id] = cluster_id
        name = (
            f"Controller {node_id}"
            if node_id >= 0
            else f"Server {-1 - node_id} of controller.quorum.bootstrap.servers"
        )
        log.error("%s is of %s, this node of %s. %s", name, _cluster(cluster_id), self._here, _ADVICE)

    def gone(self, node_id: int) -> None:
        """A node answers as one of this cluster does."""
        self._asked.discard(node_id)
        self._clusters.pop(node_id, None)

    def refused(self, node_id: int | None, cluster_id: str) -> None:
        """A node of another cluster has asked."""
        cluster_id = cluster_id[:_MAX_ID_LENGTH]
        if cluster_id in self._refused or len(self._refused) >= _MAX_REFUSED:
            return
        self._refused.add(cluster_id)
        name = "A client" if node_id is None else f"Node {node_id}"
        log.warning(
            "%s of %s was refused: this node is of %s. %s", name, _cluster(cluster_id), self._here, _ADVICE
        )

    def majority(self, others: Collection[int]) -> str | None:
        """What is wrong if so many of the other voters are strangers that the rest is no majority."""
        found = [node_id for node_id in others if node_id in self._clusters]
        if 2 * len(found) <= len(others):
            return None
        theirs = ", ".join(sorted({_cluster(self._clusters[node_id]) for node_id in found}))
        return f"{len(found)} of {len(others)} controllers are of {theirs}; this node is of {self._here}"


def _cluster(cluster_id: str | None) -> str:
    return "another cluster" if cluster_id is None else f"cluster {cluster_id!r}"
