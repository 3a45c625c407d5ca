"""IncrementalAlterConfigs (versions 0 and 1): single configs of topics, brokers, groups, loggers (KIP-339).

Configs are set or deleted, or items are added to or removed from a list. All changes of a resource are made,
or none. A broker changes its own configs and the levels of its loggers. The broker with an empty name stands
for all brokers. The answer is sent when the change is committed. Log levels change at once, and only until
the broker stops. A controller changes the levels of its own loggers, also if it is not the active one.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import cast

from gralha.broker.broker import Broker
from gralha.broker.handlers import broker_loggers, config_resources
from gralha.broker.handlers.forwarding import Decided, forward
from gralha.broker.pipeline import RequestContext
from gralha.metadata.controller import configs
from gralha.metadata.image import BROKER_LOGGER_RESOURCE
from gralha.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from gralha.protocol.errors import KafkaError
from gralha.protocol.message import Message
from gralha.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


async def handle(
    broker: Broker, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """On a client listener: the part about this broker is done here, or passed on with the rest."""

    def change(resource: AlterConfigsResource) -> bool:
        if resource.resource_type == BROKER_LOGGER_RESOURCE:
            broker.rights.check(context, Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
        config_resources.check_addressee(broker, resource.resource_type, resource.resource_name)
        return _change_levels(broker, context, resource, request.validate_only)

    return await _split(request, change, partial(forward, broker, context, api=Decided(decide, refusal)))


async def handle_on_controller(
    node: Broker, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """On a controller listener: log levels of this node, and all else if it is the active controller."""

    def change(resource: AlterConfigsResource) -> bool:
        if resource.resource_type == BROKER_LOGGER_RESOURCE:
            node.rights.check(context, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
            config_resources.check_addressee(node, resource.resource_type, resource.resource_name)
        return _change_levels(node, context, resource, request.validate_only)

    async def pass_on(asked: IncrementalAlterConfigsRequest) -> Message:
        try:
            return await decide(node, context, asked)
        except KafkaError as error:
            return refusal(asked, error, context.api_version)

    return await _split(request, change, pass_on)


async def _split(
    request: IncrementalAlterConfigsRequest,
    change: Callable[[AlterConfigsResource], bool],
    pass_on: Callable[[IncrementalAlterConfigsRequest], Awaitable[Message]],
) -> IncrementalAlterConfigsResponse:
    """Changes each resource here, or passes it on with the others if `change` returns False."""
    done_here: dict[int, AlterConfigsResourceResponse] = {}
    passed_on: list[AlterConfigsResource] = []
    for number, resource in enumerate(request.resources):
        try:
            if change(resource):
                done_here[number] = _answer(resource, None)
            else:
                passed_on.append(resource)
        except KafkaError as error:
            done_here[number] = _answer(resource, error)
    answers: Iterator[AlterConfigsResourceResponse] = iter(())
    if passed_on:
        response = await pass_on(IncrementalAlterConfigsRequest(passed_on, request.validate_only))
        answers = iter(cast(IncrementalAlterConfigsResponse, response).responses)
    return IncrementalAlterConfigsResponse(
        responses=[done_here.get(number) or next(answers) for number in range(len(request.resources))]
    )


async def decide(
    broker: Broker, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """On a controller: the broker has handled its own part of the request already."""
    controller = broker.controller
    rights = broker.rights
    asked, refused = request.resources, dict[int, KafkaError]()
    if rights.authorizer is not None:
        asked, refused = config_resources.split_by_rights(rights, context, request.resources)
    decided = IncrementalAlterConfigsRequest(asked, request.validate_only)
    response = await broker.execute(
        lambda image: configs.incremental_alter_configs(image, decided, controller.context)
    )
    if not request.validate_only:
        answers = zip(asked, response.responses, strict=True)
        changed = [
            (one, [config.name for config in one.configs]) for one, answer in answers if not answer.error_code
        ]
        config_resources.audit_changes(rights, context, changed)
    others = iter(response.responses)
    return IncrementalAlterConfigsResponse(
        responses=[
            _answer(resource, refused[number]) if number in refused else next(others)
            for number, resource in enumerate(request.resources)
        ]
    )


def refusal(
    request: IncrementalAlterConfigsRequest, error: KafkaError, version: int
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_answer(resource, error) for resource in request.resources]
    )


def _change_levels(
    broker: Broker, context: RequestContext, resource: AlterConfigsResource, validate_only: bool
) -> bool:
    """Changes log levels. Returns False for other resources."""
    if resource.resource_type != BROKER_LOGGER_RESOURCE:
        return False
    changes = [
        broker_loggers.LevelChange(config.name, config.config_operation, config.value)
        for config in resource.configs
    ]
    broker_loggers.change(changes, validate_only)
    if not validate_only:
        names = [config.name for config in resource.configs]
        config_resources.audit_changes(broker.rights, context, [(resource, names)])
    return True


def _answer(resource: AlterConfigsResource, error: KafkaError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code if error else 0,
        error_message=error.message if error else None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
