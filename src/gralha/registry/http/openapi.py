"""The OpenAPI document of the registry, made from the table of routes."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from gralha import __version__
from gralha.registry.http.routes import ROUTES, Route
from gralha.registry.http.wire import ANY_VERSION, JSON, V1

_INTEGERS: Final = ("offset", "limit")
_FLAGS: Final = (
    *("aliases", "defaultToGlobal", "deleted", "deletedAsNegative", "deletedOnly", "fetchMaxId", "force"),
    *("latestOnly", "normalize", "permanent", "recursive", "verbose"),
)
_LISTS: Final = ("key", "value")
_TYPES: Final = (V1.decode(), ANY_VERSION.decode(), JSON.decode())
# Any request may be refused, or fail in the store.
_ALWAYS: Final = {
    400: "The request is malformed",
    401: "The credential is absent or wrong",
    403: "The principal does not have the right",
    404: "Not found",
    406: "The client accepts no type of answer",
    500: "The store failed (50001), did not answer in time (50002), or no leader was found (50003, 50004)",
}
_OF_BODIES: Final = {
    408: "The body did not arrive in time",
    413: "The body is too large",
    415: "The type of the body is not known",
    422: "The request is invalid (42201 to 42211)",
}
_ERRORS: Final = {404: "Not found", 409: "Not compatible (40901)", 422: "The request is invalid"}


def _text(description: str = "") -> dict[str, Any]:
    return {"type": "string"} | ({"description": description} if description else {})


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [dict(schema), {"type": "null"}]}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


_INT: Final = {"type": "integer", "format": "int32"}
_BOOL: Final = {"type": "boolean"}
_MAP: Final = {"type": "object", "additionalProperties": {"type": "string"}}
_COMMON: Final = {
    "guid": _text("the same for equal schemas in all contexts"),
    "schemaType": _text("AVRO, JSON or PROTOBUF"),
    "references": _list(_ref("Reference")),
    "metadata": _ref("Metadata"),
    "ruleSet": _ref("RuleSet"),
    "schema": _text(),
    "ts": {"type": "integer", "format": "int64"},
    "deleted": _BOOL,
}
_CONFIG: Final = {
    "alias": _text(),
    "aliasForDeks": _text(),
    "normalize": _BOOL,
    "validateFields": _BOOL,
    "validateNewSchemas": _BOOL,
    "validateRules": _BOOL,
    "compatibilityPolicy": _text(),
    "compatibilityGroup": _text(),
    "defaultMetadata": _ref("Metadata"),
    "overrideMetadata": _ref("Metadata"),
    "defaultRuleSet": _ref("RuleSet"),
    "overrideRuleSet": _ref("RuleSet"),
}
_SCHEMAS: Final[dict[str, Any]] = {
    "Error": _object(("error_code", "message"), error_code=_INT, message=_text()),
    "Reference": _object(name=_text(), subject=_text(), version=_INT),
    "Metadata": _object(
        tags={"type": "object", "additionalProperties": _list(_text())},
        properties=_MAP,
        sensitive=_list(_text()),
    ),
    "Rule": _object(
        name=_text(),
        doc=_text(),
        kind=_text("TRANSFORM or CONDITION"),
        mode=_text(),
        type=_text(),
        tags=_list(_text()),
        params=_MAP,
        expr=_text(),
        onSuccess=_text(),
        onFailure=_text(),
        disabled=_BOOL,
    ),
    "RuleSet": _object(
        migrationRules=_list(_ref("Rule")),
        domainRules=_list(_ref("Rule")),
        encodingRules=_list(_ref("Rule")),
        enableAt=_text(),
    ),
    "NewSchema": _object(
        version=_nullable(_INT),
        id=_nullable(_INT),
        schemaType=_nullable(_text()),
        references=_nullable(_list(_ref("Reference"))),
        metadata=_nullable(_ref("Metadata")),
        ruleSet=_nullable(_ref("RuleSet")),
        schema=_nullable(_text()),
    ),
    "TagChange": _object(
        newVersion=_INT,
        metadata=_ref("Metadata"),
        ruleSet=_ref("RuleSet"),
        rulesToMerge=_ref("RuleSet"),
        rulesToRemove=_list(_text()),
    ),
    "Schema": _object(
        ("subject", "version", "id"),
        subject=_text(),
        version=_INT,
        id=_INT,
        aliases=_list(_text()),
        **_COMMON,
    ),
    "Schemas": _list(_ref("Schema")),
    "SchemaOfId": _object(("schema",), subject=_text(), version=_INT, maxId=_INT, **_COMMON),
    "Registered": _object(("id",), id=_INT, version=_INT, **_COMMON),
    "Names": _list(_text()),
    "Version": _INT,
    "Versions": _list(_INT),
    "SubjectVersions": _list(_object(("subject", "version"), subject=_text(), version=_INT)),
    "ContextIds": _list(_object(("context", "id"), context=_text(), id=_INT)),
    "Compatibility": _object(("is_compatible",), is_compatible=_BOOL, messages=_list(_text())),
    "Config": _object(compatibilityLevel=_text(), **_CONFIG),
    "ConfigChange": _object(
        compatibility=_nullable(_text()), **{name: _nullable(schema) for name, schema in _CONFIG.items()}
    ),
    "Mode": _object(mode=_nullable(_text())),
    "ClusterId": _object(("scope", "id"), scope={"type": "object"}, id=_text()),
    "ServerVersion": _object(version=_text(), commitId=_text()),
    "Deployment": _object(attributes=_list(_text())),
    "Empty": {"type": "object"},
    "Anything": {"type": "object"},
}


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Schema Registry",
            "version": __version__,
            "description": "Confluent's HTTP API of the Schema Registry, served by Gralha. Every path may "
            "begin with /contexts/NAME.",
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
        },
        "security": [{}, {"basic": []}, {"bearer": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.title().translate(_NO_MARKS)}",
        "summary": route.summary,
        "parameters": [*_path_parameters(route), *map(_query_parameter, route.query)],
        "responses": _responses(route),
    }
    if route.body is not None:
        content = {media: {"schema": _ref(route.body)} for media in _TYPES}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _INT if name == "id" else {"type": "string", "minLength": 1},
        }
        for name in names
    ]


def _query_parameter(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = _text()
    if name in _INTEGERS:
        schema = _INT | ({"minimum": 0} if name == "offset" else {})
    elif name in _FLAGS:
        schema = _BOOL
    elif name in _LISTS:
        schema = _list(_text())
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _responses(route: Route) -> dict[str, Any]:
    reasons = _ALWAYS | (_OF_BODIES if route.method != "GET" else {})
    reasons |= {code: _ERRORS[code] for code in route.errors}
    error = {media: {"schema": _ref("Error")} for media in _TYPES}
    responses: dict[str, Any] = {
        str(code): {"description": reason, "content": error} for code, reason in sorted(reasons.items())
    }
    if route.answer == "Nothing":
        return {"204": {"description": "Done"}, **responses}
    answer = {"type": ["object", "array", "string", "number", "boolean", "null"]}
    schema = answer if route.answer == "Text" else _ref(route.answer)
    content = {media: {"schema": schema} for media in _TYPES}
    return {"200": {"description": route.summary, "content": content}, **responses}


_NO_MARKS: Final = str.maketrans("", "", "/{}")
