"""Envelope (version 0): a broker forwards a client's request to the active controller (KIP-590).

The request inside is decided as if the client had asked here. If this node is not the active controller, or
loses leadership before the decision is committed, the envelope itself has NOT_CONTROLLER, so that the broker
asks the next controller. All other errors are in the response inside.

The envelope has the client's principal and address, and the client's rights count. Only a broker may send an
envelope: its own principal needs CLUSTER_ACTION (`needs.py`). An envelope without a principal has a request
of the broker itself, for the topics of coordinators. Then the rights of the broker's principal count.
"""

from gralha.broker import handlers
from gralha.broker.broker import Broker
from gralha.broker.pipeline import Peer, RequestContext
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.envelopes import address_text, open_request, principal_of, sealed_response
from gralha.protocol.errors import ErrorCode, KafkaError, NotControllerError
from gralha.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from gralha.protocol.primitives import ProtocolError


async def handle(broker: Broker, context: RequestContext, request: EnvelopeRequest) -> EnvelopeResponse:
    try:
        inner = open_request(request.request_data)
        host = address_text(request.client_host_address)
    except ProtocolError:
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    try:
        principal, has_token = _principal(context, request.request_principal)
    except ProtocolError:
        return EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    if inner.api_key not in handlers.DECIDED:
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    api = handlers.decided_api(ApiKey(inner.api_key))
    peer = Peer(host, 0, context.peer.listener, principal, context.peer.apis)
    peer.is_token_authenticated = has_token
    peer.is_this_node = context.peer.is_this_node and request.request_principal is None
    client = RequestContext(peer, inner.version, inner.client_id)
    try:
        response = await api.decide(broker, client, inner.request)
    except NotControllerError:
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
    except KafkaError as error:
        response = api.refusal(inner.request, error, inner.version)
    sealed = sealed_response(apis.APIS[inner.api_key], inner.version, inner.correlation_id, response)
    return EnvelopeResponse(response_data=sealed)


def _principal(context: RequestContext, data: bytes | None) -> tuple[str, bool]:
    """The principal whose rights count for the request inside, and whether it has only a delegation token."""
    if data is None:
        return context.peer.principal, context.peer.is_token_authenticated
    principal = principal_of(data)
    return f"{principal.type}:{principal.name}", principal.token_authenticated
