"""Splits requests about several topics by what the caller may do with each, and joins the responses.

A topic that the caller may not use gets TOPIC_AUTHORIZATION_FAILED, even if it does not exist. A topic id
that no topic has is not refused here, because there is nothing to hide.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from gralha.broker.pipeline import RequestContext
from gralha.broker.rights import Rights
from gralha.protocol.acls import Operation, ResourceType
from gralha.protocol.message import Message

Topic = TypeVar("Topic")
Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)


def split(
    rights: Rights,
    context: RequestContext,
    operation: Operation,
    topics: Iterable[Topic],
    name_of: Callable[[Topic], str | None],
) -> tuple[list[Topic], list[Topic]]:
    """The topics with which the caller may do this, and the others."""
    allowed: list[Topic] = []
    refused: list[Topic] = []
    decisions: dict[str, bool] = {}
    for topic in topics:
        name = name_of(topic)
        if name is None:
            allowed.append(topic)
            continue
        decision = decisions.get(name)
        if decision is None:
            decision = decisions[name] = rights.may(context, operation, ResourceType.TOPIC, name)
        (allowed if decision else refused).append(topic)
    return allowed, refused


def with_topics(request: Request, topics: list[Any]) -> Request:
    """The same request for other topics. Python's `copy` would lose the fields of a compiled class."""
    fields = {name: getattr(request, name) for name in request.FIELDS}
    return type(request)(**{**fields, "topics": topics})


def joined(answer: Response | Awaitable[Response], errors: Response) -> Response | Awaitable[Response]:
    """The response with the errors of the refused topics."""
    if isinstance(answer, Message):
        answer.topics.extend(errors.topics)  # type: ignore[attr-defined]
        return answer
    return _joined_later(answer, errors)


async def _joined_later(answer: Awaitable[Response], errors: Response) -> Response:
    response = await answer
    response.topics.extend(errors.topics)  # type: ignore[attr-defined]
    return response
