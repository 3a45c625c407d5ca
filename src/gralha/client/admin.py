"""Admin calls on a cluster. Arguments and results are typed values.

A call about many things returns a result or a KafkaError for each of them. A call about one thing raises.
Each call goes to the right broker (any, the controller, a given one, the leaders of partitions, the
coordinators of groups and transactions). It is repeated while its error is temporary, as `Cluster.each`
describes.
"""

from typing import Self

from gralha.client.acl_calls import AclCalls
from gralha.client.broker_calls import BrokerCalls
from gralha.client.config_calls import ConfigCalls
from gralha.client.delegation_token_calls import DelegationTokenCalls
from gralha.client.group_calls import GroupCalls
from gralha.client.group_offset_calls import GroupOffsetCalls
from gralha.client.partition_calls import PartitionCalls
from gralha.client.quorum_calls import QuorumCalls
from gralha.client.quota_calls import QuotaCalls
from gralha.client.reassignment_calls import ReassignmentCalls
from gralha.client.scram_calls import ScramCalls
from gralha.client.topic_calls import TopicCalls
from gralha.client.transaction_calls import TransactionCalls


class Admin(
    TopicCalls,
    ConfigCalls,
    PartitionCalls,
    BrokerCalls,
    QuorumCalls,
    ReassignmentCalls,
    GroupCalls,
    GroupOffsetCalls,
    TransactionCalls,
    ScramCalls,
    AclCalls,
    QuotaCalls,
    DelegationTokenCalls,
):
    """All admin calls. `close` also closes the cluster."""

    def close(self) -> None:
        """Closes the connections."""
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
