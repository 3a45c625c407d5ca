"""Admin calls about the quorum, its voters, and feature levels."""

from collections.abc import Iterable, Mapping
from typing import Final

from gralha.client.calls import Calls, error_or_none, raise_for
from gralha.client.quorum_values import (
    FeatureRange,
    FeaturesDescription,
    QuorumDescription,
    QuorumReplica,
    UpgradeType,
    VoterEndpoint,
)
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from gralha.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
    DescribeQuorumResponse,
    ReplicaState,
)
from gralha.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from gralha.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from gralha.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

METADATA_TOPIC: Final = "__cluster_metadata"


class QuorumCalls(Calls):
    """Calls that describe the quorum, change its voters, unregister brokers, read and set feature levels."""

    def describe_quorum(self) -> QuorumDescription:
        """The leader of the metadata log and the lag of the other nodes."""
        partition = DescribeQuorumRequestPartition(partition_index=0)
        topic = DescribeQuorumRequestTopic(topic_name=METADATA_TOPIC, partitions=[partition])
        request = DescribeQuorumRequest(topics=[topic])

        def attempt() -> QuorumDescription:
            response = self.cluster.admin_connection().send(request, DescribeQuorumResponse)
            raise_for(response.error_code, response.error_message)
            return _quorum(response)

        return self.cluster.once(attempt)

    def add_voter(self, voter_id: int, directory_id: bytes, endpoints: Iterable[VoterEndpoint]) -> None:
        """Makes a controller a voter. Returns when the new voters are committed (KIP-853)."""
        request = AddRaftVoterRequest(
            cluster_id=None,
            timeout_ms=self.cluster.request_timeout_ms,
            voter_id=voter_id,
            voter_directory_id=directory_id,
            listeners=[
                Listener(name=endpoint.listener, host=endpoint.host, port=endpoint.port)
                for endpoint in endpoints
            ],
        )

        def attempt() -> None:
            response = self.cluster.admin_connection().send(request, AddRaftVoterResponse)
            raise_for(response.error_code, response.error_message)

        self.cluster.once(attempt, is_change=True)

    def remove_voter(self, voter_id: int, directory_id: bytes) -> None:
        """Makes a voter an observer."""
        request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter_id, voter_directory_id=directory_id)

        def attempt() -> None:
            response = self.cluster.admin_connection().send(request, RemoveRaftVoterResponse)
            raise_for(response.error_code, response.error_message)

        self.cluster.once(attempt, is_change=True)

    def unregister_broker(self, broker_id: int) -> None:
        """Removes a broker from the cluster for good."""

        def attempt() -> None:
            request = UnregisterBrokerRequest(broker_id=broker_id)
            response = self.cluster.admin_connection().send(request, UnregisterBrokerResponse)
            raise_for(response.error_code, response.error_message)

        self.cluster.once(attempt, is_change=True)

    def describe_features(self, node_id: int | None = None) -> FeaturesDescription:
        """The levels that a node supports (any node without an id), and the current levels of the cluster."""

        def attempt() -> FeaturesDescription:
            cluster = self.cluster
            connection = cluster.admin_connection() if node_id is None else cluster.connection_to(node_id)
            answer = connection.api_versions
            epoch = answer.finalized_features_epoch
            return FeaturesDescription(
                {
                    feature.name: FeatureRange(feature.min_version, feature.max_version)
                    for feature in answer.supported_features
                },
                {feature.name: feature.max_version_level for feature in answer.finalized_features},
                epoch if epoch >= 0 else None,
            )

        return self.cluster.once(attempt)

    def update_features(
        self, levels: Mapping[str, int], upgrade_type: UpgradeType, *, validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Sets features to levels; 0 removes a feature. The result is None for each that was set."""

        def attempt(names: list[str]) -> dict[str, KafkaError | None]:
            request = UpdateFeaturesRequest(
                timeout_ms=self.cluster.request_timeout_ms,
                feature_updates=[
                    FeatureUpdateKey(feature=name, max_version_level=levels[name], upgrade_type=upgrade_type)
                    for name in names
                ],
                validate_only=validate_only,
            )
            response = self.cluster.admin_connection().send(request, UpdateFeaturesResponse)
            raise_for(response.error_code, response.error_message)
            # Newer brokers set all or none, with one answer.
            if not response.results:
                return dict.fromkeys(names)
            return {
                result.feature: error_or_none(result.error_code, result.error_message)
                for result in response.results
            }

        return self.cluster.each(levels, attempt, is_change=True)


def _quorum(response: DescribeQuorumResponse) -> QuorumDescription:
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    if len(partitions) != 1:
        raise error_for(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"The answer is about {len(partitions)} partitions, not about one.",
        )
    (partition,) = partitions
    raise_for(partition.error_code, partition.error_message)
    return QuorumDescription(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        [_replica(state) for state in partition.current_voters],
        [_replica(state) for state in partition.observers],
        {
            node.node_id: [VoterEndpoint(one.name, one.host, one.port) for one in node.listeners]
            for node in response.nodes
        },
    )


def _replica(state: ReplicaState) -> QuorumReplica:
    fetched, caught_up = state.last_fetch_timestamp, state.last_caught_up_timestamp
    return QuorumReplica(
        state.replica_id,
        state.replica_directory_id,
        state.log_end_offset,
        fetched if fetched >= 0 else None,
        caught_up if caught_up >= 0 else None,
    )
