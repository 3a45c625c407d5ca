"""RenewDelegationToken (versions 1 and 2): a token expires later (KIP-48).

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
from gralha.metadata.controller.delegation_tokens import renew_token
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)


async def handle(broker: Broker, context: RequestContext, request: RenewDelegationTokenRequest) -> Message:
    """On a broker."""
    if not may_ask(broker, context):
        return _not_allowed()
    return await forward(broker, context, request, Decided(decide, refusal))


async def handle_on_controller(
    broker: Broker, context: RequestContext, request: RenewDelegationTokenRequest
) -> Message:
    """On a controller, for its own clients."""
    if not may_ask(broker, context):
        return _not_allowed()
    try:
        return await decide(broker, context, request)
    except KafkaError as error:
        return refusal(request, error, context.api_version)


async def decide(
    broker: Broker, context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    if context.peer.is_token_authenticated:
        return _not_allowed()
    controller, asking = broker.controller, caller(broker, context)
    changed = token_of(broker, request.hmac)
    response = await controller.execute(lambda image: renew_token(image, request, asking, controller.context))
    if not response.error_code:
        audit_change(broker, context, "delegation token renewed", changed, response.expiry_timestamp_ms)
    return response


def refusal(
    request: RenewDelegationTokenRequest, error: KafkaError, version: int
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error.code)


def _not_allowed() -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, NO_TIME_MS)
