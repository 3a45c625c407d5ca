"""The JSON of answers, with the fields that Confluent's registry returns."""

from typing import Any

import msgspec

from gralha.registry.records import SchemaVersion
from gralha.registry.state import RegistryState, SubjectVersion
from gralha.registry.subjects import context_of, within
from gralha.registry.values import Config, ReferenceValue, without_nothing


def schema_entity(
    state: RegistryState,
    version: SchemaVersion,
    *,
    text: str | None = None,
    references: list[ReferenceValue] | None = None,
) -> dict[str, Any]:
    """A version of a subject. `text` is the schema in another format."""
    return without_nothing(
        {
            "subject": version.subject,
            "version": version.version,
            "id": version.id,
            **_common(version, text, references),
            "ts": state.timestamps.get(SubjectVersion(version.subject, version.version)),
            "deleted": version.is_deleted,
        }
    )


def schema_of_id(
    state: RegistryState,
    version: SchemaVersion,
    *,
    with_subject: bool,
    text: str | None = None,
    references: list[ReferenceValue] | None = None,
    max_id: int | None = None,
) -> dict[str, Any]:
    """A schema by its id."""
    return without_nothing(
        {
            "subject": version.subject if with_subject else None,
            "version": version.version if with_subject else None,
            **_common(version, text, references),
            "maxId": max_id,
            "ts": state.timestamps.get(SubjectVersion(version.subject, version.version)),
            "deleted": version.is_deleted,
        }
    )


def registered(version: SchemaVersion, text: str | None = None) -> dict[str, Any]:
    """The answer to a registration."""
    return without_nothing({"id": version.id, "version": version.version, **_common(version, text, None)})


def config_change(config: Config) -> dict[str, Any]:
    """The answer to a change of a configuration, which has another name for the compatibility."""
    fields: dict[str, Any] = msgspec.to_builtins(config)
    fields.pop("subject", None)
    level = fields.pop("compatibilityLevel", None)
    return fields if level is None else {"compatibility": level, **fields}


def config_entity(config: Config) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(config)
    fields.pop("subject", None)
    return fields


def qualified_references(version: SchemaVersion) -> list[ReferenceValue]:
    """The references with the context of the schema that has them."""
    if context_of(version.subject) == ".":
        return version.references
    return [
        ReferenceValue(one.name, within(version.subject, one.subject or ""), one.version)
        for one in version.references
    ]


def _common(
    version: SchemaVersion, text: str | None, references: list[ReferenceValue] | None
) -> dict[str, Any]:
    return {
        "guid": version.guid,
        "schemaType": version.type,
        "references": version.references if references is None else references,
        "metadata": version.metadata,
        "ruleSet": version.rule_set,
        "schema": version.schema if text is None else text,
    }
