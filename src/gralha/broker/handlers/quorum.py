"""The requests of the quorum: Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot of the metadata log,
DescribeQuorum, AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter. The raft driver answers them all.
"""

from collections.abc import Awaitable

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.message import Message


def handle(broker: Broker, context: RequestContext, request: Message) -> Message | Awaitable[Message]:
    return broker.controller.answer(request, context.api_version)
