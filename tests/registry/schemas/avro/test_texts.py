"""Canonical and normalized texts of Avro schemas, references, and texts that are no schemas."""

import json

import pytest

from gralha.registry.schemas import InvalidSchemaError, Reference, parse
from gralha.registry.schemas.avro.schema import parse_avro
from tests.apache.avro.oracle import AvroOracle

VALID = [
    '"string"',
    '{"type":"string"}',
    ' { "type" : "int" , "a":{"z":1,"b":[true,null]} } ',
    '{"type":"int","logicalType":"date"}',
    '{"type":"string","default":"x","order":1}',
    (
        '{"type":"record","name":"A","doc":"d","p":1,"aliases":["B","c.D"],"fields":[{"name":"x","zz":null,'
        '"type":{"type":"enum","name":"E","aliases":["Z"],"symbols":["a"],"doc":"k","default":"a","lp":[1,2.5e10]},'
        '"aliases":["q"],"doc":""},{"name":"n","type":["null","A"],"default":null}]}'
    ),
    (
        '{"type":"record","name":"n.A","fields":[{"name":"x","type":{"type":"record","name":"B","namespace":"",'
        '"fields":[]}},{"name":"y","type":"B"}]}'
    ),
    (
        '{"type":"record","name":"A","namespace":"n.m","fields":[{"name":"x","type":{"type":"fixed","name":"F",'
        '"size":2}},{"name":"y","type":"F"},{"name":"z","type":"n.m.F"}]}'
    ),
    (
        '{"type":"record","name":"A","fields":[{"name":"x","type":"B"},{"name":"y","type":'
        '{"type":"fixed","name":"B","size":3}}]}'
    ),
    '{"type":"record","name":"A","fields":[{"name":"x","type":{"type":"A"}}]}',
    (
        '{"type":"record","name":"A","fields":[{"name":"x","type":{"type":"record","name":"B","fields":[]}},'
        '{"name":"y","type":{"type":"record","name":"B","doc":"x","fields":[]}}]}'
    ),
    '["null",{"type":"array","items":"int"},{"type":"map","values":"A"},{"type":"record","name":"A","fields":[]}]',
    (
        '{"type":"record","name":"A","fields":[{"name":"a","type":"double","default":"NaN"},'
        '{"name":"b","type":"double","default":1e7},{"name":"c","type":"double","default":0.0001},'
        '{"name":"d","type":"float","default":1},{"name":"f","type":"double","default":1.1234567890123456789},'
        '{"name":"g","type":"double","default":-123456.789},{"name":"h","type":"double","default":0.001},'
        '{"name":"i","type":"double","default":-0.0},{"name":"j","type":"float","default":"1.5f"}]}'
    ),
    '{"type":"record","name":".A","fields":[]}',
    '{"type":"record","name":"A","fields":[{"name":"x","type":"int","aliases":["1 2"]}]}',
    '{"type":"record","name":"int","namespace":"n","fields":[{"name":"x","type":["null","n.int"]}]}',
    '{"type":"array","items":{"type":"enum","name":"E","symbols":[]}}',
    '{"type":"enum","name":"E","symbols":["a"],"default":1}',
    '{"type":"error","name":"A","fields":[]}',
    '{"type":"record","name":"A","fields":[{"name":"x","type":"int","order":"DESCENDING"}]}',
    '/* first */ {"type":"int" // second\n}',
    "[]",
    '{"type":"record","name":"A","doc":5,"namespace":7,"fields":[{"name":"a","type":"int","doc":3}]}',
    '{"type":"record","name":"A","doc":"é \\u00e9 \\u0001 \\u001f \\n \\\\u001f \\ud83d\\ude00","fields":[]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":["int","string"],"default":"x"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"map","values":"long"},"default":{"k":1}}]}',
    (
        '{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"record","name":"B","fields":['
        '{"name":"x","type":"int","default":1},{"name":"y","type":"string"}]},"default":{"y":""}}]}'
    ),
    '{"type":"record","name":"A","type":"record","fields":[]}',
]

