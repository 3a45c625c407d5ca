"""Registers and looks up schemas, and checks their compatibility, as decisions on the state."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gralha.registry import errors
from gralha.registry.parsing import NewSchema, Parser, find_equal
from gralha.registry.records import Record, SchemaVersion, context_record, schema_record, schema_tombstone
from gralha.registry.schemas import ParsedSchema, problems
from gralha.registry.state import LATEST, RegistryState
from gralha.registry.subjects import DEFAULT_CONTEXT, context_of, context_prefix
from gralha.registry.values import (
    Config,
    Metadata,
    ReferenceValue,
    RuleSet,
    fingerprint,
    merge_metadata,
    merge_rule_sets,
)


class Registered(NamedTuple):
    """The answer to a registration."""

    schema: SchemaVersion


class Decision(NamedTuple):
    """An answer, and the records that must be written before it is given."""

    answer: object
    records: list[Record]


def check_request(schema: NewSchema) -> None:
    """Raises RegistryError if the rules of a request are invalid."""
    problem = schema.rule_set.problem() if schema.rule_set is not None else None
    if problem is not None:
        raise errors.invalid_rule_set(problem)


def look_up(
    state: RegistryState,
    parser: Parser,
    subject: str,
    schema: NewSchema,
    *,
    normalize: bool = False,
    deleted: bool = False,
    latest_only: bool = False,
) -> SchemaVersion | None:
    """The version of a subject that has the schema."""
    config = state.config_in_scope(subject)
    found = _look_up(state, parser, subject, schema, normalize, deleted, latest_only)
    if found is not None or latest_only:
        return found
    latest = state.latest(subject)
    if latest is None:
        return None
    populated = _with_properties(config, schema, latest, None)
    if populated == schema:
        return None
    return _look_up(state, parser, subject, populated, normalize, deleted, latest_only)


def look_up_in_contexts(
    state: RegistryState,
    parser: Parser,
    subject: str,
    schema: NewSchema,
    *,
    normalize: bool,
    deleted: bool,
) -> SchemaVersion | None:
    """As `look_up`, and in all other contexts if the subject has none."""
    names = state.lookup_names(subject)
    found = look_up(state, parser, names[0], schema, normalize=normalize, deleted=deleted)
    for name in names[1:]:
        if found is not None:
            break
        try:
            found = look_up(state, parser, name, schema, normalize=normalize, deleted=deleted)
        except errors.RegistryError:
            continue
    return found


def _look_up(
    state: RegistryState,
    parser: Parser,
    subject: str,
    schema: NewSchema,
    normalize: bool,
    deleted: bool,
    latest_only: bool,
) -> SchemaVersion | None:
    if schema.text is None:
        return None
    parsed = _parse(state, parser, subject, schema, normalize)
    if not latest_only:
        version = _version_with(state, subject, _fingerprint(schema, parsed))
        if version is not None and (deleted or not version.is_deleted):
            return version
    latest = state.latest(subject)
    older = [one for one in reversed(state.versions(subject)) if deleted or not one.is_deleted]
    if latest_only:
        older = [] if latest is None else [latest]
    return find_equal(state, parser, parsed, schema, older)


def register(
    state: RegistryState,
    parser: Parser,
    subject: str,
    schema: NewSchema,
    *,
    normalize: bool = False,
    force: bool = False,
) -> Decision:
    """Adds a version, unless the subject has the schema already."""
    mode = _check_mode(state, subject, schema)
    is_import = mode in ("IMPORT", "FORWARD")
    versions = state.versions(subject)
    live = [one for one in versions if not one.is_deleted]
    number = versions[-1].version + 1 if versions else 1
    config = state.config_in_scope(subject)
    if not is_import:
        schema = _populated(config, schema, live[-1] if live else None, number)
    if schema.text is None:
        raise errors.invalid_schema("Empty schema")
    parsed = parser.new(state, subject, schema, is_import=is_import)
    if normalize and not is_import:
        parsed = parsed.normalized()
    schema_id = -1 if schema.id is None else schema.id
    wanted_version = schema.version or 0
    known = state.id_of(context_of(subject), _fingerprint(schema, parsed))
    if known is not None and schema_id in (-1, known):
        having = _version_with(state, subject, _fingerprint(schema, parsed))
        if wanted_version == 0 and having is not None and not having.is_deleted:
            return Decision(having, [])
        schema_id = known
    if wanted_version == 0:
        same = [one for one in reversed(live) if schema_id in (-1, one.id)]
        equal = find_equal(state, parser, parsed, schema, same)
        if equal is not None:
            return Decision(equal, [])
    if not is_import and not force:
        found = check(state, parser, config, schema, parsed, live)
        if found:
            raise errors.incompatible(subject, found)
    if wanted_version > 0 and wanted_version != number and not is_import:
        raise errors.invalid_schema("Version is not one more than previous version")
    return _add(state, subject, schema, parsed, schema_id, wanted_version if wanted_version > 0 else number)


def _add(
    state: RegistryState, subject: str, schema: NewSchema, parsed: ParsedSchema, schema_id: int, number: int
) -> Decision:
    context = context_of(subject)
    version = SchemaVersion(
        subject=subject,
        version=number,
        id=schema_id if schema_id >= 0 else state.next_id(context),
        schema_type=schema.type,
        references=_references(parsed),
        metadata=schema.metadata,
        rule_set=schema.rule_set,
        schema=parsed.canonical,
    )
    if schema_id >= 0:
        _check_id_is_free(state, version)
    written: list[Record] = []
    if context != DEFAULT_CONTEXT and context not in state.named_contexts:
        written.append(context_record(context))
    for older in state.versions(subject):
        is_same = older.is_deleted and older.id == version.id and older.version < number
        if is_same and not state.referenced_by(subject, older.version, deleted=True):
            written.append(schema_tombstone(subject, older.version))
    written.append(schema_record(version))
    return Decision(version, written)


def check(
    state: RegistryState,
    parser: Parser,
    config: Config,
    schema: NewSchema,
    parsed: ParsedSchema,
    older: Sequence[SchemaVersion],
) -> list[str]:
    """Why the schema is not compatible with older versions, which are in order."""
    level = config.compatibility_level or "BACKWARD"
    group = config.compatibility_group
    if group is not None:
        wanted = _property(schema.metadata, group)
        older = [one for one in older if _property(one.metadata, group) == wanted]
    found = reserved_problems(config, schema, parsed, older)
    # Only versions that count need to be parsed.
    counted = older if level.endswith("_TRANSITIVE") else older[-1:]
    stored = [(one.version, parser.stored(state, one)) for one in counted if level != "NONE"]
    policy = (config.compatibility_policy or "STRICT").upper()
    different = problems(level, parsed, stored, policy=policy, validate_fields=bool(config.validate_fields))
    if found and not different:
        found.append(f"{{validateFields: 'true', compatibility: '{level}'}}")
    return found + different


def reserved_problems(
    config: Config, schema: NewSchema, parsed: ParsedSchema, older: Sequence[SchemaVersion]
) -> list[str]:
    """What is wrong with the names of fields that the metadata of a schema reserves."""
    if not config.validate_fields:
        return []
    reserved = _reserved(schema.metadata)
    removed = _reserved(older[-1].metadata) - reserved if older else set()
    found = [
        f"The new schema has reserved field {name} removed from its metadata which is present in the old "
        "schema's metadata."
        for name in sorted(removed)
    ]
    return found + [
        f"The new schema has field that conflicts with the reserved field {name}."
        for name in sorted(reserved)
        if parsed.has_top_level_field(name)
    ]


def _reserved(metadata: Metadata | None) -> set[str]:
    names = _property(metadata, "confluent:reserved") or ""
    return {name.strip() for name in names.split(",") if name.strip()}


def compatibility_problems(
    state: RegistryState,
    parser: Parser,
    subject: str,
    schema: NewSchema,
    older: Sequence[SchemaVersion],
    *,
    normalize: bool,
) -> list[str]:
    """What a registration would say, without registering."""
    if schema.text is None:
        raise errors.invalid_schema("Empty schema")
    parsed = _parse(state, parser, subject, schema, normalize)
    return check(state, parser, state.config_in_scope(subject), schema, parsed, older)


def _parse(
    state: RegistryState, parser: Parser, subject: str, schema: NewSchema, normalize: bool
) -> ParsedSchema:
    parsed = parser.new(state, subject, schema)
    return parsed.normalized() if normalize else parsed


def _check_mode(state: RegistryState, subject: str, schema: NewSchema) -> str:
    mode = state.mode_in_scope(subject)
    where = f"Subject {subject} in context {context_prefix(context_of(subject))}"
    if state.is_read_only(subject):
        raise errors.not_permitted(f"{where} is in read-only mode")
    if schema.id is not None and schema.id >= 0:
        if mode not in ("IMPORT", "FORWARD"):
            raise errors.not_permitted(f"{where} is not in import mode")
    elif mode != "READWRITE":
        raise errors.not_permitted(f"{where} is not in read-write mode")
    return mode


def _populated(config: Config, schema: NewSchema, latest: SchemaVersion | None, number: int) -> NewSchema:
    """Takes what the request does not say from the latest version and from the configuration."""
    if schema.text is None:
        if latest is None:
            raise errors.invalid_schema("Empty schema")
        schema = msgspec.structs.replace(
            schema, schema=latest.schema, schema_type=latest.type, references=latest.references
        )
    return _with_properties(config, schema, latest, number)


def _with_properties(
    config: Config, schema: NewSchema, latest: SchemaVersion | None, number: int | None
) -> NewSchema:
    metadata: Metadata | None = schema.metadata
    rule_set: RuleSet | None = schema.rule_set
    if latest is not None:
        metadata = latest.metadata if metadata is None else metadata
        rule_set = latest.rule_set if rule_set is None else rule_set
    metadata = merge_metadata(merge_metadata(config.default_metadata, metadata), config.override_metadata)
    rule_set = merge_rule_sets(merge_rule_sets(config.default_rule_set, rule_set), config.override_rule_set)
    has_version = metadata is not None and metadata.version is not None
    if number is not None and (schema.version not in (None, 0) or has_version):
        metadata = (metadata or Metadata()).with_version(number)
    return msgspec.structs.replace(schema, metadata=metadata, rule_set=rule_set)


def _references(parsed: ParsedSchema) -> list[ReferenceValue]:
    return [ReferenceValue(*reference) for reference in parsed.references]


def _fingerprint(schema: NewSchema, parsed: ParsedSchema) -> bytes:
    return fingerprint(parsed.canonical, _references(parsed), schema.metadata, schema.rule_set)


def _version_with(state: RegistryState, subject: str, found: bytes) -> SchemaVersion | None:
    schema_id = state.id_of(context_of(subject), found)
    number = None if schema_id is None else state.version_with_id(subject, schema_id)
    return None if number is None else state.version(subject, number)


def _check_id_is_free(state: RegistryState, version: SchemaVersion) -> None:
    context = context_of(version.subject)
    held = state.by_id(version.id, context_prefix(context))
    if held is None:
        return
    same = (held.type, held.schema, held.references, held.metadata, held.rule_set) == (
        *(version.type, version.schema, version.references),
        *(version.metadata, version.rule_set),
    )
    if not same:
        raise errors.not_permitted(
            f"Overwrite new schema with id {version.id} in context {context_prefix(context)} is not "
            "permitted."
        )


def existing(
    state: RegistryState, parser: Parser, subject: str, schema: NewSchema, *, normalize: bool
) -> SchemaVersion | None:
    """The version that a registration would be answered with, if nothing needs to be written."""
    if schema.schema_tags_to_add or schema.schema_tags_to_remove or schema.propagate_schema_tags:
        return None
    if state.config_in_scope(subject).has_defaults_or_overrides:
        return None
    latest_only = schema.version == LATEST
    found = _look_up(state, parser, subject, schema, normalize, False, latest_only)
    if found is None:
        return None
    schema_id = -1 if schema.id is None else schema.id
    if schema.version in (None, 0, LATEST):
        return found if schema_id in (-1, found.id) else None
    return found if (schema_id, schema.version) == (found.id, found.version) else None


def _property(metadata: Metadata | None, name: str) -> str | None:
    return None if metadata is None else (metadata.properties or {}).get(name)
