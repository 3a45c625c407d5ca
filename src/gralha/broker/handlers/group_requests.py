"""Helpers of the handlers of group requests."""

from collections.abc import Awaitable
from typing import TypeVar

from gralha.broker.pipeline import RequestContext
from gralha.groups.caller import Caller
from gralha.protocol.message import Struct

Answer = TypeVar("Answer", bound=Struct)


def caller(context: RequestContext) -> Caller:
    """The client of a request. As in Kafka, there is a slash before its address."""
    return Caller(context.client_id or "", f"/{context.peer.host}", context.api_version)


async def gathered(answers: list[Answer | Awaitable[Answer]]) -> list[Answer]:
    """All answers, in their order."""
    return [answer if isinstance(answer, Struct) else await answer for answer in answers]
