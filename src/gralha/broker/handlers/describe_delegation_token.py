"""DescribeDelegationToken (versions 1 to 3): tokens with their secrets, for those who may know them (KIP-48).

A caller sees the tokens that it owns, may renew, or has asked for. For other tokens it needs DESCRIBE on the
token, or DESCRIBE_TOKENS on the token's owner (KIP-373). With owners in the request, only tokens that one of
them owns, may renew or has asked for are shown. A token that has expired is shown until it is removed.
"""

from gralha.broker.broker import Broker
from gralha.broker.handlers.delegation_token_requests import may_ask
from gralha.broker.pipeline import RequestContext
from gralha.metadata.delegation_tokens import DelegationToken, TokenKey, parts_of
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)


def handle(
    broker: Broker, context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    if not may_ask(broker, context):
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    key = broker.controller.context.token_key
    if key is None:
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None
    if request.owners is not None:
        owners = {f"{one.principal_type}:{one.principal_name}" for one in request.owners}
    found = [
        _described(token, key)
        for token in broker.controller.image.delegation_tokens.values()
        if (owners is None or any(map(token.concerns, owners))) and _may_see(broker, context, token)
    ]
    return DescribeDelegationTokenResponse(0, found)


def _may_see(broker: Broker, context: RequestContext, token: DelegationToken) -> bool:
    sees = broker.rights.sees
    return (
        token.concerns(context.peer.principal)
        or sees(context, Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.id)
        or sees(context, Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )


def _described(token: DelegationToken, key: TokenKey) -> DescribedDelegationToken:
    return DescribedDelegationToken(
        *parts_of(token.owner),
        *parts_of(token.requester),
        token.issued_ms,
        token.expires_ms,
        token.max_ms,
        token.id,
        key.secret(token.id),
        [DescribedDelegationTokenRenewer(*parts_of(one)) for one in token.renewers],
    )
