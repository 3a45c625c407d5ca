"""Decisions about delegation tokens: create, renew, expire (KIP-48, KIP-373), as Apache Kafka decides.

Whether the caller may ask at all, and for this owner, was checked before. All times are of the wall clock.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from gralha.metadata.controller.decision import (
    MAX_RECORDS_PER_REQUEST,
    ControllerContext,
    Decision,
)
from gralha.metadata.delegation_tokens import (
    TIMESTAMP_MAX,
    USER_TYPE,
    DelegationToken,
    parts_of,
    token_record,
)
from gralha.metadata.features import has_delegation_tokens
from gralha.metadata.image import MetadataImage
from gralha.protocol.errors import ErrorCode, KafkaError, error_for
from gralha.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from gralha.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from gralha.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from gralha.protocol.messages.security_records import RemoveDelegationTokenRecord
from gralha.protocol.primitives import uuid_to_string

MAX_LIFETIME: Final = "delegation.token.max.lifetime.ms"
EXPIRY_TIME: Final = "delegation.token.expiry.time.ms"
CHECK_INTERVAL: Final = "delegation.token.expiry.check.interval.ms"

Created = Decision[CreateDelegationTokenResponse]
Renewed = Decision[RenewDelegationTokenResponse]
Expired = Decision[ExpireDelegationTokenResponse]


class Caller(NamedTuple):
    """The principal of a request, and the time of the request."""

    principal: str
    now_ms: int


def owner_of(request: CreateDelegationTokenRequest, principal: str) -> str:
    """The owner of the token that a client asks for: the client itself, unless it names somebody."""
    if not request.owner_principal_name:
        return principal
    return f"{request.owner_principal_type or ''}:{request.owner_principal_name}"


def has_other_renewers(request: CreateDelegationTokenRequest) -> bool:
    """Returns True if a renewer is not a user. Kafka knows no other type of principal."""
    return any(one.principal_type != USER_TYPE for one in request.renewers)


def creation_answer(
    owner: str, requester: str, code: int = 0, timestamp_ms: int = 0
) -> CreateDelegationTokenResponse:
    """A response without a token."""
    return CreateDelegationTokenResponse(
        code,
        *parts_of(owner),
        *parts_of(requester),
        issue_timestamp_ms=timestamp_ms,
        expiry_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
    )


def create_token(
    image: MetadataImage, request: CreateDelegationTokenRequest, caller: Caller, context: ControllerContext
) -> Created:
    """Creates a token."""
    owner = owner_of(request, caller.principal)
    response = creation_answer(owner, caller.principal)
    key, now_ms = context.token_key, caller.now_ms
    code = _unavailable(image, context)
    if not code and has_other_renewers(request):
        code = ErrorCode.INVALID_PRINCIPAL_TYPE
    if code or key is None:
        response.error_code = code
        return Decision(response, [])
    max_ms = _later(now_ms, _limited(image, context, MAX_LIFETIME, request.max_lifetime_ms))
    token = DelegationToken(
        uuid_to_string(context.new_uuid()),
        owner,
        caller.principal,
        tuple(f"{one.principal_type}:{one.principal_name}" for one in request.renewers),
        now_ms,
        max_ms,
        min(max_ms, _later(now_ms, context.broker_number(image, EXPIRY_TIME))),
    )
    response.issue_timestamp_ms = now_ms
    response.max_timestamp_ms = max_ms
    response.expiry_timestamp_ms = token.expires_ms
    response.token_id = token.id
    response.hmac = key.secret(token.id)
    return Decision(response, [token_record(token)])


def renew_token(
    image: MetadataImage, request: RenewDelegationTokenRequest, caller: Caller, context: ControllerContext
) -> Renewed:
    """A token expires later, but never after the end of its life."""
    now_ms = caller.now_ms
    try:
        token = _token_of(image, request.hmac, context)
        if token.is_expired(now_ms):
            raise error_for(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        _check_renewer(token, caller)
    except KafkaError as error:
        return Decision(RenewDelegationTokenResponse(error.code), [])
    expires_ms = _later(now_ms, _limited(image, context, EXPIRY_TIME, request.renew_period_ms))
    return _changed(token, expires_ms, RenewDelegationTokenResponse)


def expire_token(
    image: MetadataImage, request: ExpireDelegationTokenRequest, caller: Caller, context: ControllerContext
) -> Expired:
    """A token expires at another time. With a negative period it is removed at once."""
    now_ms, period_ms = caller.now_ms, request.expiry_time_period_ms
    try:
        token = _token_of(image, request.hmac, context)
        _check_renewer(token, caller)
        if period_ms >= 0 and token.is_expired(now_ms):
            raise error_for(ErrorCode.DELEGATION_TOKEN_EXPIRED)
    except KafkaError as error:
        return Decision(ExpireDelegationTokenResponse(error.code), [])
    if period_ms < 0:
        return Decision(
            ExpireDelegationTokenResponse(0, now_ms), [RemoveDelegationTokenRecord(token_id=token.id)]
        )
    return _changed(token, _later(now_ms, period_ms), ExpireDelegationTokenResponse)


def remove_expired_tokens(image: MetadataImage, now_ms: int) -> Decision[list[DelegationToken]]:
    """Removes tokens that have expired. If they are too many, the next decision removes the others."""
    expired = [token for token in image.delegation_tokens.values() if token.is_expired(now_ms)]
    removed = expired[:MAX_RECORDS_PER_REQUEST]
    return Decision(removed, [RemoveDelegationTokenRecord(token_id=token.id) for token in removed])


def _unavailable(image: MetadataImage, context: ControllerContext) -> int:
    """The error of a cluster without tokens, or 0."""
    if context.token_key is None:
        return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    return 0 if has_delegation_tokens(image.features) else ErrorCode.UNSUPPORTED_VERSION


def _token_of(image: MetadataImage, secret: bytes, context: ControllerContext) -> DelegationToken:
    """The token with a secret. Raises KafkaError if there is none."""
    code = _unavailable(image, context)
    if code or context.token_key is None:
        raise error_for(code)
    token = context.token_key.find(image.delegation_tokens, secret)
    if token is None:
        raise error_for(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
    return token


def _check_renewer(token: DelegationToken, caller: Caller) -> None:
    """Raises KafkaError if the caller may not change a token. Having asked for it is not enough."""
    if caller.principal != token.owner and caller.principal not in token.renewers:
        raise error_for(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _changed(token: DelegationToken, expires_ms: int, response: Callable[[int, int], Any]) -> Decision[Any]:
    changed = token._replace(expires_ms=min(token.max_ms, expires_ms))
    return Decision(response(0, changed.expires_ms), [token_record(changed)])


def _limited(image: MetadataImage, context: ControllerContext, setting: str, asked_ms: int) -> int:
    """The period that a client asks for, at most the setting. Without one it is the setting."""
    limit_ms = context.broker_number(image, setting)
    return min(limit_ms, asked_ms) if asked_ms > 0 else limit_ms


def _later(now_ms: int, period_ms: int) -> int:
    return min(now_ms + period_ms, TIMESTAMP_MAX)
