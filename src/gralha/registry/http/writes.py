"""Requests that write. Each handler decides through the service, which forwards to the leader if needed."""

from typing import Any

from gralha.registry import errors
from gralha.registry.deleting import delete_context, delete_subject, delete_version
from gralha.registry.errors import RegistryError
from gralha.registry.forwarding import Answer
from gralha.registry.http import answers
from gralha.registry.http.reads import find_version, formatted, is_normalized
from gralha.registry.http.request import Request
from gralha.registry.parsing import NewSchema
from gralha.registry.registering import check_request, existing, register
from gralha.registry.service import Service
from gralha.registry.settings import (
    ConfigChange,
    ModeChange,
    change_config,
    change_mode,
    delete_config,
    delete_mode,
)
from gralha.registry.subjects import is_valid, normalized
from gralha.registry.tagging import TagChange, tagged


async def register_schema(service: Service, request: Request) -> Any:
    schema = request.decoded(NewSchema)
    _check_subject(request.subject)
    _check_tags(schema.schema_tags_to_add, schema.schema_tags_to_remove)
    check_request(schema)
    subject, state, parser = request.subject, service.state, service.parser
    normalize = is_normalized(service, request)
    known = existing(state, parser, subject, schema, normalize=normalize)
    if known is not None:
        return answers.registered(known, formatted(service, request, known))
    force = request.flag("force")
    answer = await service.write(
        lambda state: register(state, parser, subject, schema, normalize=normalize, force=force),
        request.forwarded,
    )
    if isinstance(answer, Answer):
        return answer
    return answers.registered(answer, formatted(service, request, answer))


async def change_tags(service: Service, request: Request) -> Any:
    change = request.decoded(TagChange)
    _check_subject(request.subject)
    _check_tags(change.tags_to_add, change.tags_to_remove)
    change.check()
    find_version(service, request, deleted=False)
    subject, number, parser = request.subject, request.version, service.parser
    answer = await service.write(
        lambda state: register(state, parser, subject, tagged(state, subject, number, change)),
        request.forwarded,
    )
    return answer if isinstance(answer, Answer) else answers.registered(answer)


async def remove_version(service: Service, request: Request) -> Any:
    subject, number, permanent = request.subject, request.version, request.flag("permanent")
    return await service.write(
        lambda state: delete_version(state, subject, number, permanent=permanent), request.forwarded
    )


async def remove_subject(service: Service, request: Request) -> Any:
    subject, permanent = request.subject, request.flag("permanent")
    return await service.write(
        lambda state: delete_subject(state, subject, permanent=permanent), request.forwarded
    )


async def remove_context(service: Service, request: Request) -> Any:
    context = normalized(request.path["context"])
    answer = await service.write(lambda state: delete_context(state, context), request.forwarded)
    return answer if isinstance(answer, Answer) else Answer(204, b"")


async def put_config(service: Service, request: Request) -> Any:
    change = request.decoded(ConfigChange)
    subject = request.subject_or_none
    _check_subject(subject, for_settings=True)
    answer = await service.write(lambda state: change_config(state, subject, change), request.forwarded)
    return answer if isinstance(answer, Answer) else answers.config_change(answer)


async def remove_config(service: Service, request: Request) -> Any:
    subject = request.subject_or_none
    answer = await service.write(lambda state: delete_config(state, subject), request.forwarded)
    return answer if isinstance(answer, Answer) else answers.config_entity(answer)


async def put_mode(service: Service, request: Request) -> Any:
    change = request.decoded(ModeChange)
    subject, force = request.subject_or_none, request.flag("force")
    _check_subject(subject, for_settings=True)
    return await service.write(
        lambda state: change_mode(state, subject, change, force=force), request.forwarded
    )


async def remove_mode(service: Service, request: Request) -> Any:
    subject, recursive = request.subject_or_none, request.flag("recursive")
    answer = await service.write(
        lambda state: delete_mode(state, subject, recursive=recursive), request.forwarded
    )
    if isinstance(answer, Answer):
        return answer
    return {} if answer is None else {"mode": answer}


def _check_subject(subject: str | None, *, for_settings: bool = False) -> None:
    if subject is not None and not is_valid(subject, for_settings=for_settings):
        raise errors.invalid_subject(subject)


def _check_tags(*tags: list[object] | None) -> None:
    if any(tags):
        raise RegistryError(
            42201, "Tags inside of schemas cannot be changed here. Register the changed schema"
        )
