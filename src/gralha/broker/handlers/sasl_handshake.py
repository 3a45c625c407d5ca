"""SaslHandshake (versions 0 and 1): begins a login, or a new login of the same client (KIP-368).

On a listener without SASL the answer is ILLEGAL_SASL_STATE, as in Kafka. `login.py` has the states.
"""

from gralha.broker.broker import Broker
from gralha.broker.other_protocols import sasl_on
from gralha.broker.pipeline import Deferred, RequestContext
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def handle(broker: Broker, context: RequestContext, request: SaslHandshakeRequest) -> Message | Deferred:
    peer = context.peer
    if peer.login is None:
        advice = sasl_on(peer.listener)
        broker.warnings.warn(f"{peer.host} {advice}", "%s:%s %s", peer.host, peer.port, advice)
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    answer: Message | Deferred = peer.login.handshake(request.mechanism, context.api_version)
    return answer
