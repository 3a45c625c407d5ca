"""The requests of the quorum. The raft driver answers all of them.

These are Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and FetchSnapshot of the metadata log, DescribeQuorum,
AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter.
"""

from collections.abc import Awaitable
from typing import Final

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.protocol.errors import ErrorCode, KafkaError, NotControllerError
from gralha.protocol.message import Message
from gralha.protocol.messages.describe_quorum import DescribeQuorumResponse
from gralha.raft.wire import encode_refusal, sender_id

# This node does not lead the quorum, so the broker should ask the next leader.
_NOT_LEADING: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def handle(broker: Broker, context: RequestContext, request: Message) -> Message | Awaitable[Message]:
    if context.peer.node_id < 0 and (node_id := sender_id(request, context.api_version)) is not None:
        broker.meet(context.peer, node_id)
    return broker.controller.driver.handle(request, context.api_version)


async def decide(broker: Broker, context: RequestContext, request: Message) -> Message:
    """The answer to a request that a broker has forwarded for a client."""
    answer = broker.controller.driver.handle(request, context.api_version)
    response = answer if isinstance(answer, Message) else await answer
    if _error_code(response) in _NOT_LEADING:
        raise NotControllerError
    return response


def refusal(request: Message, error: KafkaError, version: int) -> Message:
    return encode_refusal(request, error.code)


def _error_code(response: Message) -> int:
    """The error of a response. DescribeQuorum has it in its only partition."""
    if isinstance(response, DescribeQuorumResponse) and response.topics:
        return response.topics[0].partitions[0].error_code
    return int(getattr(response, "error_code", 0))
