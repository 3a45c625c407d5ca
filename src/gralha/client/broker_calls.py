"""Admin calls about the cluster and its brokers."""

from typing import Final

from gralha.client.calls import Calls, raise_for
from gralha.client.cluster import BROKER_ENDPOINTS, CONTROLLER_ENDPOINTS
from gralha.client.values import ClusterDescription, ClusterNode, LogDir, ReplicaSize, TopicPartition
from gralha.protocol.errors import ErrorCode, error_for
from gralha.protocol.messages.api_versions import ApiVersionsResponse
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from gralha.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)

# The first version of DescribeCluster that can list fenced brokers.
FENCED_BROKERS_VERSION: Final = 2


class BrokerCalls(Calls):
    """Calls about the cluster, the data folders of its brokers, and the versions that they support."""

    def describe_cluster(self, *, include_fenced: bool = False) -> ClusterDescription:
        """The brokers of the cluster, or its controllers if the client is connected to controllers."""

        def attempt() -> ClusterDescription:
            connection = self.cluster.admin_connection()
            request = DescribeClusterRequest(
                endpoint_type=CONTROLLER_ENDPOINTS if self.cluster.through_controllers else BROKER_ENDPOINTS,
                include_fenced_brokers=include_fenced,
            )
            if include_fenced and connection.version_for(request) < FENCED_BROKERS_VERSION:
                raise error_for(ErrorCode.UNSUPPORTED_VERSION, "The cluster does not list fenced brokers.")
            response = connection.send(request, DescribeClusterResponse)
            raise_for(response.error_code, response.error_message)
            nodes = [
                ClusterNode(node.broker_id, node.host, node.port, node.rack, node.is_fenced)
                for node in response.brokers
            ]
            return ClusterDescription(response.cluster_id, response.controller_id, sorted(nodes))

        return self.cluster.once(attempt)

    def describe_log_dirs(self, broker_id: int) -> list[LogDir]:
        """The data folders of a broker, with the partitions in them."""

        def attempt() -> list[LogDir]:
            response = self.cluster.send_to(
                broker_id, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse
            )
            raise_for(response.error_code)
            return [_log_dir(result) for result in response.results]

        return self.cluster.once(attempt)

    def api_versions(self, broker_id: int) -> ApiVersionsResponse:
        """The APIs and versions that a broker supports, and its features."""
        return self.cluster.once(lambda: self.cluster.connection_to(broker_id).api_versions)


def _log_dir(result: DescribeLogDirsResult) -> LogDir:
    return LogDir(
        path=result.log_dir,
        error_code=result.error_code,
        replicas=[
            ReplicaSize(
                TopicPartition(topic.name, partition.partition_index),
                partition.partition_size,
                partition.offset_lag,
                partition.is_future_key,
            )
            for topic in result.topics
            for partition in topic.partitions
        ],
        total_bytes=result.total_bytes,
        usable_bytes=result.usable_bytes,
    )
