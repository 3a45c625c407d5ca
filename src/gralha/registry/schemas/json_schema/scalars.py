"""Differences of strings and numbers, and of the limits of objects and arrays."""

from decimal import Decimal, InvalidOperation
from typing import Any

from gralha.registry.schemas.json_schema.differences import LIMITS
from gralha.registry.schemas.json_schema.model import Node
from gralha.registry.schemas.json_schema.steps import Found, at


def compare_limits(original: Node, update: Node) -> Found:
    """The differences of all limits."""
    found: Found = ()
    for keyword, (name, _) in LIMITS.items():
        old, new = original.limits.get(keyword), update.limits.get(keyword)
        if old is None and new is not None:
            found += at(f"{name}_ADDED", keyword)
        elif old is not None and new is None:
            found += at(f"{name}_REMOVED", keyword)
        elif old is not None and old < new:
            found += at(f"{name}_INCREASED", keyword)
        elif old is not None and old > new:
            found += at(f"{name}_DECREASED", keyword)
    return found


def compare_strings(original: Node, update: Node) -> Found:
    """The differences of two schemas of strings."""
    found = compare_limits(original, update)
    if original.pattern != update.pattern:
        if original.pattern is None:
            found += at("PATTERN_ADDED", "pattern")
        else:
            found += at("PATTERN_REMOVED" if update.pattern is None else "PATTERN_CHANGED", "pattern")
    return found


def compare_numbers(original: Node, update: Node) -> Found:
    """The differences of two schemas of numbers."""
    found = compare_limits(original, update)
    found += _compare_multiples(original.limits.get("multipleOf"), update.limits.get("multipleOf"))
    if original.is_integer != update.is_integer:
        found += at("TYPE_EXTENDED" if original.is_integer else "TYPE_NARROWED")
    return found


def _compare_multiples(old: Any, new: Any) -> Found:
    if old == new:
        return ()
    if old is None:
        return at("MULTIPLE_OF_ADDED", "multipleOf")
    if new is None:
        return at("MULTIPLE_OF_REMOVED", "multipleOf")
    if _is_multiple(new, old):
        return at("MULTIPLE_OF_EXPANDED", "multipleOf")
    return at("MULTIPLE_OF_REDUCED" if _is_multiple(old, new) else "MULTIPLE_OF_CHANGED", "multipleOf")


def _is_multiple(number: Any, divisor: Any) -> bool:
    try:
        return Decimal(number) % Decimal(divisor) == 0
    except InvalidOperation:
        return False
