"""Random schemas and data: what a compatible update says about data is what a validator says.

Only keywords that Confluent compares are in the schemas. It does not compare `contains`, `propertyNames`,
conditions and the schemas of patterns, and it takes a longer `oneOf` for compatible.
"""

import json
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gralha.registry.schemas.json_schema.schema import parse_json_schema

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS: list[Any] = ["", "aa", "b", 0, 1, 5, 1.5, True, None]
DATA = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


def limited(kind: str, *keywords: str) -> st.SearchStrategy[dict[str, Any]]:
    """A type with some of its limits."""
    limits = {name: st.integers(0, 3) for name in keywords}
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=limits)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of every content model."""
    return st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner | st.booleans(),
            "maxProperties": st.integers(0, 3),
        },
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Arrays."""
    optional = {"items": inner, "minItems": st.integers(0, 2), "uniqueItems": st.booleans()}
    return st.fixed_dictionaries({"type": st.just("array")}, optional=optional)


SCHEMAS = st.recursive(
    st.one_of(
        limited("string", "minLength", "maxLength"),
        limited("integer", "minimum", "maximum"),
        limited("number", "exclusiveMinimum", "exclusiveMaximum"),
        st.sampled_from(
            [{"type": "boolean"}, {"type": "null"}, {}, True, False, {"type": ["string", "null"]}]
        ),
        st.lists(st.sampled_from(["", "aa", 1, None]), min_size=1, max_size=3, unique=True).map(
            lambda values: {"enum": values}
        ),
    ),
    lambda inner: st.one_of(
        objects(inner),
        objects(inner),
        arrays(inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"allOf": parts}),
    ),
    max_leaves=6,
)


@st.composite
def changed(draw: st.DrawFn, schema: Any) -> Any:
    """The schema with a few differences."""
    if not isinstance(schema, dict) or draw(st.integers(0, 9)) == 0:
        return draw(SCHEMAS) if draw(st.integers(0, 4)) == 0 else schema
    copy = dict(schema)
    for keyword in list(copy):
        if keyword in ("additionalProperties", "items"):
            copy[keyword] = draw(changed(copy[keyword]))
        elif keyword == "properties":
            kept = [name for name in copy[keyword] if draw(st.integers(0, 4))]
            copy[keyword] = {name: draw(changed(copy[keyword][name])) for name in kept}
        elif keyword in ("anyOf", "allOf"):
            copy[keyword] = [draw(changed(part)) for part in copy[keyword]]
        elif isinstance(copy[keyword], int) and not isinstance(copy[keyword], bool):
            copy[keyword] = draw(st.integers(0, 3))
        elif keyword != "type" and draw(st.integers(0, 3)) == 0:
            del copy[keyword]
    return copy


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """A schema and an update of it."""
    schema = draw(SCHEMAS)
    return schema, draw(changed(schema))


DRAFTS = ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@settings(max_examples=500, deadline=None, suppress_health_check=SLOW)
@given(pairs(), st.lists(DATA, min_size=8, max_size=8), st.sampled_from(DRAFTS))
def test_a_compatible_update_accepts_the_data_of_the_original(
    pair: tuple[Any, Any], data: list[Any], draft: str
) -> None:
    both = [{"$schema": draft, **one} if isinstance(one, dict) else one for one in pair]
    old, new = (parse_json_schema(json.dumps(one)) for one in both)
    assume(not new.backward_problems(old))
    for value in [*SCALARS, *data]:
        if jsonschema_rs.is_valid(both[0], value):
            assert jsonschema_rs.is_valid(both[1], value), f"{both[0]} -> {both[1]}: {value}"
