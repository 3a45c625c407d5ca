"""The records of the topic `_schemas`, byte for byte as Confluent's registry writes them.

A record has a JSON key with a `keytype`, and a JSON value. A record without a value deletes the key.

| keytype | key | value |
|---|---|---|
| SCHEMA | subject, version | a version of a subject; with `deleted: true` it is soft-deleted |
| CONFIG | subject, or none | the configuration of a subject, a context or the registry |
| MODE | subject, or none | the mode |
| DELETE_SUBJECT | subject | all versions up to the one in the value are soft-deleted |
| CLEAR_SUBJECT | subject, or none | the soft-deleted versions are forgotten |
| CONTEXT | tenant, context | a context that is not the default one |
| NOOP | | nothing: its offset shows how far somebody has read |
"""

from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from gralha.registry.values import Config, Metadata, ReferenceValue, RuleSet, fingerprint, guid_of

SCHEMA: Final = "SCHEMA"
CONFIG: Final = "CONFIG"
MODE: Final = "MODE"
DELETE_SUBJECT: Final = "DELETE_SUBJECT"
CLEAR_SUBJECT: Final = "CLEAR_SUBJECT"
CONTEXT: Final = "CONTEXT"
NOOP: Final = "NOOP"
TENANT: Final = "default"


class Record(NamedTuple):
    """A record to write, or one that was read."""

    key: bytes
    value: bytes | None
    timestamp_ms: int | None = None


class Key(Struct):
    """A key of any type, as it is read."""

    keytype: str
    subject: str | None = None
    version: int = 0
    magic: int = 0
    context: str = ""


class _SchemaKey(Struct):
    keytype: str
    subject: str
    version: int
    magic: int = 1


class _SubjectKey(Struct):
    keytype: str
    subject: str
    magic: int = 0


class _GlobalKey(Struct):
    keytype: str
    magic: int = 0


class _ContextKey(Struct):
    keytype: str
    tenant: str
    context: str
    magic: int = 0


class SchemaVersion(Struct, omit_defaults=True, rename="camel"):
    """A version of a subject."""

    subject: str
    version: int
    id: int
    md5: str | None = None
    schema_type: str | None = None
    references: list[ReferenceValue] = msgspec.field(default_factory=list)
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema: str = ""
    deleted: bool | msgspec.UnsetType = msgspec.UNSET

    @property
    def type(self) -> str:
        return self.schema_type or "AVRO"

    @property
    def is_deleted(self) -> bool:
        return self.deleted is True

    @property
    def fingerprint(self) -> bytes:
        if self.md5 is not None:
            return msgspec.convert(self.md5, bytes)
        return fingerprint(self.schema, self.references, self.metadata, self.rule_set)

    @property
    def guid(self) -> str:
        return guid_of(self.fingerprint)


class ModeValue(Struct, omit_defaults=True):
    subject: str | None = None
    mode: str | None = None


class DeleteSubjectValue(Struct):
    subject: str
    version: int


class ClearSubjectValue(Struct, omit_defaults=True):
    subject: str | None = None


class ContextValue(Struct):
    tenant: str
    context: str


_decode_key: Final = msgspec.json.Decoder(Key).decode
_encode: Final = msgspec.json.Encoder().encode


def decode_key(key: bytes) -> Key:
    """Raises msgspec.MsgspecError if it is none."""
    return _decode_key(key)


def schema_record(version: SchemaVersion) -> Record:
    written = msgspec.structs.replace(version, schema_type=version.type, deleted=version.is_deleted)
    return Record(_schema_key(version.subject, version.version), _encode(written))


def schema_tombstone(subject: str, version: int) -> Record:
    return Record(_schema_key(subject, version), None)


def config_record(config: Config) -> Record:
    return Record(_subject_key(CONFIG, config.subject), _encode(config))


def config_tombstone(subject: str | None) -> Record:
    return Record(_subject_key(CONFIG, subject), None)


def mode_record(subject: str | None, mode: str | None) -> Record:
    return Record(_subject_key(MODE, subject), None if mode is None else _encode(ModeValue(subject, mode)))


def delete_subject_record(subject: str, version: int) -> Record:
    return Record(_subject_key(DELETE_SUBJECT, subject), _encode(DeleteSubjectValue(subject, version)))


def clear_subject_record(subject: str | None) -> Record:
    return Record(_subject_key(CLEAR_SUBJECT, subject), _encode(ClearSubjectValue(subject)))


def context_record(context: str) -> Record:
    return Record(_context_key(context), _encode(ContextValue(TENANT, context)))


def context_tombstone(context: str) -> Record:
    return Record(_context_key(context), None)


def noop_record() -> Record:
    return Record(_encode(_GlobalKey(NOOP)), None)


def _schema_key(subject: str, version: int) -> bytes:
    return _encode(_SchemaKey(SCHEMA, subject, version))


def _subject_key(keytype: str, subject: str | None) -> bytes:
    return _encode(_GlobalKey(keytype) if subject is None else _SubjectKey(keytype, subject))


def _context_key(context: str) -> bytes:
    return _encode(_ContextKey(CONTEXT, TENANT, context))
