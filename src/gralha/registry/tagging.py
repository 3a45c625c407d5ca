"""Changes the metadata and the rules of a version, which makes a new version."""

from msgspec import Struct

from gralha.registry import errors
from gralha.registry.parsing import NewSchema
from gralha.registry.state import LATEST, RegistryState
from gralha.registry.values import Metadata, RuleSet, merge_rule_sets


class TagChange(Struct, omit_defaults=True, rename="camel"):
    """The change of a request."""

    new_version: int | None = None
    tags_to_add: list[object] | None = None
    tags_to_remove: list[object] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    rules_to_merge: RuleSet | None = None
    rules_to_remove: list[str] | None = None

    def check(self) -> None:
        """Raises RegistryError if the rules are invalid."""
        changes_rules = self.rules_to_merge is not None or self.rules_to_remove is not None
        if changes_rules and self.rule_set is not None:
            raise errors.invalid_rule_set(
                "ruleSet should be omitted if specifying rulesToMerge or rulesToRemove"
            )
        for rules in (self.rules_to_merge, self.rule_set):
            problem = None if rules is None else rules.problem()
            if problem is not None:
                raise errors.invalid_rule_set(problem)


def tagged(state: RegistryState, subject: str, number: int, change: TagChange) -> NewSchema:
    """The schema that the change makes of a version. Raises RegistryError if the version is gone."""
    found = state.version(subject, number, deleted=False)
    if found is None:
        raise errors.version_not_found(number)
    new_version = change.new_version or LATEST
    before = state.version(subject, new_version - 1 if new_version > 0 else LATEST, deleted=False)
    rule_set = change.rule_set
    if change.rules_to_merge is not None or change.rules_to_remove is not None:
        rule_set = merge_rule_sets(None if before is None else before.rule_set, change.rules_to_merge)
        if rule_set is not None:
            rule_set = rule_set.without(change.rules_to_remove or ())
    metadata = change.metadata or found.metadata or Metadata()
    return NewSchema(
        version=new_version if new_version > 0 else LATEST,
        schema_type=found.type,
        references=found.references,
        metadata=metadata.with_version(max(new_version, 0)),
        rule_set=rule_set,
        schema=found.schema,
    )
