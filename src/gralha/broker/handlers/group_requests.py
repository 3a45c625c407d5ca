"""What the handlers of group requests share: who asks, and how several groups are asked at once."""

from collections.abc import Awaitable
from typing import TypeVar

from gralha.broker.pipeline import RequestContext
from gralha.groups.caller import Caller
from gralha.protocol.message import Struct

Answer = TypeVar("Answer", bound=Struct)


def caller(context: RequestContext) -> Caller:
    """Who asks, written as Kafka writes it: with a slash before the address."""
    return Caller(context.client_id or "", f"/{context.peer.host}", context.api_version)


async def gathered(answers: list[Answer | Awaitable[Answer]]) -> list[Answer]:
    """All answers, in their order."""
    return [answer if isinstance(answer, Struct) else await answer for answer in answers]
