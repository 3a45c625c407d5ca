"""Changes configurations and modes, as decisions on the state."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from gralha.registry import errors, records
from gralha.registry.registering import Decision
from gralha.registry.state import RegistryState
from gralha.registry.subjects import DEFAULT_CONTEXT, context_of, context_prefix, is_context, matches, split
from gralha.registry.values import COMPATIBILITY_LEVELS, MODES, Config, Metadata, RuleSet


class ConfigChange(Struct, omit_defaults=True, rename="camel"):
    """The change of a request. A field that is null removes a setting, and one that is absent keeps it."""

    alias: str | UnsetType | None = UNSET
    alias_for_deks: str | UnsetType | None = UNSET
    normalize: bool | UnsetType | None = UNSET
    validate_fields: bool | UnsetType | None = UNSET
    validate_new_schemas: bool | UnsetType | None = UNSET
    validate_rules: bool | UnsetType | None = UNSET
    # Confluent's API says `compatibility` in requests and `compatibilityLevel` in answers.
    compatibility: str | UnsetType | None = UNSET
    compatibility_policy: str | UnsetType | None = UNSET
    compatibility_group: str | UnsetType | None = UNSET
    default_metadata: Metadata | UnsetType | None = UNSET
    override_metadata: Metadata | UnsetType | None = UNSET
    default_rule_set: RuleSet | UnsetType | None = UNSET
    override_rule_set: RuleSet | UnsetType | None = UNSET


class ModeChange(Struct, omit_defaults=True):
    """The mode that a request wants."""

    mode: str | UnsetType | None = UNSET


def change_config(state: RegistryState, subject: str | None, change: ConfigChange) -> Decision:
    """Changes the configuration of a subject, a context or the registry. The answer is the new one."""
    fields: dict[str, Any] = {
        name: value for name, value in msgspec.structs.asdict(change).items() if value is not UNSET
    }
    if "compatibility" in fields:
        level = fields.pop("compatibility")
        if level is not None and level.upper() not in COMPATIBILITY_LEVELS:
            raise errors.invalid_compatibility()
        fields["compatibility_level"] = None if level is None else level.upper()
    for rules in (fields.get("default_rule_set"), fields.get("override_rule_set")):
        problem = None if rules is None else rules.problem()
        if problem is not None:
            raise errors.invalid_rule_set(problem)
    _check_writable(state, subject)
    config = msgspec.structs.replace(state.configs.get(subject, Config(subject)), **fields)
    return Decision(config, [records.config_record(config)])


def delete_config(state: RegistryState, subject: str | None) -> Decision:
    """Removes a configuration. The answer is the removed one."""
    config = state.config(subject)
    if config is None:
        raise errors.subject_not_found(subject)
    _check_writable(state, subject)
    return Decision(config, [records.config_tombstone(subject)])


def change_mode(state: RegistryState, subject: str | None, change: ModeChange, *, force: bool) -> Decision:
    """Changes the mode of a subject, a context or the registry. The answer is the request."""
    mode = None if change.mode is UNSET or change.mode is None else str(change.mode).upper()
    if mode is not None and mode not in MODES:
        raise errors.invalid_mode()
    if mode == "FORWARD" and subject != context_prefix(".__GLOBAL"):
        raise errors.RegistryError(42204, "Forward mode only supported on global level")
    written = []
    if mode == "IMPORT" and state.mode_in_scope(subject) != "IMPORT" and not force:
        if state.has_subjects(subject, deleted=False):
            raise errors.not_permitted("Cannot import since found existing subjects")
        written = _clear(state, subject)
    written.append(records.mode_record(subject, mode))
    return Decision(change, written)


def _clear(state: RegistryState, subject: str | None) -> list[records.Record]:
    """Removes the soft-deleted versions for good."""
    written = []
    for name in sorted(state.subjects):
        if not matches(subject, name):
            continue
        for version in state.versions(name):
            if state.referenced_by(name, version.version, deleted=True):
                raise errors.reference_exists(name, version.version)
            written.append(records.schema_tombstone(name, version.version))
    return [*written, records.clear_subject_record(subject)]


def delete_mode(state: RegistryState, subject: str | None, *, recursive: bool) -> Decision:
    """Removes a mode, with `recursive` those of all subjects of the context, too. The answer is the mode."""
    mode = state.mode(subject)
    if mode is None and not recursive:
        raise errors.subject_not_found(subject)
    written = [records.mode_record(subject, None)]
    if recursive and is_context(subject):
        context = DEFAULT_CONTEXT if subject is None else split(subject).context
        written += [
            records.mode_record(name, None)
            for name in state.modes
            if name is not None and name != subject and context_of(name) == context
        ]
    return Decision(mode, written)


def _check_writable(state: RegistryState, subject: str | None) -> None:
    if state.is_read_only(subject):
        raise errors.read_only(subject, context_prefix(context_of(subject)))
