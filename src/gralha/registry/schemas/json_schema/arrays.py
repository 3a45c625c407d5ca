"""Differences of schemas of arrays. Their content models are open, closed or partially open."""

from gralha.registry.schemas.json_schema.model import FALSE, Node
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


def compare_arrays(judge: Judge, original: Node, update: Node) -> Step:
    """The differences of two schemas of arrays."""
    collected = Collected(judge)
    collected.add((yield from compare_optional(original.all_items, update.all_items)), "items")
    for index in range(max(len(original.items), len(update.items))):
        if index >= len(update.items):
            between = yield from _removed(judge, original.items[index], update)
        elif index >= len(original.items):
            between = yield from _added(judge, original, update.items[index])
        else:
            between = yield (original.items[index], update.items[index])
        collected.add(between, f"items/{index}")
    collected.add((yield from _compare_additional(original, update)), "additionalItems")
    collected.add((yield from compare_unevaluated(original.unevaluated, update.unevaluated, "Items")))
    collected.add(compare_limits(original, update))
    if original.unique != update.unique:
        kind = "UNIQUE_ITEMS_REMOVED" if original.unique else "UNIQUE_ITEMS_ADDED"
        collected.add(at(kind, "uniqueItems"))
    return collected.all()


def _removed(judge: Judge, old: Node, update: Node) -> Step:
    if is_open(update):
        return at("ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL")
    cover = _schema_of_others(update)
    if cover is not None:
        between = yield (old, cover)
        covered = "IS" if judge.is_compatible(between) else "NOT"
        return between + at(f"ITEM_REMOVED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")
    if old.kind == FALSE:
        return at("ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL")
    return at("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL")


def _added(judge: Judge, original: Node, new: Node) -> Step:
    if is_open(original):
        with_empty = "_WITH_EMPTY_SCHEMA" if new.is_empty else ""
        return at(f"ITEM{with_empty}_ADDED_TO_OPEN_CONTENT_MODEL")
    cover = _schema_of_others(original)
    if cover is None:
        return at("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL")
    between: Found = yield (cover, new)
    covered = "IS" if judge.is_compatible(between) else "NOT"
    return between + at(f"ITEM_ADDED_{covered}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")


def _compare_additional(original: Node, update: Node) -> Step:
    if original.permits_additional != update.permits_additional:
        return at(f"ADDITIONAL_ITEMS_{'ADDED' if update.permits_additional else 'REMOVED'}")
    if original.additional is None and update.additional is not None:
        return at("ADDITIONAL_ITEMS_NARROWED")
    if original.additional is not None and update.additional is None:
        return at("ADDITIONAL_ITEMS_EXTENDED")
    return (yield from compare_optional(original.additional, update.additional))


def is_open(node: Node) -> bool:
    """Whether any other item is allowed."""
    if not node.permits_additional or node.additional is not None:
        return False
    return node.unevaluated is None or node.unevaluated.is_empty


def _schema_of_others(node: Node) -> Node | None:
    if node.additional is not None:
        return node.additional
    if not node.permits_additional or node.unevaluated is None or node.unevaluated.is_empty:
        return None
    return None if node.unevaluated.kind == FALSE else node.unevaluated
