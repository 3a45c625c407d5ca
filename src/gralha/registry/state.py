"""What the registry knows, from the records of its topic. Only `replay` changes it.

Ids belong to a context: each has its own ids, from 1. Schemas with the same text, references, metadata and
rules have the same id in all subjects of a context. A soft-deleted version can still be looked up by its id.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from gralha.registry import records
from gralha.registry.records import Key, Record, SchemaVersion
from gralha.registry.subjects import (
    CONTEXT_WILDCARD,
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    context_of,
    context_prefix,
    matches,
    split,
    within,
)
from gralha.registry.values import Config, fingerprint_of_guid

LATEST: Final = -1
_log: Final = logging.getLogger(__name__)
_GLOBAL_SUBJECT: Final = context_prefix(GLOBAL_CONTEXT)


class SubjectVersion(NamedTuple):
    subject: str
    version: int


class ContextId(NamedTuple):
    context: str
    id: int


class _Context:
    """The ids of a context."""

    def __init__(self) -> None:
        self.max_id = 0
        # id -> subject -> the newest version with that id
        self.versions: dict[int, dict[str, int]] = {}
        self.ids: dict[bytes, int] = {}
        self.references: dict[SubjectVersion, set[ContextId]] = {}


class RegistryState:
    """All schemas, configurations and modes."""

    def __init__(self, default_compatibility: str = "BACKWARD", default_mode: str = "READWRITE") -> None:
        self.default_compatibility = default_compatibility
        self.default_mode = default_mode
        # Changes with every change of the state, so that answers can be kept until then.
        self.changes = 0
        self.subjects: dict[str, dict[int, SchemaVersion]] = {}
        self.timestamps: dict[SubjectVersion, int] = {}
        self.configs: dict[str | None, Config] = {}
        self.modes: dict[str | None, str] = {}
        self.named_contexts: set[str] = set()
        self._contexts: dict[str, _Context] = {}

    # Changes

    def replay(self, record: Record) -> None:
        """Applies a record. A record that cannot be understood is logged and left out."""
        try:
            key = records.decode_key(record.key)
            self._apply(key, record)
        except (msgspec.MsgspecError, ValueError) as error:
            _log.warning("A record of the topic is ignored: %s (key %.200r)", error, record.key)

    def _apply(self, key: Key, record: Record) -> None:
        kind, value = key.keytype, record.value
        if kind == records.NOOP:
            return
        if kind == records.SCHEMA:
            self._apply_schema(key, record)
        elif kind == records.CONFIG:
            if value is None:
                self.configs.pop(key.subject, None)
            else:
                config = msgspec.json.decode(value, type=Config)
                self.configs[key.subject] = msgspec.structs.replace(config, subject=key.subject)
        elif kind == records.MODE:
            mode = None if value is None else msgspec.json.decode(value, type=records.ModeValue).mode
            if mode is None:
                self.modes.pop(key.subject, None)
            else:
                self.modes[key.subject] = mode
        elif kind == records.CONTEXT:
            if value is None:
                self.named_contexts.discard(key.context)
            else:
                self.named_contexts.add(key.context)
        elif kind == records.DELETE_SUBJECT and value is not None:
            deleted = msgspec.json.decode(value, type=records.DeleteSubjectValue)
            for number, version in self.subjects.get(deleted.subject, {}).items():
                if number <= deleted.version:
                    self._store(msgspec.structs.replace(version, deleted=True))
        elif kind == records.CLEAR_SUBJECT and value is not None:
            self._clear(msgspec.json.decode(value, type=records.ClearSubjectValue).subject)
        elif kind not in (records.DELETE_SUBJECT, records.CLEAR_SUBJECT):
            _log.debug("A record of type %s is ignored", kind)
        self.changes += 1

    def _apply_schema(self, key: Key, record: Record) -> None:
        subject, number = key.subject or "", key.version
        if record.value is None:
            self._remove(subject, number)
            return
        version = msgspec.json.decode(record.value, type=SchemaVersion)
        context = self._context(context_of(version.subject))
        held = next(iter(context.versions.get(version.id, {}).items()), None)
        if held is not None and (other := self.version(*held)) is not None and other.schema != version.schema:
            # Another registry wrote it, without knowing that the id was taken. Confluent's ignores it, too.
            _log.error("The id %d of %s %d is that of another schema", version.id, subject, number)
            return
        if record.timestamp_ms is not None:
            self.timestamps[SubjectVersion(version.subject, version.version)] = record.timestamp_ms
        self._store(version)

    def _store(self, version: SchemaVersion) -> None:
        context_name = context_of(version.subject)
        context = self._context(context_name)
        self.subjects.setdefault(version.subject, {})[version.version] = version
        context.max_id = max(context.max_id, version.id)
        self._point(context, version.subject, version.id)
        context.ids[version.fingerprint] = version.id
        for reference in self._referenced(version):
            users = self._context(context_of(reference.subject)).references.setdefault(reference, set())
            users.add(ContextId(context_name, version.id))

    def _remove(self, subject: str, number: int) -> None:
        version = self.subjects.get(subject, {}).pop(number, None)
        self.timestamps.pop(SubjectVersion(subject, number), None)
        if version is None:
            return
        if not self.subjects[subject]:
            del self.subjects[subject]
        context_name = context_of(subject)
        context = self._context(context_name)
        self._point(context, subject, version.id)
        if version.id in context.versions:
            return
        for reference in self._referenced(version):
            found = self._context(context_of(reference.subject)).references
            users = found.get(reference, set())
            users.discard(ContextId(context_name, version.id))
            if not users:
                found.pop(reference, None)

    def _point(self, context: _Context, subject: str, schema_id: int) -> None:
        """Notes which version of a subject an id is for: the newest one, preferably not a deleted one."""
        having = [one for one in self.subjects.get(subject, {}).values() if one.id == schema_id]
        by_subject = context.versions.setdefault(schema_id, {})
        if having:
            by_subject[subject] = max(having, key=lambda one: (not one.is_deleted, one.version)).version
        else:
            by_subject.pop(subject, None)
            if not by_subject:
                del context.versions[schema_id]

    def _clear(self, wanted: str | None) -> None:
        for subject in [name for name in self.subjects if matches(wanted, name)]:
            for number in [number for number, one in self.subjects[subject].items() if one.is_deleted]:
                self._remove(subject, number)

    def _context(self, name: str) -> _Context:
        context = self._contexts.get(name)
        if context is None:
            context = self._contexts[name] = _Context()
        return context

    @staticmethod
    def _referenced(version: SchemaVersion) -> Iterator[SubjectVersion]:
        for reference in version.references:
            if reference.subject is not None and reference.version is not None:
                yield SubjectVersion(within(version.subject, reference.subject), reference.version)

    # Versions of a subject

    def version(self, subject: str, number: int, *, deleted: bool = True) -> SchemaVersion | None:
        """A version, or the latest one that is not deleted."""
        if number == LATEST:
            return self.latest(subject)
        version = self.subjects.get(subject, {}).get(number)
        return version if version is not None and (deleted or not version.is_deleted) else None

    def latest(self, subject: str) -> SchemaVersion | None:
        versions = self.subjects.get(subject, {})
        return next(
            (
                versions[number]
                for number in sorted(versions, reverse=True)
                if not versions[number].is_deleted
            ),
            None,
        )

    def version_in_contexts(self, subject: str, number: int, *, deleted: bool) -> SchemaVersion | None:
        """The version, or that of the same subject in another context if the name has no context."""
        for name in self._in_contexts(subject):
            version = self.version(name, number, deleted=deleted)
            if version is not None:
                return version
        return None

    def versions(self, subject: str) -> list[SchemaVersion]:
        """All versions, from the first, the deleted ones included."""
        found = self.subjects.get(subject, {})
        return [found[number] for number in sorted(found)]

    def has_subjects(self, wanted: str | None, *, deleted: bool) -> bool:
        """Returns True if the subject, or the context, has a version."""
        if wanted is not None and split(wanted).name:
            names = [wanted] if wanted in self.subjects else []
        else:
            names = [name for name in self.subjects if matches(wanted, name)]
        return any(deleted or not one.is_deleted for name in names for one in self.subjects[name].values())

    def subjects_with_prefix(self, prefix: str) -> list[str]:
        """The subjects whose names begin so, in order. The prefix `:*:` is for all contexts."""
        if not prefix.startswith(CONTEXT_WILDCARD):
            return sorted(name for name in self.subjects if name.startswith(prefix))
        rest = prefix[len(CONTEXT_WILDCARD) :]
        return sorted(name for name in self.subjects if split(name).name.startswith(rest))

    def contexts(self) -> list[str]:
        return [DEFAULT_CONTEXT, *sorted(self.named_contexts)]

    # Ids

    def id_of(self, context: str, fingerprint: bytes) -> int | None:
        """The id of a schema, if a subject of the context has it."""
        found = self._contexts.get(context)
        schema_id = None if found is None else found.ids.get(fingerprint)
        return schema_id if found is not None and schema_id in found.versions else None

    def version_with_id(self, subject: str, schema_id: int) -> int | None:
        """The version of a subject that has the id."""
        found = self._contexts.get(context_of(subject))
        return None if found is None else found.versions.get(schema_id, {}).get(subject)

    def next_id(self, context: str) -> int:
        return self._context(context).max_id + 1

    def max_id(self, context: str) -> int:
        return max(1, self._context(context).max_id)

    def by_id(self, schema_id: int, subject: str | None = None) -> SchemaVersion | None:
        """The schema with an id in the subject's context.

        With a subject that the context does not have, the same subject of other contexts counts, too.
        """
        wanted = split(subject or "")
        found = self._of_id(wanted.context, schema_id, subject if wanted.name else None)
        if found is not None or not wanted.name or not wanted.is_default_context:
            return found
        for context in sorted(self.named_contexts):
            found = self._of_id(context, schema_id, context_prefix(context) + wanted.name)
            if found is not None:
                return found
        return self._of_id(DEFAULT_CONTEXT, schema_id, None)

    def _of_id(self, context: str, schema_id: int, subject: str | None) -> SchemaVersion | None:
        found = self._contexts.get(context)
        by_subject = {} if found is None else found.versions.get(schema_id, {})
        if subject is None:
            subject = next(iter(by_subject), None)
        number = None if subject is None else by_subject.get(subject)
        return None if subject is None or number is None else self.version(subject, number)

    def versions_with_id(
        self, schema_id: int, subject: str | None, *, deleted: bool
    ) -> list[SubjectVersion] | None:
        """The versions that have an id, in the context of the subject. None if the context has no such id."""
        found = self.by_id(schema_id, subject)
        if found is None:
            return None
        by_subject = self._context(context_of(found.subject)).versions.get(schema_id, {})
        return [
            SubjectVersion(name, number)
            for name, number in by_subject.items()
            if (one := self.version(name, number)) is not None and (deleted or not one.is_deleted)
        ]

    def ids_of_guid(self, guid: str) -> list[ContextId]:
        """The ids that a schema has in each context."""
        wanted = fingerprint_of_guid(guid)
        if wanted is None:
            return []
        found = ((context, self.id_of(context, wanted)) for context in self.contexts())
        return [ContextId(context, schema_id) for context, schema_id in found if schema_id is not None]

    def referenced_by(self, subject: str, number: int, *, deleted: bool) -> list[ContextId]:
        """The schemas that refer to a version. Without `deleted` only those of undeleted versions."""
        context = self._contexts.get(context_of(subject))
        users = set() if context is None else context.references.get(SubjectVersion(subject, number), set())
        return sorted(
            user
            for user in users
            if deleted or self.versions_with_id(user.id, context_prefix(user.context), deleted=False)
        )

    def referencing_subjects(self, subject: str, number: int, *, deleted: bool) -> set[str]:
        names: set[str] = set()
        for user in self.referenced_by(subject, number, deleted=True):
            found = self.versions_with_id(user.id, context_prefix(user.context), deleted=deleted) or []
            names |= {one.subject for one in found}
        return names

    # Configuration and mode

    def config(self, subject: str | None) -> Config | None:
        """The configuration of a subject or context itself. The registry and `.__GLOBAL` always have one."""
        config = self.configs.get(subject)
        if config is not None:
            return self._with_level(config)
        if subject is None or context_of(subject) == GLOBAL_CONTEXT:
            return Config(compatibility_level=self.default_compatibility)
        return None

    def config_in_scope(self, subject: str | None) -> Config:
        """The configuration that holds for a subject."""
        if subject is None:
            return self._config_above(None)
        own = self.config(subject)
        if own is None:
            return self._config_above(subject)
        return own.with_defaults_from(self.config(None) or Config())

    def _config_above(self, subject: str | None) -> Config:
        for place in (_place_above(subject), _GLOBAL_SUBJECT):
            config = self.configs.get(place)
            if config is not None:
                return self._with_level(config)
        return Config(compatibility_level=self.default_compatibility)

    def _with_level(self, config: Config) -> Config:
        if config.compatibility_level is not None:
            return config
        return msgspec.structs.replace(config, compatibility_level=self.default_compatibility)

    def mode(self, subject: str | None) -> str | None:
        """The mode of a subject or context itself."""
        mode = self.modes.get(subject)
        if mode is None and (subject is None or context_of(subject) == GLOBAL_CONTEXT):
            return self.default_mode
        return mode

    def mode_in_scope(self, subject: str | None) -> str:
        """The mode that holds for a subject."""
        for place in (subject, _place_above(subject), _GLOBAL_SUBJECT):
            mode = self.modes.get(place)
            if mode is not None:
                return mode
        return self.default_mode

    def is_read_only(self, subject: str | None) -> bool:
        return self.mode_in_scope(subject) in ("READONLY", "READONLY_OVERRIDE")

    # Aliases

    def resolve_alias(self, subject: str) -> str:
        """The subject that an alias stands for, or the subject itself."""
        config = self.configs.get(subject)
        if config is None or not config.alias:
            return subject
        return within(subject, config.alias)

    def aliases_with_prefix(self, prefix: str) -> dict[str, list[str]]:
        """The aliases of subjects, by the subject that they stand for."""
        found: dict[str, list[str]] = {}
        for subject, config in self.configs.items():
            if subject is not None and config.alias and subject.startswith(prefix):
                found.setdefault(within(subject, config.alias), []).append(subject)
        return found

    def _in_contexts(self, subject: str) -> Sequence[str]:
        wanted = split(subject)
        if not wanted.is_default_context:
            return [subject]
        return [subject, *(context_prefix(context) + wanted.name for context in sorted(self.named_contexts))]

    def lookup_names(self, subject: str) -> Sequence[str]:
        """The subject, and the subjects of the same name in other contexts if it names none."""
        return self._in_contexts(subject)


def _place_above(subject: str | None) -> str | None:
    """Where the settings of a subject come from if it has none: its context."""
    context = context_of(subject)
    return None if context == DEFAULT_CONTEXT else context_prefix(context)
