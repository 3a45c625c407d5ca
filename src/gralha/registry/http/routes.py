"""All routes: their handlers, the rights that they need, and what the OpenAPI document says of them."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from gralha.registry.http import reads, writes
from gralha.registry.http.request import Request
from gralha.registry.service import Service

Handler = Callable[[Service, Request], Any] | Callable[[Service, Request], Awaitable[Any]]

# Rights, as `access.py` checks them.
NOBODY: Final = ""
READ: Final = "read"
WRITE: Final = "write"
DELETE: Final = "delete"
CONFIG: Final = "config"
MODE: Final = "mode"


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    right: str
    summary: str
    # The names of schemas of the OpenAPI document, and the errors that the route may answer with.
    answer: str
    errors: tuple[int, ...] = ()
    query: tuple[str, ...] = ()
    body: str | None = None

    @property
    def is_write(self) -> bool:
        return self.handler.__module__ == writes.__name__


_PAGE: Final = ("offset", "limit")
_SUBJECT: Final = "/subjects/{subject}"
_VERSIONS: Final = "/subjects/{subject}/versions"
_VERSION: Final = "/subjects/{subject}/versions/{version}"
_ID: Final = "/schemas/ids/{id}"
_FORMATS: Final = ("format", "referenceFormat")

ROUTES: Final = (
    Route("GET", "/", reads.root, NOBODY, "Say that the registry is alive", "Empty"),
    Route("POST", "/", reads.root, NOBODY, "Say that the registry is alive", "Empty", body="Anything"),
    Route(
        "GET",
        "/contexts",
        reads.contexts,
        NOBODY,
        "List the contexts",
        "Names",
        query=("contextPrefix", *_PAGE),
    ),
    Route(
        "DELETE",
        "/contexts/{context}",
        writes.remove_context,
        DELETE,
        "Delete a context without subjects",
        "Nothing",
        (422,),
    ),
    Route("GET", "/schemas/types", reads.schema_types, NOBODY, "List the types of schemas", "Names"),
    Route(
        "GET",
        "/schemas",
        reads.schemas,
        READ,
        "List schemas of all subjects",
        "Schemas",
        (),
        ("subjectPrefix", "aliases", "deleted", "latestOnly", "ruleType", *_PAGE),
    ),
    Route(
        "GET",
        _ID,
        reads.schema_by_id,
        READ,
        "Get a schema by its id",
        "SchemaOfId",
        (404,),
        ("subject", "fetchMaxId", *_FORMATS),
    ),
    Route(
        "GET",
        f"{_ID}/schema",
        reads.schema_text_by_id,
        READ,
        "Get only the schema by its id",
        "Text",
        (404,),
        ("subject", "format"),
    ),
    Route(
        "GET",
        f"{_ID}/subjects",
        reads.subjects_of_id,
        READ,
        "List the subjects that have an id",
        "Names",
        (404,),
        ("subject", "deleted", *_PAGE),
    ),
    Route(
        "GET",
        f"{_ID}/versions",
        reads.versions_of_id,
        READ,
        "List the versions that have an id",
        "SubjectVersions",
        (404,),
        ("subject", "deleted", *_PAGE),
    ),
    Route(
        "GET",
        "/schemas/guids/{guid}",
        reads.schema_by_guid,
        READ,
        "Get a schema by its GUID",
        "SchemaOfId",
        (404,),
        ("format",),
    ),
    Route(
        "GET", "/schemas/guids/{guid}/ids", reads.ids_of_guid, READ, "List the ids of a GUID", "ContextIds"
    ),
    Route(
        "GET",
        "/subjects",
        reads.subjects,
        NOBODY,
        "List the subjects",
        "Names",
        (),
        ("subjectPrefix", "deleted", "deletedOnly", *_PAGE),
    ),
    Route(
        "POST",
        _SUBJECT,
        reads.look_up,
        READ,
        "Look up a schema",
        "Schema",
        (404, 422),
        ("normalize", "format", "deleted"),
        "NewSchema",
    ),
    Route(
        "DELETE",
        _SUBJECT,
        writes.remove_subject,
        DELETE,
        "Delete a subject",
        "Versions",
        (404, 422),
        ("permanent",),
    ),
    Route(
        "GET",
        f"{_SUBJECT}/metadata",
        reads.latest_with_metadata,
        READ,
        "Get the latest version with some metadata",
        "Schema",
        (404,),
        ("key", "value", "format", "deleted"),
    ),
    Route(
        "GET",
        _VERSIONS,
        reads.versions,
        READ,
        "List the versions of a subject",
        "Versions",
        (404,),
        ("deleted", "deletedOnly", "deletedAsNegative", *_PAGE),
    ),
    Route(
        "POST",
        _VERSIONS,
        writes.register_schema,
        WRITE,
        "Register a schema",
        "Registered",
        (409, 422),
        ("normalize", "format", "force"),
        "NewSchema",
    ),
    Route(
        "GET", _VERSION, reads.version, READ, "Get a version", "Schema", (404, 422), ("deleted", *_FORMATS)
    ),
    Route(
        "DELETE",
        _VERSION,
        writes.remove_version,
        DELETE,
        "Delete a version",
        "Version",
        (404, 422),
        ("permanent",),
    ),
    Route(
        "GET",
        f"{_VERSION}/schema",
        reads.version_schema,
        READ,
        "Get only the schema of a version",
        "Text",
        (404, 422),
        ("deleted", "format"),
    ),
    Route(
        "GET",
        f"{_VERSION}/referencedby",
        reads.referenced_by,
        READ,
        "List the schemas that refer to it",
        "Versions",
        (404, 422),
        ("deleted", *_PAGE),
    ),
    Route(
        "POST",
        f"{_VERSION}/tags",
        writes.change_tags,
        WRITE,
        "Change the metadata and the rules",
        "Registered",
        (404, 409, 422),
        (),
        "TagChange",
    ),
    Route(
        "POST",
        "/compatibility/subjects/{subject}/versions",
        reads.compatibility_with_subject,
        READ,
        "Check a schema as a registration would",
        "Compatibility",
        (422,),
        ("normalize", "verbose"),
        "NewSchema",
    ),
    Route(
        "POST",
        "/compatibility/subjects/{subject}/versions/{version}",
        reads.compatibility_with_version,
        READ,
        "Check a schema against one version",
        "Compatibility",
        (404, 422),
        ("normalize", "verbose"),
        "NewSchema",
    ),
    Route(
        "GET",
        "/config",
        reads.config,
        NOBODY,
        "Get the global configuration",
        "Config",
        (),
        ("defaultToGlobal",),
    ),
    Route(
        "PUT",
        "/config",
        writes.put_config,
        CONFIG,
        "Change the global configuration",
        "ConfigChange",
        (422,),
        (),
        "ConfigChange",
    ),
    Route(
        "DELETE", "/config", writes.remove_config, CONFIG, "Delete the global configuration", "Config", (422,)
    ),
    Route(
        "GET",
        "/config/{subject}",
        reads.config,
        READ,
        "Get a subject's configuration",
        "Config",
        (404,),
        ("defaultToGlobal",),
    ),
    Route(
        "PUT",
        "/config/{subject}",
        writes.put_config,
        CONFIG,
        "Change a subject's configuration",
        "ConfigChange",
        (422,),
        (),
        "ConfigChange",
    ),
    Route(
        "DELETE",
        "/config/{subject}",
        writes.remove_config,
        CONFIG,
        "Delete a subject's configuration",
        "Config",
        (404, 422),
    ),
    Route("GET", "/mode", reads.mode, NOBODY, "Get the global mode", "Mode", (), ("defaultToGlobal",)),
    Route(
        "PUT", "/mode", writes.put_mode, MODE, "Change the global mode", "Mode", (422,), ("force",), "Mode"
    ),
    Route(
        "DELETE", "/mode", writes.remove_mode, MODE, "Delete the global mode", "Mode", (422,), ("recursive",)
    ),
    Route(
        "GET",
        "/mode/{subject}",
        reads.mode,
        READ,
        "Get a subject's mode",
        "Mode",
        (404,),
        ("defaultToGlobal",),
    ),
    Route(
        "PUT",
        "/mode/{subject}",
        writes.put_mode,
        MODE,
        "Change a subject's mode",
        "Mode",
        (422,),
        ("force",),
        "Mode",
    ),
    Route(
        "DELETE",
        "/mode/{subject}",
        writes.remove_mode,
        MODE,
        "Delete a subject's mode",
        "Mode",
        (404, 422),
        ("recursive",),
    ),
    Route("GET", "/v1/metadata/id", reads.cluster_id, NOBODY, "Get the ids of the clusters", "ClusterId"),
    Route("GET", "/v1/metadata/version", reads.server_version, NOBODY, "Get the version", "ServerVersion"),
    Route(
        "GET", "/v1/metadata/deployment", reads.deployment, NOBODY, "Get the kind of deployment", "Deployment"
    ),
)


class Found(NamedTuple):
    """The routes of a path, by method, and the values of its parameters."""

    methods: dict[str, Route]
    parameters: dict[str, str]


class _Node:
    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: tuple[str, _Node] | None = None
        self.methods: dict[str, Route] = {}


def _tree() -> _Node:
    root = _Node()
    for route in ROUTES:
        node = root
        for part in filter(None, route.path.split("/")):
            if part.startswith("{"):
                if node.parameter is None:
                    node.parameter = (part[1:-1], _Node())
                node = node.parameter[1]
            else:
                node = node.children.setdefault(part, _Node())
        node.methods[route.method] = route
    return root


_ROOT: Final = _tree()


def find(parts: list[str]) -> Found | None:
    """The routes for the parts of a path. None if there is no such path."""
    node, parameters = _ROOT, {}
    for part in parts:
        child = node.children.get(part)
        if child is None:
            if node.parameter is None:
                return None
            name, child = node.parameter
            parameters[name] = part
        node = child
    return Found(node.methods, parameters) if node.methods else None
