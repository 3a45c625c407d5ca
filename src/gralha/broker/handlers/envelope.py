"""Envelope (version 0): a broker forwards a client's request to the active controller (KIP-590).

The request inside is decided as if the client had asked here. If this node is not the active controller, or
loses leadership before the decision is committed, the envelope itself has NOT_CONTROLLER, so that the broker
asks the next controller. All other errors are in the response inside.

Gaps: the client's principal is ignored, because there is no authentication yet.
"""

from gralha.broker import handlers
from gralha.broker.broker import Broker
from gralha.broker.pipeline import Peer, RequestContext
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.envelopes import address_text, open_request, sealed_response
from gralha.protocol.errors import ErrorCode, KafkaError, NotControllerError
from gralha.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from gralha.protocol.primitives import ProtocolError


async def handle(broker: Broker, context: RequestContext, request: EnvelopeRequest) -> EnvelopeResponse:
    try:
        inner = open_request(request.request_data)
        host = address_text(request.client_host_address)
    except ProtocolError:
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    if inner.api_key not in handlers.DECIDED:
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    api = handlers.decided_api(ApiKey(inner.api_key))
    peer = Peer(host, 0, context.peer.listener, context.peer.principal, context.peer.apis)
    client = RequestContext(peer, inner.version, inner.client_id)
    try:
        response = await api.decide(broker, client, inner.request)
    except NotControllerError:
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    except KafkaError as error:
        response = api.refusal(inner.request, error, inner.version)
    sealed = sealed_response(apis.APIS[inner.api_key], inner.version, inner.correlation_id, response)
    return EnvelopeResponse(response_data=sealed)
