"""ExpireDelegationToken (versions 1 and 2): a token expires earlier, or at once (KIP-48).

The active controller decides. Only the owner of a token and its renewers may do that. No ACL allows it.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers.delegation_token_requests import (
    NO_TIME_MS,
    audit_change,
    caller,
    may_ask,
    token_of,
)
from gralha.broker.handlers.forwarding import Decided, forward
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.delegation_tokens import expire_token
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)


async def handle(broker: Broker, context: RequestContext, request: ExpireDelegationTokenRequest) -> Message:
    """On a broker."""
    if not may_ask(broker, context):
        return _not_allowed()
    return await forward(broker, context, request, Decided(decide, refusal))


async def handle_on_controller(
    broker: Broker, context: RequestContext, request: ExpireDelegationTokenRequest
) -> Message:
    """On a controller, for its own clients."""
    if not may_ask(broker, context):
        return _not_allowed()
    try:
        return await decide(broker, context, request)
    except KafkaError as error:
        return refusal(request, error, context.api_version)


async def decide(
    broker: Broker, context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    if context.peer.is_token_authenticated:
        return _not_allowed()
    controller, asking = broker.controller, caller(broker, context)
    changed = token_of(broker, request.hmac)
    response = await controller.execute(
        lambda image: expire_token(image, request, asking, controller.context)
    )
    if not response.error_code:
        audit_change(broker, context, "delegation token expired", changed, response.expiry_timestamp_ms)
    return response


def refusal(
    request: ExpireDelegationTokenRequest, error: KafkaError, version: int
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error.code)


def _not_allowed() -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIME_MS)
