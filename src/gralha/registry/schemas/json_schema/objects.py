"""Differences of schemas of objects.

An object has an open content model if it allows any other property, a closed one if it allows none, and a
partially open one if other properties must fit a schema.
"""

from gralha.registry.schemas.json_schema.differences import Difference
from gralha.registry.schemas.json_schema.model import FALSE, NO_VALUE, Node
from gralha.registry.schemas.json_schema.patterns import matches
from gralha.registry.schemas.json_schema.scalars import compare_limits
from gralha.registry.schemas.json_schema.steps import (
    Collected,
    Found,
    Judge,
    Step,
    at,
    compare_optional,
    compare_unevaluated,
)


def compare_objects(judge: Judge, original: Node, update: Node) -> Step:
    """The differences of two schemas of objects."""
    collected = Collected(judge)
    collected.add(_compare_required(original, update))
    for name in dict.fromkeys((*original.properties, *update.properties)):
        old, new = original.properties.get(name), update.properties.get(name)
        if old is not None and new is not None:
            between = yield (old, new)
        elif old is not None:
            between = yield from _removed(judge, name, old, update)
        else:
            between = yield from _added(judge, name, original, update)
        collected.add(between, "properties", name)
    collected.add(_compare_dependent_names(original, update))
    for name in dict.fromkeys((*original.dependent_schemas, *update.dependent_schemas)):
        between = yield from _compare_dependent_schema(name, original, update)
        collected.add(between, "dependencies", name)
    collected.add((yield from _compare_additional(original, update)), "additionalProperties")
    collected.add((yield from compare_unevaluated(original.unevaluated, update.unevaluated, "Properties")))
    collected.add(compare_limits(original, update))
    return collected.all()


def _compare_required(original: Node, update: Node) -> Found:
    found: list[Difference] = []
    for name in original.properties:
        if name not in update.properties:
            continue
        was, is_now = name in original.required, name in update.required
        if was and not is_now:
            found.append(Difference("REQUIRED_ATTRIBUTE_REMOVED", ("required", name)))
        elif is_now and not was:
            with_default = "WITH_DEFAULT_" if _has_default(update.properties[name]) else ""
            found.append(Difference(f"REQUIRED_ATTRIBUTE_{with_default}ADDED", ("required", name)))
    return tuple(found)


def _removed(judge: Judge, name: str, old: Node, update: Node) -> Step:
    if is_open(update):
        return at("PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL")
    cover = _schema_of_others(update, name)
    if cover is not None:
        between = yield (old, cover)
        covered = "IS" if judge.is_compatible(between) else "NOT"
        return between + at(f"PROPERTY_REMOVED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    if old.kind == FALSE:
        return at("PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL")
    return at("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL")


def _added(judge: Judge, name: str, original: Node, update: Node) -> Step:
    new = update.properties[name]
    if name in update.required:
        manner = "REQUIRED_PROPERTY_WITH_DEFAULT" if _has_default(new) else "REQUIRED_PROPERTY"
    else:
        manner = "OPTIONAL_PROPERTY"
    if is_open(original):
        if new.is_empty:
            return at("PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL")
        return at(f"{manner}_ADDED_TO_OPEN_CONTENT_MODEL")
    found: Found = ()
    cover = _schema_of_others(original, name)
    if cover is not None:
        between = yield (cover, new)
        covered = "IS" if judge.is_compatible(between) else "NOT"
        found = between + at(f"PROPERTY_ADDED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    return found + at(f"{manner}_ADDED_TO_UNOPEN_CONTENT_MODEL")


def _compare_dependent_names(original: Node, update: Node) -> Found:
    found: list[Difference] = []
    for name in dict.fromkeys((*original.dependent_names, *update.dependent_names)):
        old, new = original.dependent_names.get(name), update.dependent_names.get(name)
        if new is None:
            kind = "REMOVED"
        elif old is None:
            kind = "ADDED"
        elif old == new:
            continue
        elif old < new:
            kind = "EXTENDED"
        else:
            kind = "NARROWED" if new < old else "CHANGED"
        found.append(Difference(f"DEPENDENCY_ARRAY_{kind}", ("dependencies", name)))
    return tuple(found)


def _compare_dependent_schema(name: str, original: Node, update: Node) -> Step:
    old, new = original.dependent_schemas.get(name), update.dependent_schemas.get(name)
    if new is None:
        return at("DEPENDENCY_SCHEMA_REMOVED")
    if old is None:
        return at("DEPENDENCY_SCHEMA_ADDED")
    return (yield (old, new))


def _compare_additional(original: Node, update: Node) -> Step:
    if original.permits_additional != update.permits_additional:
        return at(f"ADDITIONAL_PROPERTIES_{'ADDED' if update.permits_additional else 'REMOVED'}")
    if original.additional is None and update.additional is not None:
        return at("ADDITIONAL_PROPERTIES_NARROWED")
    if original.additional is not None and update.additional is None:
        return at("ADDITIONAL_PROPERTIES_EXTENDED")
    return (yield from compare_optional(original.additional, update.additional))


def is_open(node: Node) -> bool:
    """Whether any other property is allowed."""
    if not node.permits_additional or node.additional is not None or node.patterns:
        return False
    return node.unevaluated is None or node.unevaluated.is_empty


def _schema_of_others(node: Node, name: str) -> Node | None:
    """The schema that a property must fit although it is not listed."""
    for pattern, schema in node.patterns.items():
        if matches(pattern, name):
            return schema
    if node.additional is not None:
        return node.additional
    if node.permits_additional and node.unevaluated is not None:
        return None if node.unevaluated.is_empty or node.unevaluated.kind == FALSE else node.unevaluated
    return None


def _has_default(node: Node) -> bool:
    return node.default is not NO_VALUE
