"""Schemas of requests and of the state, parsed together with the schemas that they refer to.

Parsing takes time, so the newest results are kept. A result depends on the texts alone, so it never gets old.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from gralha.registry.errors import RegistryError, invalid_schema
from gralha.registry.records import SchemaVersion
from gralha.registry.schemas import InvalidSchemaError, ParsedSchema, Reference, parse
from gralha.registry.state import LATEST, RegistryState
from gralha.registry.subjects import within
from gralha.registry.values import SCHEMA_TYPES, Metadata, ReferenceValue, RuleSet

_KEPT: Final = 1000
MAX_REFERENCES: Final = 1000


class NewSchema(msgspec.Struct, omit_defaults=True, rename="camel"):
    """The schema of a request."""

    version: int | None = None
    id: int | None = None
    schema_type: str | None = None
    references: list[ReferenceValue] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema: str | None = None
    schema_tags_to_add: list[object] | None = None
    schema_tags_to_remove: list[object] | None = None
    propagate_schema_tags: bool | None = None

    @property
    def type(self) -> str:
        return self.schema_type or "AVRO"

    @property
    def text(self) -> str | None:
        """The schema. None if it is missing or blank."""
        return self.schema if self.schema and self.schema.strip() else None


class Parser:
    """Parses schemas, and keeps the newest results."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], ParsedSchema] = OrderedDict()

    def stored(self, state: RegistryState, version: SchemaVersion) -> ParsedSchema:
        """A stored schema. Deleted versions of the schemas that it refers to count, too."""
        references = version.references
        return self._parse(state, version.subject, version.type, version.schema, references, is_new=False)

    def new(
        self, state: RegistryState, subject: str, schema: NewSchema, *, is_import: bool = False
    ) -> ParsedSchema:
        """The schema of a request. Raises RegistryError if it is invalid.

        An imported schema is valid even if today's rules refuse it, because it was registered elsewhere.
        """
        references = pinned(state, subject, schema.references or ())
        return self._parse(state, subject, schema.type, schema.schema or "", references, is_new=not is_import)

    def _parse(
        self,
        state: RegistryState,
        subject: str,
        schema_type: str,
        text: str,
        references: Sequence[ReferenceValue],
        *,
        is_new: bool,
    ) -> ParsedSchema:
        if schema_type not in SCHEMA_TYPES:
            raise invalid_schema(f"Invalid schema type {schema_type}")
        try:
            resolved = resolve(state, subject, references, deleted=not is_new)
            named = tuple(_reference(one) for one in references)
            key = (is_new, schema_type, text, named, tuple(resolved.items()))
            return self._cached(key, lambda: parse(schema_type, text, named, resolved, new=is_new))
        except (InvalidSchemaError, ValueError) as error:
            raise invalid_schema(f"Invalid schema of type {schema_type}, details: {error}") from error
        except RecursionError:
            raise invalid_schema(
                f"Invalid schema of type {schema_type}, details: it is nested too deeply"
            ) from None

    def _cached(self, key: tuple[object, ...], make: Callable[[], ParsedSchema]) -> ParsedSchema:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        made = self._kept[key] = make()
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return made


def pinned(state: RegistryState, subject: str, references: Iterable[ReferenceValue]) -> list[ReferenceValue]:
    """The references with version -1 replaced by the latest version."""
    result = []
    for one in references:
        if one.version == LATEST and one.subject is not None:
            latest = state.latest(within(subject, one.subject))
            if latest is not None:
                one = ReferenceValue(one.name, one.subject, latest.version)
        result.append(one)
    return result


def resolve(
    state: RegistryState, subject: str, references: Sequence[ReferenceValue], *, deleted: bool
) -> dict[str, str]:
    """The text of each schema that is referred to, directly or not, by the name of the reference.

    A schema comes after those that it refers to itself. Raises ValueError if one does not exist.
    """
    resolved: dict[str, str] = {}
    visited: set[str] = set()
    # A stack instead of recursion: a chain of references may be long. An entry with a text is complete.
    waiting: list[tuple[str, ReferenceValue, str | None]] = [
        (subject, one, None) for one in reversed(references)
    ]
    while waiting:
        parent, reference, text = waiting.pop()
        name = reference.name
        if name is None or reference.subject is None or reference.version is None:
            raise ValueError(f"Invalid reference: {msgspec.json.encode(reference).decode()}")
        if text is not None:
            resolved.setdefault(name, text)
            continue
        referred = within(parent, reference.subject)
        version = state.version(referred, reference.version, deleted=deleted)
        if version is None:
            raise ValueError(
                f'No schema reference found for subject "{referred}" and version {reference.version}'
            )
        if name in visited:
            continue
        if len(visited) >= MAX_REFERENCES:
            raise ValueError(f"More than {MAX_REFERENCES} schemas are referred to")
        visited.add(name)
        waiting.append((parent, reference, version.schema))
        waiting += [(version.subject, one, None) for one in reversed(version.references)]
    return resolved


def find_equal(
    state: RegistryState,
    parser: Parser,
    parsed: ParsedSchema,
    schema: NewSchema,
    older: Iterable[SchemaVersion],
) -> SchemaVersion | None:
    """The first of the versions that the schema of a request means.

    The request may have the schemas that are referred to in its own text, or lack the version that the
    metadata of the stored schema has.
    """
    for version in older:
        if not _same_properties(schema, version):
            continue
        try:
            stored = parser.stored(state, version)
        except RegistryError:
            continue
        if stored.schema_type == parsed.schema_type and _same_text(state, parsed, schema, stored, version):
            return version
    return None


def _same_text(
    state: RegistryState,
    parsed: ParsedSchema,
    schema: NewSchema,
    stored: ParsedSchema,
    version: SchemaVersion,
) -> bool:
    if parsed.references == stored.references:
        return parsed.canonical == stored.canonical
    if parsed.references or not stored.references:
        return False
    return parsed.canonical == stored.raw_or_format("resolved")


def _same_properties(schema: NewSchema, version: SchemaVersion) -> bool:
    """Compares metadata and rules. A version in the metadata of only one of the two does not count."""
    ours, theirs = schema.metadata, version.metadata
    our_version = None if ours is None else ours.version
    their_version = None if theirs is None else theirs.version
    if (our_version is None) != (their_version is None):
        if our_version is not None and our_version != str(version.version):
            return False
        ours, theirs = (ours or Metadata()).with_version(None), (theirs or Metadata()).with_version(None)
    return ours == theirs and schema.rule_set == version.rule_set


def _reference(one: ReferenceValue) -> Reference:
    return Reference(one.name or "", one.subject or "", one.version or 0)
