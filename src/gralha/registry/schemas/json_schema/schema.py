"""JSON schemas as the registry sees them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import jsonschema_rs

from gralha.registry.schemas.interface import (
    STRICT,
    InvalidSchemaError,
    ParsedSchema,
    Reference,
    fill,
    no_deep_recursion,
    normal_references,
)
from gralha.registry.schemas.json_schema.builder import Builder, OlderBuilder
from gralha.registry.schemas.json_schema.compatibility import templates
from gralha.registry.schemas.json_schema.model import Node
from gralha.registry.schemas.json_schema.newer_drafts import NewerBuilder
from gralha.registry.schemas.json_schema.references import References
from gralha.registry.schemas.json_text import read_json, sort_members, write_json
from gralha.registry.schemas.levels import DIFFERENT_TYPE

# The addresses of the drafts, without their scheme and the "#" at the end.
_DRAFTS = {
    "json-schema.org/schema": 4,
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}
_ADDRESSES = {draft: f"http://{address}#" for address, draft in _DRAFTS.items() if draft < 2019} | {
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
_USUAL_DRAFT = 7


class JsonSchema:
    """A valid JSON schema."""

    schema_type = "JSON"

    def __init__(
        self, text: str, references: Sequence[Reference], resolved: Mapping[str, str], new: bool
    ) -> None:
        self.document = read_json(text, decimals=True)
        if not isinstance(self.document, dict | bool):
            raise InvalidSchemaError("A JSON schema is an object or a boolean.")
        self.references = tuple(references)
        self._resolved = dict(resolved)
        self._new = new
        self.draft = _draft_of(self.document)
        if new:
            _check(self.document, self.draft)
        self.root = self._build()
        self.canonical = write_json(self.document)

    def _build(self) -> Node:
        id_keyword = "id" if self.draft == 4 else "$id"
        references = References(self.document, self._resolved, id_keyword)
        builder: Builder = (
            NewerBuilder(references) if self.draft >= 2019 else OlderBuilder(references, self.draft)
        )
        return builder.build()

    def normalized(self) -> "JsonSchema":
        """The members of all objects are sorted."""
        return self._normalized

    @cached_property
    def _normalized(self) -> "JsonSchema":
        text = write_json(sort_members(self.document))
        return parse_json_schema(text, normal_references(self.references), self._resolved, new=False)

    def raw_or_format(self, format: str) -> str:  # noqa: A002
        """There is one format."""
        return self.canonical

    def has_top_level_field(self, name: str) -> bool:
        """Whether the schema describes this property of the root."""
        properties = self.document.get("properties") if isinstance(self.document, dict) else None
        return isinstance(properties, dict) and name in properties

    def templates(self, older: ParsedSchema, policy: str = STRICT) -> list[str]:
        """The problems, with marks for the two schemas."""
        if not isinstance(older, JsonSchema):
            return [DIFFERENT_TYPE]
        return templates(older.root, self.root, policy)

    def backward_problems(self, older: ParsedSchema) -> list[str]:
        """Reasons why this schema cannot read data written with the older schema."""
        return [fill(template, "new", "old") for template in self.templates(older)]


def parse_json_schema(
    text: str,
    references: Sequence[Reference] = (),
    resolved: Mapping[str, str] | None = None,
    *,
    new: bool = True,
) -> JsonSchema:
    """The schema of a text. A new schema must be valid by the rules of its draft."""
    with no_deep_recursion():
        return JsonSchema(text, references, resolved or {}, new)


def _draft_of(document: Any) -> int:
    address = document.get("$schema") if isinstance(document, dict) else None
    if not isinstance(address, str):
        return _USUAL_DRAFT
    return _DRAFTS.get(
        address.removesuffix("#").removeprefix("https://").removeprefix("http://"), _USUAL_DRAFT
    )


@cache
def _validator(draft: int) -> jsonschema_rs.Validator:
    """Validates schemas of a draft. Formats do not count: patterns may be in Java's dialect."""
    makers = {
        4: jsonschema_rs.Draft4Validator,
        6: jsonschema_rs.Draft6Validator,
        7: jsonschema_rs.Draft7Validator,
        2019: jsonschema_rs.Draft201909Validator,
        2020: jsonschema_rs.Draft202012Validator,
    }
    return makers[draft]({"$ref": _ADDRESSES[draft]}, validate_formats=False)


def _check(document: Any, draft: int) -> None:
    """Refuses a document that the draft's own schema refuses."""
    if isinstance(document, bool):
        return
    try:
        _validator(draft).validate(json.loads(write_json(document)))
    except ValueError as error:
        first_line = str(error).partition("\n")[0]
        raise InvalidSchemaError(f"The schema is not valid: {first_line[:300]}") from None
