"""The differences of two schemas, in words."""

import json

from gralha.registry.differences import differences


def record(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


ID = {"name": "id", "type": "int"}


def test_avro() -> None:
    older = record(ID, {"name": "note", "type": ["null", "string"], "default": None})
    address = {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]}
    newer = record(
        {"name": "id", "type": "long"},
        {"name": "address", "type": ["null", address], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "aliases": ["time"]},
    )
    assert differences("AVRO", older, newer) == [
        "field id changed from int to long",
        "field address was added: null or record Address, default null",
        "field address.city was added: string",
        "field at was added: long (timestamp-millis), also called time",
        "field note was removed (it was null or string, default null)",
    ]
    assert differences("AVRO", older, older) == []
    assert differences("AVRO", '"int"', '"long"') == ["the schema changed from int to long"]


def test_enums_and_collections() -> None:
    def schema(symbols: list[str], items: object) -> str:
        colour = {"type": "enum", "name": "Colour", "symbols": symbols}
        return record(
            {"name": "colour", "type": colour}, {"name": "all", "type": {"type": "array", "items": items}}
        )

    assert differences("AVRO", schema(["RED", "BLUE"], "int"), schema(["RED", "GREEN"], "long")) == [
        "symbol GREEN of colour was added: a symbol",
        "field all changed from array of int to array of long",
        "symbol BLUE of colour was removed (it was a symbol)",
    ]


def test_json_schema() -> None:
    older = {"type": "object", "properties": {"id": {"type": "integer"}, "tags": {"type": "array"}}}
    newer = {
        "type": "object",
        "properties": {"id": {"type": "number", "minimum": 0}, "tags": {"type": "array"}, "x": True},
        "required": ["id"],
        "additionalProperties": False,
    }
    assert differences("JSON", json.dumps(older), json.dumps(newer)) == [
        "the schema changed from object to object, additionalProperties false",
        "property id changed from integer to number, minimum 0, required",
        "property x was added: anything",
    ]


def test_protobuf() -> None:
    older = 'syntax = "proto3";\n\nmessage Order {\n  int32 id = 1;\n  string note = 2;\n}\n'
    newer = (
        'syntax = "proto3";\n\nmessage Order {\n  int64 id = 1;\n  repeated Line lines = 3;\n\n'
        "  message Line {\n    string what = 1;\n  }\n  enum State {\n    NEW = 0;\n  }\n}\n"
    )
    assert differences("PROTOBUF", older, newer) == [
        "field Order.id changed from int32 with number 1 to int64 with number 1",
        "field Order.lines was added: repeated Line with number 3",
        "message Order.Line was added: a message",
        "field Order.Line.what was added: string with number 1",
        "enum Order.State was added: an enum",
        "field Order.State.NEW was added: value with number 0",
        "field Order.note was removed (it was string with number 2)",
    ]
