"""Requests that only the active controller decides, whichever node a client asks.

A broker passes such a request on to the active controller, in an Envelope if that is another node (KIP-590).
While the quorum elects a controller the request waits: the client gets the decision of the next controller
and never learns of the change. After FORWARD_TIMEOUT_MS without one it gets REQUEST_TIMED_OUT, as in Kafka.

The module of each of these APIs has two functions:

    decide(node, context, request)      what this node's controller decides; raises NOT_CONTROLLER and others
    refusal(request, error, version)    the response that carries an error
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gralha.broker.pipeline import Handler, RequestContext
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Message

if TYPE_CHECKING:
    from gralha.broker.broker import Broker


Decide = Callable[[Any, RequestContext, Any], Awaitable[Message]]
Refusal = Callable[[Any, KafkaError, int], Message]


class Decided(NamedTuple):
    """What the module of an API has that the active controller decides."""

    decide: Decide
    refusal: Refusal


def deciding(api: Decided) -> Handler:
    """The handler where controllers are asked: this node decides, or says why not."""

    async def handle(node: object, context: RequestContext, request: Message) -> Message:
        try:
            return await api.decide(node, context, request)
        except KafkaError as error:
            return api.refusal(request, error, context.api_version)

    return handle


def forwarding(api: Decided) -> Handler:
    """The handler where clients ask: the active controller decides, here or elsewhere."""

    async def handle(broker: "Broker", context: RequestContext, request: Message) -> Message:
        return await forward(broker, context, request, api)

    return handle


async def forward(broker: "Broker", context: RequestContext, request: Message, api: Decided) -> Message:
    """The active controller's answer to a request of a client, or of this broker on behalf of one."""
    try:
        return await broker.decide(request, context, partial(api.decide, broker, context, request))
    except KafkaError as error:
        return api.refusal(request, error, context.api_version)
