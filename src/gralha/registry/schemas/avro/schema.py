"""Avro schemas."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from gralha.registry.schemas.avro.compatibility import templates
from gralha.registry.schemas.avro.model import Type
from gralha.registry.schemas.avro.parser import AvroParser
from gralha.registry.schemas.avro.text import canonical_text, document_text, normal_document
from gralha.registry.schemas.interface import (
    STRICT,
    ParsedSchema,
    Reference,
    fill,
    no_deep_recursion,
    normal_references,
)
from gralha.registry.schemas.json_text import read_json
from gralha.registry.schemas.levels import DIFFERENT_TYPE


class AvroSchema:
    """A valid Avro schema."""

    schema_type = "AVRO"

    def __init__(
        self, text: str, references: Sequence[Reference], resolved: Mapping[str, str], new: bool
    ) -> None:
        parser = AvroParser(strict=new)
        known = [parser.parse(read_json(referenced, comments=True)) for referenced in resolved.values()]
        self.root: Type = parser.parse(read_json(text, comments=True))
        self.references = tuple(references)
        self._resolved = dict(resolved)
        self._new = new
        self._known_names = {schema.full_name for schema in known}
        # A schema that cannot be written is refused now and not later.
        self.canonical = canonical_text(self.root, self._known_names)

    def normalized(self) -> "AvroSchema":
        """Properties and aliases are sorted, and names are written in one way."""
        return self._normalized

    @cached_property
    def _normalized(self) -> "AvroSchema":
        with no_deep_recursion():
            text = document_text(normal_document(self.root, set(self._known_names)))
            return AvroSchema(text, normal_references(self.references), self._resolved, self._new)

    def raw_or_format(self, format: str) -> str:  # noqa: A002
        """`resolved` is the schema with the definitions of the schemas that it refers to."""
        if format.strip().lower() == "resolved":
            with no_deep_recursion():
                return canonical_text(self.root, set())
        return self.canonical

    def has_top_level_field(self, name: str) -> bool:
        """Whether the schema is a record with this field."""
        return name in self.root.by_name

    def templates(self, older: ParsedSchema, policy: str = STRICT) -> list[str]:
        """The problems, with marks for the two schemas."""
        if not isinstance(older, AvroSchema):
            return [DIFFERENT_TYPE]
        return templates(self.root, older.root)

    def backward_problems(self, older: ParsedSchema) -> list[str]:
        """Reasons why this schema cannot read data written with the older schema."""
        return [fill(template, "new", "old") for template in self.templates(older)]


def parse_avro(
    text: str,
    references: Sequence[Reference] = (),
    resolved: Mapping[str, str] | None = None,
    *,
    new: bool = True,
) -> AvroSchema:
    """The schema of a text. A new schema must have valid defaults and names in ASCII."""
    with no_deep_recursion():
        return AvroSchema(text, references, resolved or {}, new)
