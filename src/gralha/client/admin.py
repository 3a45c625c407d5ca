"""Admin calls on a cluster: typed values in, typed values out.

Calls about many things return a result or a KafkaError for each of them; calls about one thing raise. Each
call goes where it must (any broker, the controller, a named broker, the leaders of partitions, the
coordinators of groups) and is repeated while its error may pass, as `Cluster.each` describes.
"""

from typing import Self

from gralha.client.broker_calls import BrokerCalls
from gralha.client.config_calls import ConfigCalls
from gralha.client.group_calls import GroupCalls
from gralha.client.group_offset_calls import GroupOffsetCalls
from gralha.client.partition_calls import PartitionCalls
from gralha.client.quorum_calls import QuorumCalls
from gralha.client.reassignment_calls import ReassignmentCalls
from gralha.client.topic_calls import TopicCalls


class Admin(
    TopicCalls,
    ConfigCalls,
    PartitionCalls,
    BrokerCalls,
    QuorumCalls,
    ReassignmentCalls,
    GroupCalls,
    GroupOffsetCalls,
):
    """All admin calls; it owns the cluster that it was given."""

    def close(self) -> None:
        """Close the connections."""
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
