"""Requests that only the active controller decides, no matter which node a client asks.

A broker forwards such a request to the active controller, in an Envelope if that is another node (KIP-590).
While the quorum elects a controller, the request waits. The client gets the decision of the next controller
and does not notice the change. After FORWARD_TIMEOUT_MS without a decision it gets REQUEST_TIMED_OUT, as in
Kafka.

The module of each of these APIs has two functions:

    decide(node, context, request)      the decision of this node's controller, or KafkaError
    refusal(request, error, version)    the response with an error
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
    """The functions of an API that the active controller decides."""

    decide: Decide
    refusal: Refusal


def deciding(api: Decided) -> Handler:
    """The handler on controller listeners: this node decides or answers with an error."""

    async def handle(node: object, context: RequestContext, request: Message) -> Message:
        try:
            return await api.decide(node, context, request)
        except KafkaError as error:
            return api.refusal(request, error, context.api_version)

    return handle


def forwarding(api: Decided) -> Handler:
    """The handler on client listeners: the active controller decides, on this node or another."""

    async def handle(broker: "Broker", context: RequestContext, request: Message) -> Message:
        return await forward(broker, context, request, api)

    return handle


async def forward(broker: "Broker", context: RequestContext, request: Message, api: Decided) -> Message:
    """The active controller's answer to a request of a client, or of this broker for a client."""
    try:
        return await broker.decide(request, context, partial(api.decide, broker, context, request))
    except KafkaError as error:
        return api.refusal(request, error, context.api_version)
