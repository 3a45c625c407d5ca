"""Parts that the four requests about delegation tokens share.

A client must have logged in, and with its own credentials: whoever has only a token cannot get another one. A
broker checks that before it forwards a request, because the controller does not see the client's connection.
The envelope tells the controller whether the client has logged in with a token.
"""

from gralha.broker.broker import Broker
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller.delegation_tokens import Caller
from gralha.metadata.delegation_tokens import DelegationToken

ANONYMOUS = "User:ANONYMOUS"
# The time in the response to a request that a broker refuses by itself.
NO_TIME_MS = -1


def may_ask(broker: Broker, context: RequestContext) -> bool:
    """Returns True if requests about tokens are allowed on the caller's own connection."""
    peer = context.peer
    protocol = broker.config.protocol_of(peer.listener)
    is_anonymous = protocol == "SSL" and peer.principal == ANONYMOUS
    return protocol != "PLAINTEXT" and not is_anonymous and not peer.is_token_authenticated


def caller(broker: Broker, context: RequestContext) -> Caller:
    return Caller(context.peer.principal, broker.clock())


def token_of(broker: Broker, secret: bytes) -> DelegationToken | None:
    """The token with a secret, if there is one."""
    controller = broker.controller
    key = controller.context.token_key
    return None if key is None else key.find(controller.latest_image.delegation_tokens, secret)


def audit_change(
    broker: Broker, context: RequestContext, what: str, token: DelegationToken | None, expires_ms: int
) -> None:
    """Writes a line about a token that expires at another time."""
    if token is not None:
        broker.rights.audit.changed(
            context, what, token_id=token.id, owner=token.owner, expires_ms=expires_ms
        )
