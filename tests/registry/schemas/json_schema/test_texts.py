"""Canonical and normalized texts of JSON schemas, references, and texts that are no schemas."""

# ruff: noqa: E501 - schemas are read by their lines

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.registry.schemas import InvalidSchemaError, Reference, parse
from gralha.registry.schemas.json_schema.patterns import matches
from gralha.registry.schemas.json_schema.schema import parse_json_schema

CANONICAL = [
    ("{}", "{}"),
    (" true ", "true"),
    ("false", "false"),
    ('{ "type" : "object" , "x" : [ 1 , null ] }', '{"type":"object","x":[1,null]}'),
    ('{"b":1,"a":2}', '{"b":1,"a":2}'),
    ('{"maximum":1.0,"minimum":-0.50}', '{"maximum":1.0,"minimum":-0.50}'),
    ('{"maximum":1e10,"minimum":1E-2}', '{"maximum":1E+10,"minimum":0.01}'),
    ('{"maximum":12345678901234567890123456789012345678901234567890}',) * 2,
    ('{"maximum":0.1234567890123456789012345678901234567890123456789}',) * 2,
    ('{"title":"\\u00e9 \\u0001 \\" \\/ \\n"}', '{"title":"é \\u0001 \\" / \\n"}'),
    ('{"a":1,"a":2}', '{"a":2}'),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_the_canonical_text_keeps_the_order_and_all_digits(text: str, canonical: str) -> None:
    schema = parse("JSON", text)
    assert schema.canonical == canonical
    assert parse("JSON", canonical).canonical == canonical


def test_the_normal_form_is_sorted() -> None:
    schema = parse(
        "JSON",
        '{"type":"object","properties":{"b":{"type":"null"},"a":{"x":1,"title":""}},"required":["b","a"]}',
    )
    normal = schema.normalized()
    assert normal.canonical == (
        '{"properties":{"a":{"title":"","x":1},"b":{"type":"null"}},"required":["b","a"],"type":"object"}'
    )
    assert normal.normalized().canonical == normal.canonical
    assert schema.backward_problems(normal) == []


INVALID = [
    "",
    " ",
    "null",
    "1",
    '"object"',
    "[]",
    "{",
    '{"type":"object",}',
    "{} {}",
    "{'type':'object'}",
    '{"type":"unknown"}',
    '{"type":1}',
    '{"type":["string","unknown"]}',
    '{"type":[]}',
    '{"properties":[]}',
    '{"properties":{"a":1}}',
    '{"properties":{"a":null}}',
    '{"required":"a"}',
    '{"required":[1]}',
    '{"items":1}',
    '{"minLength":"1"}',
    '{"minLength":-1}',
    '{"minLength":1.5}',
    '{"maximum":true}',
    '{"multipleOf":0}',
    '{"multipleOf":-1}',
    '{"enum":1}',
    '{"anyOf":{}}',
    '{"anyOf":[]}',
    '{"allOf":[1]}',
    '{"not":1}',
    '{"additionalProperties":1}',
    '{"patternProperties":{"a":1}}',
    '{"dependencies":{"a":1}}',
    '{"uniqueItems":1}',
    '{"title":1}',
    '{"$ref":1}',
    '{"$ref":"#/definitions/missing"}',
    '{"$ref":"#missing"}',
    '{"$ref":"missing.json"}',
    '{"$ref":"http://127.0.0.1:1/never"}',
    '{"properties":{"a":{"$ref":"#/properties/a/b"}}}',
    '{"$ref":"http://[broken"}',
    '{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":1}}',
    '{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":{}}',
    '{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMaximum":5}',
]


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_schema_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        parse("JSON", text)
    assert str(refusal.value)


@pytest.mark.parametrize(
    ("address", "draft"),
    [
        (None, 7),
        ("http://json-schema.org/draft-04/schema#", 4),
        ("http://json-schema.org/schema", 4),
        ("http://json-schema.org/draft-06/schema", 6),
        ("https://json-schema.org/draft-07/schema#", 7),
        ("https://json-schema.org/draft/2019-09/schema", 2019),
        ("http://json-schema.org/draft/2020-12/schema#", 2020),
        ("http://example.com/schema", 7),
        (5, 7),
    ],
)
def test_the_address_of_a_draft_says_which_it_is(address: Any, draft: int) -> None:
    document = {"type": "string"} if address is None else {"$schema": address, "type": "string"}
    assert parse_json_schema(json.dumps(document), new=address != 5).draft == draft


def test_draft_4_has_boolean_limits_and_another_name_for_ids() -> None:
    start = '{"$schema":"http://json-schema.org/draft-04/schema#",'
    old = parse("JSON", start + '"id":"http://a/b","maximum":5,"exclusiveMaximum":true}')
    new = parse_json_schema(start + '"id":"http://a/b","maximum":4}')
    assert "MAXIMUM_DECREASED" in new.backward_problems(old)[0]
    assert new.root.id == "http://a/b"


def test_a_registered_schema_need_not_keep_todays_rules() -> None:
    text = '{"type":"string","minLength":-1}'
    assert parse("JSON", text, new=False).canonical == text
    with pytest.raises(InvalidSchemaError):
        parse("JSON", text)


def test_top_level_fields_are_the_properties_of_the_root() -> None:
    schema = parse("JSON", '{"properties":{"a":{"properties":{"b":{}}}}}')
    assert schema.has_top_level_field("a")
    assert not schema.has_top_level_field("b")
    assert not parse("JSON", "true").has_top_level_field("a")


def test_references_are_kept_and_ordered_in_the_normal_form() -> None:
    references = [Reference("b.json", "b", 2), Reference("a.json", "a", 1)]
    schema = parse("JSON", '{"$ref":"b.json"}', references, {"a.json": "{}", "b.json": '{"$ref":"a.json"}'})
    assert schema.references == tuple(references)
    assert schema.normalized().references == (references[1], references[0])
    assert schema.raw_or_format("any") == schema.canonical


@pytest.mark.parametrize(
    ("pattern", "name", "matching"),
    [
        ("^a", "ab", True),
        ("b$", "abc", False),
        (r"^\d+$", "12", True),
        (r"^\p{L}+$", "é", True),
        ("(?=x)x", "x", True),
    ],
)
def test_patterns_are_those_of_json_schema(pattern: str, name: str, matching: bool) -> None:
    assert matches(pattern, name) == matching


JAVA = ["(?i)abc", r"\Aabc\z", "[a-z]++", r"\Qa.b\E", r"[\w&&[^a]]", r"\h+", "(?>a)b", r"[\w-\.]"]


def with_pattern(pattern: str) -> list[dict[str, Any]]:
    return [{"pattern": pattern}, {"patternProperties": {pattern: {}}}]


@pytest.mark.parametrize("pattern", JAVA)
def test_patterns_of_java_are_kept(pattern: str) -> None:
    for document in with_pattern(pattern):
        schema = parse("JSON", json.dumps(document))
        assert schema.backward_problems(schema) == []
    update = {"patternProperties": {pattern: {}}, "properties": {"ABC": {"type": "string"}}}
    parse("JSON", json.dumps(update)).backward_problems(
        parse("JSON", json.dumps({"patternProperties": {pattern: {}}}))
    )


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "*a", "(?<n", "(" * 5000])
def test_patterns_of_no_dialect_are_refused(pattern: str) -> None:
    for document in with_pattern(pattern):
        with pytest.raises(InvalidSchemaError):
            parse("JSON", json.dumps(document))


