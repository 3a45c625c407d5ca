"""Requests that read. Each handler takes the service and the request, and returns what becomes JSON."""

from typing import Any, Final

from gralha import __version__
from gralha.registry import errors
from gralha.registry.errors import RegistryError
from gralha.registry.http import answers
from gralha.registry.http.request import Request
from gralha.registry.parsing import NewSchema
from gralha.registry.records import SchemaVersion
from gralha.registry.registering import compatibility_problems, look_up_in_contexts
from gralha.registry.service import Service
from gralha.registry.state import LATEST
from gralha.registry.subjects import CONTEXT_WILDCARD, context_of, context_prefix

MAX_SCHEMAS: Final = 1000


class Text(str):
    """An answer that is sent as it is: a schema."""

    __slots__ = ()


def root(_service: Service, _request: Request) -> Any:
    return {}


def schema_types(_service: Service, _request: Request) -> Any:
    return ["JSON", "PROTOBUF", "AVRO"]


def contexts(service: Service, request: Request) -> Any:
    prefix = request.text("contextPrefix")
    return request.page([name for name in service.state.contexts() if name.startswith(prefix)])


def cluster_id(service: Service, _request: Request) -> Any:
    scope = {
        "path": [],
        "clusters": {
            "kafka-cluster": service.store.cluster_id,
            "schema-registry-cluster": service.store.group_id,
        },
    }
    return {"scope": scope, "id": ""}


def server_version(_service: Service, _request: Request) -> Any:
    return {"version": __version__, "commitId": "gralha"}


def deployment(_service: Service, _request: Request) -> Any:
    return {"attributes": ["gralha"]}


# Subjects and versions


def subjects(service: Service, request: Request) -> Any:
    wanted = _filter(request)
    names = service.state.subjects_with_prefix(request.text("subjectPrefix", CONTEXT_WILDCARD))
    return request.page(
        [name for name in names if _is_included(service.state.subjects[name].values(), wanted)]
    )


def _filter(request: Request) -> str:
    if request.flag("deletedOnly"):
        return "deleted"
    return "all" if request.flag("deleted") else "live"


def _is_included(versions: Any, wanted: str) -> bool:
    """A subject is deleted if all its versions are."""
    is_deleted = all(version.is_deleted for version in versions)
    return wanted == "all" or is_deleted == (wanted == "deleted")


def versions(service: Service, request: Request) -> Any:
    wanted = _filter(request)
    if not service.state.has_subjects(request.subject, deleted=wanted != "live"):
        raise errors.subject_not_found(request.subject)
    found = service.state.versions(request.subject)
    if request.flag("deletedAsNegative"):
        return request.page([-one.version if one.is_deleted else one.version for one in found])
    return request.page(
        [one.version for one in found if wanted == "all" or one.is_deleted == (wanted == "deleted")]
    )


def find_version(service: Service, request: Request, *, deleted: bool) -> SchemaVersion:
    """The version of the path. Raises RegistryError if there is none."""
    number = request.version
    version = service.state.version_in_contexts(request.subject, number, deleted=deleted)
    if version is None:
        if not service.state.has_subjects(request.subject, deleted=deleted):
            raise errors.subject_not_found(request.subject)
        raise errors.version_not_found(number)
    return version


def version(service: Service, request: Request) -> Any:
    found = find_version(service, request, deleted=request.flag("deleted"))
    references = (
        answers.qualified_references(found) if request.text("referenceFormat") == "qualified" else None
    )
    text = formatted(service, request, found)
    return answers.schema_entity(service.state, found, text=text, references=references)


def version_schema(service: Service, request: Request) -> Any:
    found = find_version(service, request, deleted=request.flag("deleted"))
    return Text(formatted(service, request, found) or found.schema)


def referenced_by(service: Service, request: Request) -> Any:
    found = find_version(service, request, deleted=True)
    users = service.state.referenced_by(found.subject, found.version, deleted=request.flag("deleted"))
    return request.page([user.id for user in users], MAX_SCHEMAS)


def look_up(service: Service, request: Request) -> Any:
    schema = request.decoded(NewSchema)
    deleted = request.flag("deleted")
    normalize = is_normalized(service, request)
    found = look_up_in_contexts(
        service.state, service.parser, request.subject, schema, normalize=normalize, deleted=deleted
    )
    if found is None:
        raise not_found(service, request.subject, deleted)
    return answers.schema_entity(service.state, found, text=formatted(service, request, found))


def latest_with_metadata(service: Service, request: Request) -> Any:
    keys, values = request.query.get("key", []), request.query.get("value", [])
    wanted = dict(zip(keys, values, strict=False))
    deleted = request.flag("deleted")
    for found in reversed(service.state.versions(request.subject)):
        properties = None if found.metadata is None else found.metadata.properties
        counts = (deleted or not found.is_deleted) and found.metadata is not None
        if counts and wanted.items() <= (properties or {}).items():
            return answers.schema_entity(service.state, found, text=formatted(service, request, found))
    raise not_found(service, request.subject, deleted)


def not_found(service: Service, subject: str, deleted: bool) -> RegistryError:
    if service.state.has_subjects(subject, deleted=deleted):
        return errors.schema_not_found()
    return errors.subject_not_found(subject)


