"""AlterConfigs (versions 0 to 2): sets all configs of topics, brokers and groups at once.

This is the older API: it sets the given configs and removes all others of the resource. All changes of a
resource are made, or none. A broker changes its own configs. The broker with an empty name stands for all
brokers. The answer is sent when the change is committed.
"""

from collections.abc import Iterator
from typing import cast

from gralha.broker.broker import Broker
from gralha.broker.handlers import config_resources
from gralha.broker.handlers.forwarding import Decided, forward
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import configs
from gralha.protocol.errors import KafkaError
from gralha.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(
    broker: Broker, context: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    refused: dict[int, AlterConfigsResourceResponse] = {}
    passed_on: list[AlterConfigsResource] = []
    for number, resource in enumerate(request.resources):
        try:
            config_resources.check_addressee(broker, resource.resource_type, resource.resource_name)
            passed_on.append(resource)
        except KafkaError as error:
            refused[number] = _refuse(resource, error)
    answers: Iterator[AlterConfigsResourceResponse] = iter(())
    if passed_on:
        asked = AlterConfigsRequest(passed_on, request.validate_only)
        response = await forward(broker, context, asked, Decided(decide, refusal))
        answers = iter(cast(AlterConfigsResponse, response).responses)
    return AlterConfigsResponse(
        responses=[refused.get(number) or next(answers) for number in range(len(request.resources))]
    )


async def decide(
    broker: Broker, context: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    """On a controller: the broker has handled its own part of the request already."""
    controller = broker.controller
    rights = broker.rights
    asked, refused = request.resources, dict[int, KafkaError]()
    if rights.authorizer is not None:
        asked, refused = config_resources.split_by_rights(rights, context, request.resources)
    decided = AlterConfigsRequest(asked, request.validate_only)
    response = await broker.execute(lambda image: configs.alter_configs(image, decided, controller.context))
    if not request.validate_only:
        answers = zip(asked, response.responses, strict=True)
        changed = [
            (one, [config.name for config in one.configs]) for one, answer in answers if not answer.error_code
        ]
        config_resources.audit_changes(rights, context, changed)
    others = iter(response.responses)
    return AlterConfigsResponse(
        responses=[
            _refuse(resource, refused[number]) if number in refused else next(others)
            for number, resource in enumerate(request.resources)
        ]
    )


def refusal(request: AlterConfigsRequest, error: KafkaError, version: int) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=[_refuse(resource, error) for resource in request.resources])


def _refuse(resource: AlterConfigsResource, error: KafkaError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
