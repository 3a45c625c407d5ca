"""CreateDelegationToken (versions 1 to 3): a token for the caller, or for another owner (KIP-48, KIP-373).

The active controller decides. To get a token of another owner, the caller needs CREATE_TOKENS on that user.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers.delegation_token_requests import ANONYMOUS, NO_TIME_MS, caller, may_ask
from gralha.broker.handlers.forwarding import Decided, forward
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.delegation_tokens import (
    create_token,
    creation_answer,
    has_other_renewers,
    owner_of,
)
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode, KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)


async def handle(broker: Broker, context: RequestContext, request: CreateDelegationTokenRequest) -> Message:
    """On a broker."""
    code = _refused(broker, context, request, is_allowed=may_ask(broker, context))
    if not code and has_other_renewers(request):
        code = ErrorCode.INVALID_PRINCIPAL_TYPE
    if code:
        return _answer(context, request, code)
    return await forward(broker, context, request, Decided(decide, refusal))


async def handle_on_controller(
    broker: Broker, context: RequestContext, request: CreateDelegationTokenRequest
) -> Message:
    """On a controller, for its own clients."""
    if not may_ask(broker, context):
        return _answer(context, request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    try:
        return await decide(broker, context, request)
    except KafkaError as error:
        return refusal(request, error, context.api_version)


async def decide(
    broker: Broker, context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    code = _refused(broker, context, request, is_allowed=not context.peer.is_token_authenticated)
    if code:
        return _answer(context, request, code)
    controller, asking = broker.controller, caller(broker, context)
    response = await controller.execute(
        lambda image: create_token(image, request, asking, controller.context)
    )
    if not response.error_code:
        broker.rights.audit.changed(
            context,
            "delegation token created",
            token_id=response.token_id,
            owner=f"{response.principal_type}:{response.principal_name}",
            renewers=[f"{one.principal_type}:{one.principal_name}" for one in request.renewers],
        )
    return response


def refusal(
    request: CreateDelegationTokenRequest, error: KafkaError, version: int
) -> CreateDelegationTokenResponse:
    return creation_answer(ANONYMOUS, ANONYMOUS, error.code, NO_TIME_MS)


def _refused(
    broker: Broker, context: RequestContext, request: CreateDelegationTokenRequest, *, is_allowed: bool
) -> int:
    """The error of a caller that may not have this token, or 0."""
    if not is_allowed:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    if request.owner_principal_name and request.owner_principal_type is None:
        # Apache Kafka's answer is UNKNOWN_SERVER_ERROR.
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    owner = owner_of(request, context.peer.principal)
    if owner != context.peer.principal and not broker.rights.may(
        context, Operation.CREATE_TOKENS, ResourceType.USER, owner
    ):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    return 0


def _answer(
    context: RequestContext, request: CreateDelegationTokenRequest, code: int
) -> CreateDelegationTokenResponse:
    requester = context.peer.principal
    return creation_answer(owner_of(request, requester), requester, code, NO_TIME_MS)