def is_normalized(service: Service, request: Request) -> bool:
    """Whether the request, or the configuration of the subject, wants normal forms."""
    if request.flag("normalize"):
        return True
    return service.state.config_in_scope(request.subject).normalize is True


def formatted(service: Service, request: Request, found: SchemaVersion) -> str | None:
    """The schema in the format that the request wants. None: as it is."""
    wanted = request.text("format").strip()
    return service.parser.stored(service.state, found).raw_or_format(wanted) if wanted else None


# Schemas by id


def schemas(service: Service, request: Request) -> Any:
    state = service.state
    prefix = request.text("subjectPrefix")
    aliases = state.aliases_with_prefix(prefix) if request.flag("aliases") else {}
    names = [*state.subjects_with_prefix(prefix)]
    names += [name for name in aliases if name in state.subjects and name not in names]
    rule_type = request.text("ruleType")
    found = []
    for name in sorted(names):
        its = [one for one in state.versions(name) if request.flag("deleted") or not one.is_deleted]
        for one in its[-1:] if request.flag("latestOnly") else its:
            if not rule_type or (one.rule_set is not None and one.rule_set.has_type(rule_type)):
                found.append((one, aliases.get(name)))
    page = request.page(found, MAX_SCHEMAS)
    return [
        answers.schema_entity(state, one) | ({} if its_aliases is None else {"aliases": its_aliases})
        for one, its_aliases in page
    ]


def _by_id(service: Service, request: Request) -> SchemaVersion:
    found = service.state.by_id(request.id, request.optional_text("subject"))
    if found is None:
        raise errors.schema_not_found(request.id)
    return found


def schema_by_id(service: Service, request: Request) -> Any:
    found = _by_id(service, request)
    references = (
        answers.qualified_references(found) if request.text("referenceFormat") == "qualified" else None
    )
    return answers.schema_of_id(
        service.state,
        found,
        with_subject=request.optional_text("subject") is not None,
        text=formatted(service, request, found),
        references=references,
        max_id=service.state.max_id(context_of(found.subject)) if request.flag("fetchMaxId") else None,
    )


def schema_text_by_id(service: Service, request: Request) -> Any:
    found = _by_id(service, request)
    return Text(formatted(service, request, found) or found.schema)


def subjects_of_id(service: Service, request: Request) -> Any:
    return request.page(list(dict.fromkeys(one.subject for one in _versions_of_id(service, request))))


def versions_of_id(service: Service, request: Request) -> Any:
    found = _versions_of_id(service, request)
    return request.page([{"subject": one.subject, "version": one.version} for one in found])


def _versions_of_id(service: Service, request: Request) -> Any:
    found = service.state.versions_with_id(
        request.id, request.optional_text("subject"), deleted=request.flag("deleted")
    )
    if found is None:
        raise errors.schema_not_found()
    return found


def schema_by_guid(service: Service, request: Request) -> Any:
    guid = request.path["guid"]
    ids = service.state.ids_of_guid(guid)
    found = service.state.by_id(ids[0].id, context_prefix(ids[0].context)) if ids else None
    if found is None:
        raise errors.schema_not_found(guid)
    text = formatted(service, request, found)
    return answers.schema_of_id(service.state, found, with_subject=False, text=text)


def ids_of_guid(service: Service, request: Request) -> Any:
    ids = service.state.ids_of_guid(request.path["guid"])
    return [{"context": one.context, "id": one.id} for one in ids]


# Compatibility


def compatibility_with_version(service: Service, request: Request) -> Any:
    number = request.version
    older = service.state.version(request.subject, number, deleted=False)
    if older is None and number != LATEST:
        raise errors.version_not_found(number)
    return _compatibility(service, request, [] if older is None else [older])


def compatibility_with_subject(service: Service, request: Request) -> Any:
    older = [one for one in service.state.versions(request.subject) if not one.is_deleted]
    return _compatibility(service, request, older)


def _compatibility(service: Service, request: Request, older: list[SchemaVersion]) -> Any:
    schema = request.decoded(NewSchema)
    normalize, verbose = is_normalized(service, request), request.flag("verbose")
    try:
        problems = compatibility_problems(
            service.state, service.parser, request.subject, schema, older, normalize=normalize
        )
    except RegistryError as error:
        if not verbose or error.code != 42201:
            raise
        problems = [error.message]
    answer: dict[str, Any] = {"is_compatible": not problems}
    return answer | {"messages": problems} if verbose else answer


# Configuration and mode


def config(service: Service, request: Request) -> Any:
    subject = request.subject_or_none
    state = service.state
    found = state.config_in_scope(subject) if request.flag("defaultToGlobal") else state.config(subject)
    if found is None:
        raise errors.no_subject_compatibility(str(subject))
    return answers.config_entity(found)


def mode(service: Service, request: Request) -> Any:
    subject = request.subject_or_none
    state = service.state
    found = state.mode_in_scope(subject) if request.flag("defaultToGlobal") else state.mode(subject)
    if found is None:
        raise errors.no_subject_mode(str(subject))
    return {"mode": found}
