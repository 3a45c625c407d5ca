"""SaslAuthenticate (versions 0 to 2): a token of the login that SaslHandshake has begun."""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import Deferred, RequestContext
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(broker: Broker, context: RequestContext, request: SaslAuthenticateRequest) -> Message | Deferred:
    login = context.peer.login
    if login is None:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    answer: Message | Deferred = login.authenticate(request.auth_bytes)
    return answer
