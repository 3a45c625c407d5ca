"""Equality of Avro types as Java decides it when a name is defined twice: doc and aliases do not count."""

import math

from gralha.registry.schemas.avro.model import NO_DEFAULT, Field, Type


def equal(first: Type, second: Type) -> bool:
    """Whether two definitions of the same name are the same."""
    seen: set[tuple[int, int]] = set()
    pending = [(first, second)]
    while pending:
        left, right = pending.pop()
        if left is right or (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        if _facts(left) != _facts(right) or not _same_fields(left, right):
            return False
        pending.extend(zip(left.inner, right.inner, strict=True))
        pending.extend((a.type, b.type) for a, b in zip(left.fields, right.fields, strict=True))
    return True


def _facts(one: Type) -> tuple[object, ...]:
    # The name of an unresolved type is a property of it.
    name = None if one.unresolved is not None else one.full_name
    return (
        one.kind,
        name,
        one.unresolved,
        one.symbols,
        one.size,
        len(one.inner),
        len(one.fields),
        _typed(one.properties),
    )


def _same_fields(left: Type, right: Type) -> bool:
    return all(_field_facts(a) == _field_facts(b) for a, b in zip(left.fields, right.fields, strict=True))


def _field_facts(field: Field) -> tuple[object, ...]:
    default = NO_DEFAULT if field.default is NO_DEFAULT else _typed(field.default)
    return (field.name, default, field.order, _typed(field.properties))


def _typed(value: object) -> object:
    """The value in a form in which 1, 1.0 and true differ, as they do in Java."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return (type(value), value)
