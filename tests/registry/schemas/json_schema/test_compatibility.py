"""Our verdicts on JSON schemas are those of the tables."""

# ruff: noqa: E501 - schemas are read by their lines

import json
from typing import Any

import pytest

from gralha.registry.schemas import LENIENT, Reference, parse
from gralha.registry.schemas.json_schema.compatibility import differences
from gralha.registry.schemas.json_schema.differences import COMPATIBLE, COMPATIBLE_IF_LENIENT
from gralha.registry.schemas.json_schema.matching import largest_matching
from gralha.registry.schemas.json_schema.schema import JsonSchema, parse_json_schema
from tests.registry.schemas.json_schema.cases import (
    CASES,
    NEWER_CASES,
    OLDER_CASES,
    REFERENCES,
    Case,
)
from tests.registry.schemas.json_schema.kinds import KINDS, pairs

DRAFTS = {
    "draft 7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def schema_of(document: Any, draft: str) -> JsonSchema:
    if isinstance(document, dict):
        document = {"$schema": DRAFTS[draft], **document}
    return parse_json_schema(json.dumps(document))


def found(original: Any, update: Any, draft: str, policy: str = "STRICT") -> set[str]:
    both = schema_of(original, draft).root, schema_of(update, draft).root
    return {f"{difference.kind} {difference.pointer()}" for difference in differences(*both, policy)}


@pytest.mark.parametrize("draft", ["draft 7", "2020-12"])
@pytest.mark.parametrize("case", [*CASES, *REFERENCES], ids=lambda case: case.name)
def test_a_case_has_its_differences(case: Case, draft: str) -> None:
    assert found(case.original, case.update, draft) == case.differences


@pytest.mark.parametrize("case", OLDER_CASES, ids=lambda case: case.name)
def test_a_case_of_older_drafts_has_its_differences(case: Case) -> None:
    assert found(case.original, case.update, "draft 7") == case.differences


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
@pytest.mark.parametrize("case", NEWER_CASES, ids=lambda case: case.name)
def test_a_case_of_newer_drafts_has_its_differences(case: Case, draft: str) -> None:
    assert found(case.original, case.update, draft) == case.differences


@pytest.mark.parametrize("draft", ["draft 7", "2020-12"])
@pytest.mark.parametrize(("original", "update", "compatible"), pairs())
def test_kinds_change_into_each_other_as_the_matrix_says(
    original: str, update: str, compatible: bool, draft: str
) -> None:
    old, new = (schema_of({"properties": {"a": KINDS[kind]}}, draft) for kind in (original, update))
    assert (not new.backward_problems(old)) == compatible


@pytest.mark.parametrize("case", [*CASES, *OLDER_CASES, *REFERENCES], ids=lambda case: case.name)
def test_the_compatible_kinds_decide(case: Case) -> None:
    old, new = schema_of(case.original, "draft 7"), schema_of(case.update, "draft 7")
    kinds = {difference.split()[0] for difference in case.differences}
    assert (not new.templates(old)) == (kinds <= COMPATIBLE)
    assert all("description" in problem and "''" not in problem for problem in new.backward_problems(old))


def test_there_are_enough_cases() -> None:
    assert len(CASES) + len(REFERENCES) + len(OLDER_CASES) + len(NEWER_CASES) + len(pairs()) >= 300


LENIENT_CASES = [
    ({"properties": {"a": {}}}, {"properties": {"a": {}, "b": {"type": "string"}}}, True),
    ({"type": "object"}, {"type": "object", "additionalProperties": False}, True),
    ({"type": "object"}, {"type": "object", "additionalProperties": {"type": "string"}}, True),
    (
        {"properties": {"a": {}, "b": {}}, "additionalProperties": False},
        {"properties": {"a": {}}, "additionalProperties": False},
        True,
    ),
    ({"properties": {"a": {}}}, {"properties": {"a": {}, "b": {"type": "null"}}, "required": ["b"]}, False),
    ({"type": "string"}, {"type": "number"}, False),
]


@pytest.mark.parametrize(("original", "update", "compatible"), LENIENT_CASES)
def test_the_lenient_policy_allows_more(original: Any, update: Any, compatible: bool) -> None:
    old, new = schema_of(original, "draft 7"), schema_of(update, "draft 7")
    assert new.templates(old)
    assert (not new.templates(old, LENIENT)) == compatible
    assert COMPATIBLE < COMPATIBLE_IF_LENIENT


def test_a_problem_has_confluents_words() -> None:
    old = parse("JSON", '{"type":"object","properties":{"a":{"type":"string"}}}')
    new = parse("JSON", '{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"null"}}}')
    assert new.backward_problems(old) == [
        (
            '{errorType:"TYPE_CHANGED", description:"A type at path \'#/properties/a\' is different between the '
            "new schema and the old schema'}"
        ),
        (
            '{errorType:"OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", description:"The new schema has an open '
            "content model and has a property or item at path '#/properties/b' which is missing in the old schema'}"
        ),
    ]


ITEM = '{"$id":"http://shop/item.json","type":"object","properties":{"price":{"type":"number"}}}'
CART = '{"type":"object","properties":{"item":{"$ref":"%s"}}}'
REFERENCE = [Reference("item.json", "items", 1)]


@pytest.mark.parametrize("address", ["item.json", "item.json#", "./item.json", "http://shop/item.json"])
def test_a_reference_is_found_by_its_name_or_its_id(address: str) -> None:
    old = parse("JSON", CART % address, REFERENCE, {"item.json": ITEM})
    new = parse("JSON", CART % address, REFERENCE, {"item.json": ITEM.replace("number", "string")})
    (problem,) = new.backward_problems(old)
    assert "'#/properties/item/properties/price'" in problem


def test_a_reference_is_relative_to_the_id_of_the_schema() -> None:
    cart = (CART % "item.json#/properties/price").replace("{", '{"$id":"http://shop/cart.json",', 1)
    schema = parse("JSON", cart, REFERENCE, {"item.json": ITEM})
    assert schema.canonical == cart


def test_references_refer_to_each_other() -> None:
    item = '{"properties":{"tax":{"$ref":"tax.json#/definitions/rate"}}}'
    resolved = {"tax.json": '{"definitions":{"rate":{"type":"number"}}}', "item.json": item}
    old = parse("JSON", CART % "item.json", REFERENCE, resolved)
    resolved = resolved | {"tax.json": '{"definitions":{"rate":{"type":"string"}}}'}
    new = parse("JSON", CART % "item.json", REFERENCE, resolved)
    (problem,) = new.backward_problems(old)
    assert "'#/properties/item/properties/tax'" in problem


def choice_of_lists(kind: str) -> dict[str, Any]:
    """Definitions that each choose among all of them."""
    names = [f"T{n}" for n in range(12)]
    choice = {"oneOf": [{"$ref": f"#/definitions/{name}"} for name in names]}
    definitions = {
        name: {
            "type": "object",
            "properties": {"next": choice, f"own{name}": {"type": "string"}},
            "required": [f"own{name}"],
        }
        for name in names
    }
    definitions["T11"]["properties"]["id"] = {"type": kind}  # type: ignore[index]
    return {"definitions": definitions, **choice}


def test_definitions_that_choose_among_each_other_are_compared() -> None:
    assert found(choice_of_lists("string"), choice_of_lists("string"), "draft 7") == set()
    problems = schema_of(choice_of_lists("number"), "draft 7").backward_problems(
        schema_of(choice_of_lists("string"), "draft 7")
    )
    assert "COMBINED_TYPE_SUBSCHEMAS_CHANGED" in problems[0]


def two_ways(first: str, second: str) -> dict[str, Any]:
    """A cycle of definitions behind a choice, where an assumption about the cycle would hide a change."""
    return {
        "definitions": {
            "A": {"properties": {"id": {"type": first}, "b": {"$ref": "#/definitions/B"}}},
            "B": {"properties": {"id": {"type": second}, "a": {"$ref": "#/definitions/A"}}},
        },
        "oneOf": [{"$ref": "#/definitions/B"}, {"$ref": "#/definitions/A"}],
    }


def test_an_assumption_about_a_cycle_hides_no_change() -> None:
    old = schema_of(two_ways("integer", "boolean"), "draft 7")
    assert schema_of(two_ways("boolean", "boolean"), "draft 7").backward_problems(old)
    assert schema_of(two_ways("integer", "boolean"), "draft 7").backward_problems(old) == []


def test_chains_of_definitions_that_are_deeper_than_the_stack_are_compared() -> None:
    def chain(kind: str) -> dict[str, Any]:
        definitions: dict[str, Any] = {
            f"d{n}": {"type": "array", "items": {"$ref": f"#/definitions/d{n + 1}"}} for n in range(3000)
        }
        return {"definitions": definitions | {"d3000": {"type": kind}}, "$ref": "#/definitions/d0"}

    assert found(chain("string"), chain("string"), "draft 7") == set()
    (problem,) = found(chain("string"), chain("number"), "draft 7")
    assert problem.startswith("TYPE_CHANGED #/items/items/items")


def test_too_large_a_comparison_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gralha.registry.schemas.json_schema.compatibility.STEPS_MAX", 100)
    choices = [{"anyOf": [{"const": [n, m]} for n in range(20)]} for m in range(2)]
    (problem,) = schema_of(choices[1], "draft 7").backward_problems(schema_of(choices[0], "draft 7"))
    assert "too large" in problem


def test_other_formats_are_not_read() -> None:
    assert parse("JSON", "{}").backward_problems(parse("AVRO", '"int"')) == [
        "Incompatible because of different schema type"
    ]


@pytest.mark.parametrize(
    ("edges", "size"),
    [
        ({}, 0),
        ({0: [0]}, 1),
        ({0: [0, 1], 1: [0]}, 2),
        ({0: [0], 1: [0]}, 1),
        ({0: [0, 1], 1: [0, 2], 2: [0]}, 3),
        ({0: [1], 1: [1, 2], 2: [0, 2], 3: [0]}, 3),
        ({0: [0, 1], 1: [0, 1], 2: [0, 1]}, 2),
        ({n: [n, n + 1] for n in range(30)} | {30: [0]}, 31),
    ],
)
def test_a_matching_is_as_large_as_it_can_be(edges: dict[int, list[int]], size: int) -> None:
    matching = largest_matching(len(edges), edges)
    assert len(matching) == size
    assert len(set(matching.values())) == size
    assert all(second in edges[first] for first, second in matching.items())


def test_many_compatible_differences_hide_no_incompatible_one() -> None:
    many = {f"p{n}": {"type": "string"} for n in range(3000)}
    old = schema_of({"additionalProperties": False, "properties": {"z": {"type": "string"}}}, "draft 7")
    new = schema_of({"additionalProperties": False, "properties": many | {"z": {"type": "null"}}}, "draft 7")
    (problem,) = new.backward_problems(old)
    assert "'#/properties/z'" in problem