def test_a_pattern_that_is_slow_elsewhere_answers_soon() -> None:
    old = '{"patternProperties":{"^(a+)+$":{"type":"string"}},"additionalProperties":false,"properties":{}}'
    new = json.loads(old)
    new["properties"]["a" * 60 + "b"] = {"type": "string"}
    assert parse("JSON", json.dumps(new)).backward_problems(parse("JSON", old)) == []


def nested(depth: int) -> str:
    return '{"not":' * depth + "{}" + "}" * depth


def test_deep_schemas_work_up_to_the_limit_of_nesting() -> None:
    schema = parse_json_schema(nested(199))
    assert schema.backward_problems(schema) == []
    assert schema.normalized().canonical == schema.canonical


@pytest.mark.parametrize("text", [nested(201), nested(100_000), "[" * 100_000, '{"not":' * 100_000])
def test_deeper_schemas_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_json_schema(text)


def test_references_in_a_circle_are_a_schema() -> None:
    text = '{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}'
    schema = parse_json_schema(text)
    assert schema.backward_problems(schema) == []


def test_a_schema_of_ten_megabytes_is_parsed() -> None:
    properties = {f"a_property_with_a_rather_long_name_{n}": {"type": "string"} for n in range(170_000)}
    text = json.dumps({"type": "object", "properties": properties})
    assert len(text) > 9_000_000
    schema = parse_json_schema(text)
    assert schema.backward_problems(schema) == []


@pytest.mark.parametrize(
    "text", ['{"maximum":' + "9" * 10_000 + "}", '{"title":"\\ud800"}', '{"maximum":NaN}']
)
def test_numbers_and_strings_that_cannot_be_stored_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_json_schema(text)


def test_a_number_with_a_huge_exponent_is_compared_soon() -> None:
    old = parse_json_schema('{"type":"number","multipleOf":1e999999,"maximum":1e999999}', new=False)
    new = parse_json_schema('{"type":"number","multipleOf":3,"maximum":1}', new=False)
    assert "MULTIPLE_OF_CHANGED" in new.backward_problems(old)[1]


KEYWORDS = [
    "type",
    "properties",
    "items",
    "allOf",
    "anyOf",
    "not",
    "$ref",
    "required",
    "enum",
    "$defs",
    "maximum",
    "$id",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["string", "object", "#", "#/properties/a", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=500, deadline=None)
@given(VALUES, VALUES, st.booleans())
def test_any_document_is_a_schema_or_invalid(first: Any, second: Any, new: bool) -> None:
    schemas = []
    for document in (first, second):
        try:
            schemas.append(parse_json_schema(json.dumps(document), new=new))
        except InvalidSchemaError:
            continue
    for old in schemas:
        assert old.backward_problems(old) == []
        assert old.normalized().normalized().canonical == old.normalized().canonical
        for update in schemas:
            update.backward_problems(old)


@settings(max_examples=200, deadline=None)
@given(st.text() | st.text(alphabet='{}[]":,/*\\ typefixdrcos0123'))
def test_any_text_is_a_schema_or_invalid(text: str) -> None:
    try:
        parse_json_schema(text)
    except InvalidSchemaError:
        return
