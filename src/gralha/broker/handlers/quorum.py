"""The requests of the quorum, all answered by the raft driver.

Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot of the metadata log, DescribeQuorum,
AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.message import Message


def handle(broker: Broker, context: RequestContext, request: Message) -> Message | Awaitable[Message]:
    return broker.controller.driver.handle(request, context.api_version)
