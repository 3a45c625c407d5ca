"""Deletes versions, subjects and contexts, as decisions on the state.

A soft delete hides a version. A permanent one removes it, and must come after the soft one.
"""

import msgspec

from gralha.registry import errors, records
from gralha.registry.records import Record
from gralha.registry.registering import Decision
from gralha.registry.state import RegistryState
from gralha.registry.subjects import context_of, context_prefix, split


def delete_version(state: RegistryState, subject: str, number: int, *, permanent: bool) -> Decision:
    """Deletes one version, or the latest one. The answer is its number."""
    version = state.version(subject, number)
    if version is None:
        if not state.has_subjects(subject, deleted=True):
            raise errors.subject_not_found(subject)
        raise errors.version_not_found(number)
    number = version.version
    if version.is_deleted and not permanent:
        raise errors.version_soft_deleted(subject, number)
    _check_writable(state, subject)
    if state.referenced_by(subject, number, deleted=permanent):
        raise errors.reference_exists(subject, number)
    if not permanent:
        deleted = msgspec.structs.replace(version, deleted=True)
        return Decision(number, [records.schema_record(deleted)])
    if not version.is_deleted:
        raise errors.version_not_soft_deleted(subject, number)
    written = [records.schema_tombstone(subject, number)]
    if len(state.versions(subject)) == 1:
        written += _settings_tombstones(state, subject)
    return Decision(number, written)


def delete_subject(state: RegistryState, subject: str, *, permanent: bool) -> Decision:
    """Deletes all versions. The answer is their numbers."""
    if not state.has_subjects(subject, deleted=True):
        raise errors.subject_not_found(subject)
    if not permanent and not state.has_subjects(subject, deleted=False):
        raise errors.subject_soft_deleted(subject)
    _check_writable(state, subject)
    versions = [one for one in state.versions(subject) if permanent or not one.is_deleted]
    for version in versions:
        users = state.referencing_subjects(subject, version.version, deleted=permanent)
        if users - {subject}:
            raise errors.reference_exists(subject, version.version)
        if permanent and not version.is_deleted:
            raise errors.subject_not_soft_deleted(subject)
    numbers = [version.version for version in versions]
    if not permanent:
        return Decision(numbers, [records.delete_subject_record(subject, numbers[-1])])
    # The newest goes first, because a version may refer to an older one of its own subject.
    written = [records.schema_tombstone(subject, number) for number in reversed(numbers)]
    return Decision(numbers, written + _settings_tombstones(state, subject))


def delete_context(state: RegistryState, context: str) -> Decision:
    """Deletes a context without subjects."""
    if state.has_subjects(context, deleted=True):
        raise errors.context_not_empty(context)
    return Decision(None, [records.context_tombstone(split(context).context)])


def _check_writable(state: RegistryState, subject: str) -> None:
    if state.is_read_only(subject):
        raise errors.read_only(subject, context_prefix(context_of(subject)))


def _settings_tombstones(state: RegistryState, subject: str) -> list[Record]:
    written = []
    if subject in state.modes:
        written.append(records.mode_record(subject, None))
    if subject in state.configs:
        written.append(records.config_tombstone(subject))
    return written