INVALID = [
    "",
    " ",
    "string",
    "{",
    "null",
    "12",
    "true",
    "{}",
    "[1]",
    '{"type":"int",}',
    '{"type":"int"} trailing',
    '{"type":"int"} {"type":"int"}',
    "{'type':\"int\"}",
    '{"type":"int","x":NaN}',
    '{"type":{"type":"string"}}',
    '{"type":["null","string"]}',
    '{"type":"unknown"}',
    '"unknown"',
    '{"type":"record","name":"A"}',
    '{"type":"record","fields":[]}',
    '{"type":"record","name":"","fields":[]}',
    '{"type":"record","name":"1A","fields":[]}',
    '{"type":"record","name":"A-B","fields":[]}',
    '{"type":"record","name":"é","fields":[]}',
    '{"type":"record","name":"A.","fields":[]}',
    '{"type":"record","name":"A","namespace":"a..b","fields":[]}',
    '{"type":"record","name":"A","aliases":["1"],"fields":[]}',
    '{"type":"record","name":"A","aliases":"B","fields":[]}',
    '{"type":"record","name":"A","aliases":[1],"fields":[]}',
    '{"type":"record","name":"int","fields":[]}',
    '{"type":"record","name":"A","fields":{}}',
    '{"type":"record","name":"A","fields":[1]}',
    '{"type":"record","name":"A","fields":[{"name":"a"}]}',
    '{"type":"record","name":"A","fields":[{"type":"int"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a b","type":"int"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"Q"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","order":"x"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","order":1}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":"1"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":1.0}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":2147483648}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":null}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":true}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"double","default":"x"}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":["null","string"],"default":1}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":{"type":"array","items":"int"},"default":["x"]}]}',
    '{"type":"record","name":"A","fields":[{"name":"a","type":"A","default":{}}]}',
    (
        '{"type":"record","name":"A","fields":[{"name":"x","type":"B","default":"abc"},{"name":"y","type":'
        '{"type":"fixed","name":"B","size":3}}]}'
    ),
    '{"type":"array"}',
    '{"type":"map"}',
    '{"type":"array","items":"A","x":{"type":"record","name":"A"}}',
    '{"type":"fixed","name":"A"}',
    '{"type":"fixed","name":"A","size":-1}',
    '{"type":"fixed","name":"A","size":"1"}',
    '{"type":"fixed","name":"A","size":2.0}',
    '{"type":"fixed","name":"A","size":2147483648}',
    '{"type":"enum","name":"E"}',
    '{"type":"enum","name":"E","symbols":"a"}',
    '{"type":"enum","name":"E","symbols":["a","a"]}',
    '{"type":"enum","name":"E","symbols":["a-b"]}',
    '{"type":"enum","name":"E","symbols":[1]}',
    '{"type":"enum","name":"E","symbols":["a"],"default":"b"}',
    '["int","int"]',
    '["int",["string"]]',
    '[{"type":"record","name":"A","fields":[]},"A"]',
    '[{"type":"array","items":"int"},{"type":"array","items":"string"}]',
    '["A",{"type":"record","name":"A","fields":[]},{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]}]',
]


@pytest.mark.parametrize("text", VALID)
def test_a_valid_schema_is_written_as_in_java(text: str, java: AvroOracle) -> None:
    schema, theirs = parse("AVRO", text), java.parse(text)
    assert theirs.error is None
    assert schema.canonical == theirs.canonical


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_schema_is_refused_as_in_java(text: str, java: AvroOracle) -> None:
    assert java.parse(text).error is not None
    with pytest.raises(InvalidSchemaError) as refusal:
        parse("AVRO", text)
    assert str(refusal.value)


NORMAL = [
    ('{"type":"string"}', '"string"'),
    ('{"type":"int","b":1,"a":{"d":1,"c":2}}', '{"type":"int","a":{"c":2,"d":1},"b":1}'),
    (
        '{"type":"bytes","scale":2,"x":1,"precision":4,"logicalType":"decimal"}',
        '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2,"x":1}',
    ),
    ('{"type":"int","x":1,"logicalType":"date","a":2}', '{"type":"int","logicalType":"date","a":2,"x":1}'),
    ('{"type":"int","x":1,"logicalType":"wrong","a":2}', '{"type":"int","a":2,"logicalType":"wrong","x":1}'),
    (
        '{"type":"record","name":"A","doc":"","aliases":["z","b"],"z":1,"y":2,"fields":[]}',
        '{"type":"record","name":"A","fields":[],"y":2,"z":1,"aliases":["b","z"]}',
    ),
    (
        '{"type":"record","name":"A","fields":[{"name":"a","type":"double","default":1,"aliases":["q","p"]}]}',
        '{"type":"record","name":"A","fields":[{"name":"a","type":"double","default":1.0,"aliases":["p","q"]}]}',
    ),
    (
        '{"type":"record","name":"A","fields":[{"name":"a","type":"float","default":0.1}]}',
        '{"type":"record","name":"A","fields":[{"name":"a","type":"float","default":0.1}]}',
    ),
    (
        '{"fields":[{"type":"int","name":"a"}],"name":"n.A","type":"record"}',
        '{"type":"record","name":"A","namespace":"n","fields":[{"name":"a","type":"int"}]}',
    ),
]


@pytest.mark.parametrize(("text", "normal"), NORMAL)
def test_a_normal_form_is_sorted(text: str, normal: str) -> None:
    assert parse("AVRO", text).normalized().canonical == normal


ADDRESS = '{"type":"record","name":"Address","namespace":"shop","fields":[{"name":"street","type":"string"}]}'
CUSTOMER = (
    '{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"address","type":"Address"},'
    '{"name":"other","type":["null","shop.Address"]}]}'
)
ORDER = '{"type":"record","name":"Order","fields":[{"name":"customer","type":"shop.Customer"}]}'
REFERENCES = [Reference("shop.Customer", "customers", 2), Reference("shop.Address", "addresses", 1)]


def test_a_reference_is_a_name_in_the_text(java: AvroOracle) -> None:
    references = [Reference("shop.Address", "addresses", 1)]
    schema = parse("AVRO", CUSTOMER, references, {"shop.Address": ADDRESS})
    assert schema.references == tuple(references)
    assert schema.canonical == java.parse(CUSTOMER, ADDRESS).canonical
    assert json.loads(schema.canonical)["fields"][0]["type"] == "Address"


def test_the_resolved_text_has_the_definitions_of_references(java: AvroOracle) -> None:
    schema = parse("AVRO", ORDER, REFERENCES, {"shop.Address": ADDRESS, "shop.Customer": CUSTOMER})
    resolved = schema.raw_or_format("resolved")
    assert resolved == java.parse(ORDER, ADDRESS, CUSTOMER).resolved
    assert parse("AVRO", resolved).canonical == resolved
    assert schema.raw_or_format("") == schema.raw_or_format("unknown") == schema.canonical


def test_the_normal_form_keeps_references_and_orders_them() -> None:
    schema = parse(
        "AVRO", ORDER, [*REFERENCES, REFERENCES[0]], {"shop.Address": ADDRESS, "shop.Customer": CUSTOMER}
    )
    assert schema.normalized().references == (REFERENCES[1], REFERENCES[0])
    assert schema.normalized().canonical == schema.canonical


def test_a_reference_that_is_not_resolved_is_no_schema() -> None:
    with pytest.raises(InvalidSchemaError, match="Address' is not defined"):
        parse("AVRO", CUSTOMER)


def test_a_change_inside_of_a_reference_counts() -> None:
    old = parse("AVRO", CUSTOMER, REFERENCES[1:], {"shop.Address": ADDRESS})
    new = parse("AVRO", CUSTOMER, REFERENCES[1:], {"shop.Address": ADDRESS.replace('"street"', '"road"')})
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in new.backward_problems(old)[0]


def test_a_registered_schema_need_not_have_valid_defaults_or_ascii_names() -> None:
    text = '{"type":"record","name":"é","fields":[{"name":"a","type":"int","default":"x"}]}'
    assert parse("AVRO", text, new=False).canonical == text
    with pytest.raises(InvalidSchemaError):
        parse("AVRO", text.replace("é", "A"))


def test_a_registered_schema_still_has_letters_in_its_names() -> None:
    with pytest.raises(InvalidSchemaError):
        parse("AVRO", '{"type":"record","name":"A-B","fields":[]}', new=False)


def test_a_top_level_field_is_a_field_of_the_record() -> None:
    schema = parse("AVRO", '{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]}')
    assert schema.has_top_level_field("x")
    assert not schema.has_top_level_field("y")
    assert not parse("AVRO", '"int"').has_top_level_field("x")


def nested(depth: int) -> str:
    return '{"type":"array","items":' * depth + '"int"' + "}" * depth


def test_deep_schemas_work_up_to_the_limit_of_nesting(java: AvroOracle) -> None:
    text = nested(199)
    schema = parse_avro(text)
    assert schema.canonical == java.parse(text).canonical
    assert schema.normalized().canonical == text
    assert schema.backward_problems(schema) == []


@pytest.mark.parametrize("text", [nested(201), nested(100_000), "[" * 100_000, '{"type":' * 100_000])
def test_deeper_schemas_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_avro(text)


def test_a_record_whose_names_nest_deeper_than_its_text_is_refused() -> None:
    records = [
        f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":"R{n + 1}"}}]}}' for n in range(5000)
    ]
    with pytest.raises(InvalidSchemaError, match="too deeply"):
        parse_avro(f'[{",".join(records)},{{"type":"record","name":"R5000","fields":[]}}]')


def test_a_schema_of_ten_megabytes_is_parsed() -> None:
    fields = [{"name": f"field_{n}", "type": ["null", "string"], "default": None} for n in range(150_000)]
    text = json.dumps({"type": "record", "name": "Big", "fields": fields})
    assert len(text) > 9_000_000
    schema = parse_avro(text)
    assert schema.backward_problems(schema) == []


@pytest.mark.parametrize(
    "text", ['{"type":"int","x":' + "9" * 10_000 + "}", '{"type":"int","x":"\\ud800"}', '"\ud800"']
)
def test_numbers_and_strings_that_cannot_be_stored_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_avro(text)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="XML"):
        parse("XML", "<a/>")


@pytest.mark.parametrize(
    "text", ["/*a" * 300_000, '{"\\"' * 300_000, '/ "' + '\\"' * 300_000, "//\n" * 300_000]
)
def test_comments_and_strings_without_an_end_are_refused_soon(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_avro(text)


def test_a_resolved_text_that_would_be_too_deep_is_refused() -> None:
    resolved = {
        f"R{n}": f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":"R{n - 1}"}}]}}'
        for n in range(1, 900)
    }
    resolved = {"R0": '{"type":"record","name":"R0","fields":[]}', **resolved}
    schema = parse_avro('{"type":"array","items":"R899"}', (), resolved)
    assert schema.canonical == '{"type":"array","items":"R899"}'
    with pytest.raises(InvalidSchemaError, match="too deeply"):
        schema.raw_or_format("resolved")
