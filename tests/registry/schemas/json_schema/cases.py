"""Pairs of JSON schemas and the differences between them.

A case is the original, the update, and all differences as "KIND path". Each case holds for draft 7 and for 2020-12,
unless it is in a list of its own.
"""

# ruff: noqa: E501 - a table is read by its lines

from typing import Any, NamedTuple


class Case(NamedTuple):
    """An original, an update, and the differences between them."""

    name: str
    original: Any
    update: Any
    differences: set[str]


def _case(name: str, original: Any, update: Any, *differences: str) -> Case:
    return Case(name, original, update, set(differences))


STRING, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
A = {"a": STRING}
AB = {"a": STRING, "b": NUMBER}
OPEN = {"type": "object"}
CLOSED = {"type": "object", "additionalProperties": False}
OF_STRINGS = {"type": "object", "additionalProperties": STRING}
OF_NUMBERS = {"type": "object", "additionalProperties": NUMBER}
ARRAY = {"type": "array"}

LIMIT_NAMES = {
    "maxLength": ("string", "MAX_LENGTH"),
    "minLength": ("string", "MIN_LENGTH"),
    "maximum": ("number", "MAXIMUM"),
    "minimum": ("number", "MINIMUM"),
    "exclusiveMaximum": ("number", "EXCLUSIVE_MAXIMUM"),
    "exclusiveMinimum": ("number", "EXCLUSIVE_MINIMUM"),
    "maxProperties": ("object", "MAX_PROPERTIES"),
    "minProperties": ("object", "MIN_PROPERTIES"),
    "maxItems": ("array", "MAX_ITEMS"),
    "minItems": ("array", "MIN_ITEMS"),
}

LIMITS = [
    case
    for keyword, (kind, name) in LIMIT_NAMES.items()
    for case in (
        _case(f"{keyword} is added", {"type": kind}, {"type": kind, keyword: 5}, f"{name}_ADDED #/{keyword}"),
        _case(
            f"{keyword} is removed", {"type": kind, keyword: 5}, {"type": kind}, f"{name}_REMOVED #/{keyword}"
        ),
        _case(
            f"{keyword} grows",
            {"type": kind, keyword: 5},
            {"type": kind, keyword: 6},
            f"{name}_INCREASED #/{keyword}",
        ),
        _case(
            f"{keyword} shrinks",
            {"type": kind, keyword: 5},
            {"type": kind, keyword: 4},
            f"{name}_DECREASED #/{keyword}",
        ),
        _case(f"{keyword} stays", {"type": kind, keyword: 5}, {"type": kind, keyword: 5}),
    )
]

WORDS = [
    _case(
        "a title changes",
        {"type": "string", "title": "a"},
        {"type": "string", "title": "b"},
        "TITLE_CHANGED #/",
    ),
    _case("a title is added", STRING, {"type": "string", "title": "b"}, "TITLE_CHANGED #/"),
    _case("a description changes", {"type": "string", "description": "a"}, STRING, "DESCRIPTION_CHANGED #/"),
    _case(
        "a default changes",
        {"type": "string", "default": "a"},
        {"type": "string", "default": "b"},
        "DEFAULT_CHANGED #/",
    ),
    _case("a default is removed", {"type": "string", "default": "a"}, STRING, "DEFAULT_CHANGED #/"),
    _case("a default becomes a boolean", {"default": 1}, {"default": True}, "DEFAULT_CHANGED #/"),
    _case("examples change", {"type": "string", "examples": ["a"]}, STRING),
    _case("an unknown keyword is added", STRING, {"type": "string", "x-note": 1}),
    _case("a comment is added", STRING, {"type": "string", "$comment": "why"}),
    _case("members are in another order", {"type": "string", "title": "a"}, {"title": "a", "type": "string"}),
]

SCALARS = [
    _case("the same string", STRING, STRING),
    _case("a pattern is added", STRING, {"type": "string", "pattern": "^a"}, "PATTERN_ADDED #/pattern"),
    _case("a pattern is removed", {"type": "string", "pattern": "^a"}, STRING, "PATTERN_REMOVED #/pattern"),
    _case(
        "a pattern changes",
        {"type": "string", "pattern": "^a"},
        {"type": "string", "pattern": "^b"},
        "PATTERN_CHANGED #/pattern",
    ),
    _case("an integer becomes a number", INTEGER, NUMBER, "TYPE_EXTENDED #/"),
    _case("a number becomes an integer", NUMBER, INTEGER, "TYPE_NARROWED #/"),
    _case(
        "an integer limit gets a fraction of zero",
        {"type": "number", "maximum": 5},
        {"type": "number", "maximum": 5.0},
    ),
    _case(
        "a limit grows by a fraction",
        {"type": "number", "maximum": 5},
        {"type": "number", "maximum": 5.5},
        "MAXIMUM_INCREASED #/maximum",
    ),
    _case(
        "a multiple is added", NUMBER, {"type": "number", "multipleOf": 2}, "MULTIPLE_OF_ADDED #/multipleOf"
    ),
    _case(
        "a multiple is removed",
        {"type": "number", "multipleOf": 2},
        NUMBER,
        "MULTIPLE_OF_REMOVED #/multipleOf",
    ),
    _case(
        "a multiple is a multiple of the earlier one",
        {"type": "number", "multipleOf": 2},
        {"type": "number", "multipleOf": 4},
        "MULTIPLE_OF_EXPANDED #/multipleOf",
    ),
    _case(
        "a multiple divides the earlier one",
        {"type": "number", "multipleOf": 4},
        {"type": "number", "multipleOf": 2},
        "MULTIPLE_OF_REDUCED #/multipleOf",
    ),
    _case(
        "a multiple changes",
        {"type": "number", "multipleOf": 4},
        {"type": "number", "multipleOf": 3},
        "MULTIPLE_OF_CHANGED #/multipleOf",
    ),
    _case(
        "a multiple with a fraction divides the earlier one",
        {"type": "number", "multipleOf": 1},
        {"type": "number", "multipleOf": 0.1},
        "MULTIPLE_OF_REDUCED #/multipleOf",
    ),
    _case(
        "a multiple is written with more digits",
        {"type": "number", "multipleOf": 0.5},
        {"type": "number", "multipleOf": 0.50},
    ),
    _case("an enum gets a value", {"enum": ["a"]}, {"enum": ["a", "b"]}, "ENUM_ARRAY_EXTENDED #/enum"),
    _case("an enum loses a value", {"enum": ["a", "b"]}, {"enum": ["a"]}, "ENUM_ARRAY_NARROWED #/enum"),
    _case("an enum changes a value", {"enum": ["a", "b"]}, {"enum": ["a", "c"]}, "ENUM_ARRAY_CHANGED #/enum"),
    _case("an enum in another order", {"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
    _case(
        "an enum of objects",
        {"enum": [{"x": [1]}]},
        {"enum": [{"x": [1]}, None]},
        "ENUM_ARRAY_EXTENDED #/enum",
    ),
    _case("an enum of 1 and true", {"enum": [1]}, {"enum": [True]}, "ENUM_ARRAY_CHANGED #/enum"),
    _case("a constant changes", {"const": 1}, {"const": 2}, "ENUM_ARRAY_CHANGED #/const"),
    _case("the same constant", {"const": {"a": 1}}, {"const": {"a": 1}}),
    _case("a string becomes a number", STRING, NUMBER, "TYPE_CHANGED #/"),
    _case("a string becomes anything", STRING, {}),
    _case("anything becomes a string", {}, STRING, "TYPE_CHANGED #/"),
    _case(
        "bytes of Connect become a number",
        {"type": "string", "connect.type": "bytes"},
        {"type": "number", "connect.type": "bytes"},
    ),
    _case(
        "a not is narrowed",
        {"not": {"type": "number"}},
        {"not": {"type": "integer"}},
        "NOT_TYPE_NARROWED #/not",
    ),
    _case(
        "a not is extended",
        {"not": {"type": "integer"}},
        {"not": {"type": "number"}},
        "NOT_TYPE_EXTENDED #/not",
    ),
    _case("a not of another type", {"not": STRING}, {"not": NUMBER}, "NOT_TYPE_EXTENDED #/not"),
]

OBJECTS = [
    _case("the same object", {"properties": AB}, {"properties": AB}),
    _case(
        "a property is added to an open object",
        OPEN | {"properties": A},
        OPEN | {"properties": AB},
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a required property is added to an open object",
        OPEN | {"properties": A},
        OPEN | {"properties": AB, "required": ["b"]},
        "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a required property with a default is added to an open object",
        OPEN | {"properties": A},
        OPEN | {"properties": A | {"b": {"type": "number", "default": 1}}, "required": ["b"]},
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "an empty property is added to an open object",
        OPEN | {"properties": A},
        OPEN | {"properties": A | {"b": {}}},
        "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a property that is true is added to an open object",
        OPEN | {"properties": A},
        OPEN | {"properties": A | {"b": True}},
        "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a property is removed from an open object",
        OPEN | {"properties": AB},
        OPEN | {"properties": A},
        "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a property is added to a closed object",
        CLOSED | {"properties": A},
        CLOSED | {"properties": AB},
        "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a required property is added to a closed object",
        CLOSED | {"properties": A},
        CLOSED | {"properties": AB, "required": ["b"]},
        "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a required property with a default is added to a closed object",
        CLOSED | {"properties": A},
        CLOSED | {"properties": A | {"b": {"type": "number", "default": 1}}, "required": ["b"]},
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a property is removed from a closed object",
        CLOSED | {"properties": AB},
        CLOSED | {"properties": A},
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a property that is false is removed from a closed object",
        CLOSED | {"properties": A | {"b": False}},
        CLOSED | {"properties": A},
        "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "an added property is covered by others",
        OF_STRINGS | {"properties": A},
        OF_STRINGS | {"properties": A | {"b": STRING}},
        "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "an added property is not covered by others",
        OF_STRINGS | {"properties": A},
        OF_STRINGS | {"properties": AB},
        "TYPE_CHANGED #/properties/b",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a removed property is covered by others",
        OF_NUMBERS | {"properties": AB},
        OF_NUMBERS | {"properties": A},
        "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a removed property is not covered by others",
        OF_STRINGS | {"properties": AB},
        OF_STRINGS | {"properties": A},
        "TYPE_CHANGED #/properties/b",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "an added property is covered by a pattern",
        CLOSED | {"properties": A, "patternProperties": {"^b": NUMBER}},
        CLOSED | {"properties": AB, "patternProperties": {"^b": NUMBER}},
        "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a removed property is covered by a pattern",
        CLOSED | {"properties": AB, "patternProperties": {"b": NUMBER}},
        CLOSED | {"properties": A, "patternProperties": {"b": NUMBER}},
        "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a removed property is covered by no pattern",
        CLOSED | {"properties": AB, "patternProperties": {"^c": NUMBER}},
        CLOSED | {"properties": A, "patternProperties": {"^c": NUMBER}},
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "a property changes its type",
        {"properties": {"a": STRING}},
        {"properties": {"a": NUMBER}},
        "TYPE_CHANGED #/properties/a",
    ),
    _case(
        "a property inside of a property changes",
        {"properties": {"a": {"properties": {"b": STRING}}}},
        {"properties": {"a": {"properties": {"b": NUMBER}}}},
        "TYPE_CHANGED #/properties/a/properties/b",
    ),
    _case(
        "a property becomes required",
        {"properties": A},
        {"properties": A, "required": ["a"]},
        "REQUIRED_ATTRIBUTE_ADDED #/required/a",
    ),
    _case(
        "a property with a default becomes required",
        {"properties": {"a": {"type": "string", "default": ""}}},
        {"properties": {"a": {"type": "string", "default": ""}}, "required": ["a"]},
        "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED #/required/a",
    ),
    _case(
        "a property is not required any more",
        {"properties": A, "required": ["a"]},
        {"properties": A},
        "REQUIRED_ATTRIBUTE_REMOVED #/required/a",
    ),
    _case("an unknown name becomes required", {"properties": A}, {"properties": A, "required": ["z"]}),
    _case(
        "other properties are forbidden", OPEN, CLOSED, "ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"
    ),
    _case("other properties are allowed", CLOSED, OPEN, "ADDITIONAL_PROPERTIES_ADDED #/additionalProperties"),
    _case(
        "other properties are limited",
        OPEN,
        OF_STRINGS,
        "ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties",
    ),
    _case(
        "other properties are not limited any more",
        OF_STRINGS,
        OPEN,
        "ADDITIONAL_PROPERTIES_EXTENDED #/additionalProperties",
    ),
    _case(
        "other properties change their type", OF_STRINGS, OF_NUMBERS, "TYPE_CHANGED #/additionalProperties"
    ),
    _case(
        "other properties are allowed within limits",
        CLOSED,
        OF_STRINGS,
        "ADDITIONAL_PROPERTIES_ADDED #/additionalProperties",
    ),
    _case("additionalProperties is written out", OPEN, OPEN | {"additionalProperties": True}),
    _case("an object without a type", {"properties": A}, {"type": "object", "properties": A}),
]

ARRAYS = [
    _case("the same array", ARRAY | {"items": STRING}, ARRAY | {"items": STRING}),
    _case("items change", ARRAY | {"items": STRING}, ARRAY | {"items": NUMBER}, "TYPE_CHANGED #/items"),
    _case("items get a schema", ARRAY, ARRAY | {"items": STRING}, "SCHEMA_ADDED #/items"),
    _case("items lose their schema", ARRAY | {"items": STRING}, ARRAY, "SCHEMA_REMOVED #/items"),
    _case(
        "items are extended", ARRAY | {"items": INTEGER}, ARRAY | {"items": NUMBER}, "TYPE_EXTENDED #/items"
    ),
    _case("items must be unique", ARRAY, ARRAY | {"uniqueItems": True}, "UNIQUE_ITEMS_ADDED #/uniqueItems"),
    _case(
        "items need not be unique any more",
        ARRAY | {"uniqueItems": True},
        ARRAY,
        "UNIQUE_ITEMS_REMOVED #/uniqueItems",
    ),
    _case(
        "items in items",
        ARRAY | {"items": ARRAY | {"items": STRING}},
        ARRAY | {"items": ARRAY | {"items": NUMBER}},
        "TYPE_CHANGED #/items/items",
    ),
    _case(
        "items are objects",
        ARRAY | {"items": {"properties": A}},
        ARRAY | {"items": {"properties": AB}},
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/items/properties/b",
    ),
]

COMBINED = [
    _case("the same anyOf", {"anyOf": [STRING, NUMBER]}, {"anyOf": [STRING, NUMBER]}),
    _case("anyOf in another order", {"anyOf": [STRING, NUMBER]}, {"anyOf": [NUMBER, STRING]}),
    _case(
        "anyOf gets a part",
        {"anyOf": [STRING, NUMBER]},
        {"anyOf": [STRING, NUMBER, {"type": "null"}]},
        "SUM_TYPE_EXTENDED #/",
    ),
    _case(
        "anyOf loses a part",
        {"anyOf": [STRING, NUMBER, {"type": "null"}]},
        {"anyOf": [STRING, NUMBER]},
        "SUM_TYPE_NARROWED #/",
    ),
    _case(
        "anyOf changes a part",
        {"anyOf": [STRING, NUMBER]},
        {"anyOf": [STRING, {"type": "null"}]},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/",
    ),
    _case(
        "anyOf extends a part",
        {"anyOf": [STRING, INTEGER]},
        {"anyOf": [STRING, NUMBER]},
        "TYPE_EXTENDED #/anyOf/1",
    ),
    _case(
        "oneOf gets a part",
        {"oneOf": [STRING, NUMBER]},
        {"oneOf": [STRING, NUMBER, {"type": "null"}]},
        "SUM_TYPE_EXTENDED #/",
    ),
    _case(
        "oneOf loses a part",
        {"oneOf": [STRING, NUMBER, {"type": "null"}]},
        {"oneOf": [STRING, NUMBER]},
        "SUM_TYPE_NARROWED #/",
    ),
    _case(
        "oneOf becomes anyOf",
        {"oneOf": [STRING, NUMBER]},
        {"anyOf": [STRING, NUMBER]},
        "COMBINED_TYPE_EXTENDED #/",
    ),
    _case(
        "anyOf becomes oneOf",
        {"anyOf": [STRING, NUMBER]},
        {"oneOf": [STRING, NUMBER]},
        "COMBINED_TYPE_CHANGED #/",
    ),
    _case(
        "allOf becomes anyOf",
        {"allOf": [STRING, {"minLength": 1}]},
        {"anyOf": [STRING, {"minLength": 1}]},
        "COMBINED_TYPE_EXTENDED #/",
    ),
    _case(
        "anyOf becomes allOf",
        {"anyOf": [STRING, NUMBER]},
        {"allOf": [STRING, NUMBER]},
        "COMBINED_TYPE_CHANGED #/",
    ),
    _case(
        "allOf becomes oneOf",
        {"allOf": [STRING, NUMBER]},
        {"oneOf": [STRING, NUMBER]},
        "COMBINED_TYPE_CHANGED #/",
    ),
    _case(
        "a single oneOf becomes a single allOf",
        {"oneOf": [STRING]},
        {"allOf": [STRING]},
        "COMBINED_TYPE_EXTENDED #/",
    ),
    _case(
        "a single allOf becomes oneOf",
        {"allOf": [STRING]},
        {"oneOf": [STRING, NUMBER]},
        "COMBINED_TYPE_EXTENDED #/",
        "SUM_TYPE_EXTENDED #/",
    ),
    _case(
        "allOf becomes a single oneOf",
        {"allOf": [STRING, NUMBER]},
        {"oneOf": [STRING]},
        "COMBINED_TYPE_EXTENDED #/",
        "PRODUCT_TYPE_NARROWED #/",
    ),
    _case(
        "allOf gets a part",
        {"allOf": [STRING, NUMBER]},
        {"allOf": [STRING, NUMBER, {"type": "null"}]},
        "PRODUCT_TYPE_EXTENDED #/",
    ),
    _case(
        "allOf loses a part",
        {"allOf": [STRING, NUMBER, {"type": "null"}]},
        {"allOf": [STRING, NUMBER]},
        "PRODUCT_TYPE_NARROWED #/",
    ),
    _case("a type becomes a choice", STRING, {"oneOf": [STRING, NUMBER]}, "SUM_TYPE_EXTENDED #/"),
    _case("a type becomes another choice", STRING, {"oneOf": [{"type": "null"}, NUMBER]}, "TYPE_CHANGED #/"),
    _case("a type becomes a single choice", STRING, {"oneOf": [STRING]}),
    _case("a single choice becomes a type", {"anyOf": [STRING]}, STRING),
    _case("a choice becomes a type", {"oneOf": [STRING, NUMBER]}, STRING, "TYPE_CHANGED #/"),
    _case("a type becomes all of more", STRING, {"allOf": [STRING, {"title": "t"}]}, "TYPE_CHANGED #/"),
    _case("all of more becomes a type", {"allOf": [STRING, NUMBER]}, STRING, "PRODUCT_TYPE_NARROWED #/"),
    _case("a type becomes nullable", STRING, {"type": ["string", "null"]}, "SUM_TYPE_EXTENDED #/"),
    _case("a type is not nullable any more", {"type": ["string", "null"]}, STRING, "TYPE_CHANGED #/"),
    _case(
        "a nullable type gets another type",
        {"type": ["string", "null"]},
        {"type": ["string", "null", "number"]},
        "SUM_TYPE_EXTENDED #/",
    ),
    _case("types become anyOf", {"type": ["string", "number"]}, {"anyOf": [STRING, NUMBER]}),
    _case("types in another order", {"type": ["string", "number"]}, {"type": ["number", "string"]}),
    _case("parts that are written twice", {"anyOf": [STRING, STRING, NUMBER]}, {"anyOf": [STRING, NUMBER]}),
    _case("a matching needs an exchange", {"oneOf": [INTEGER, NUMBER]}, {"oneOf": [NUMBER, INTEGER]}),
    _case(
        "a matching needs two exchanges",
        {"anyOf": [INTEGER, {"maximum": 5, "type": "integer"}]},
        {"anyOf": [{"maximum": 5, "type": "integer"}, NUMBER]},
        "TYPE_EXTENDED #/anyOf/0",
    ),
    _case(
        "a choice of objects",
        {"oneOf": [{"properties": A, "type": "object"}]},
        {"oneOf": [{"properties": {"a": NUMBER}, "type": "object"}]},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/",
    ),
    _case(
        "choices in a property",
        {"properties": {"a": {"oneOf": [STRING, NUMBER]}}},
        {"properties": {"a": {"oneOf": [STRING, {"type": "null"}]}}},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/properties/a",
    ),
]

_LIST = {"properties": {"next": {"$ref": "#"}, "value": STRING}}

REFERENCES = [
    _case(
        "the same reference",
        {"$defs": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        {"$defs": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d"}}},
    ),
    _case(
        "a definition changes",
        {"$defs": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        {"$defs": {"d": NUMBER}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        "TYPE_CHANGED #/properties/a",
    ),
    _case(
        "a definition that nobody uses changes",
        {"$defs": {"d": STRING}, "type": "string"},
        {"$defs": {"d": NUMBER}, "type": "string"},
    ),
    _case(
        "a type moves into a definition",
        {"properties": {"a": STRING}},
        {"definitions": {"d": STRING}, "properties": {"a": {"$ref": "#/definitions/d"}}},
    ),
    _case(
        "a type moves out of a definition",
        {"definitions": {"d": STRING}, "properties": {"a": {"$ref": "#/definitions/d"}}},
        {"properties": {"a": STRING}},
    ),
    _case(
        "a definition is renamed",
        {"$defs": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        {"$defs": {"e": STRING}, "properties": {"a": {"$ref": "#/$defs/e"}}},
    ),
    _case(
        "definitions are found in both ways",
        {"definitions": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        {"properties": {"a": STRING}},
    ),
    _case("the same list", _LIST, _LIST),
    _case(
        "a list changes",
        _LIST,
        {"properties": {"next": {"$ref": "#"}, "value": NUMBER}},
        "TYPE_CHANGED #/properties/value",
        "TYPE_CHANGED #/properties/next/properties/value",
    ),
    _case(
        "a reference to a reference",
        {"$defs": {"d": {"$ref": "#/$defs/e"}, "e": STRING}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        {"properties": {"a": STRING}},
    ),
    _case(
        "a reference to itself",
        {"$defs": {"d": {"$ref": "#/$defs/d"}}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        {"$defs": {"d": {"$ref": "#/$defs/d"}}, "properties": {"a": {"$ref": "#/$defs/d"}}},
    ),
    _case(
        "a pointer with escapes",
        {"$defs": {"a/b~c": STRING}, "properties": {"a": {"$ref": "#/$defs/a~1b~0c"}}},
        {"properties": {"a": STRING}},
    ),
    _case(
        "a pointer with percent signs",
        {"$defs": {"a b": STRING}, "properties": {"a": {"$ref": "#/$defs/a%20b"}}},
        {"properties": {"a": STRING}},
    ),
    _case(
        "a pointer into an array",
        {"allOf": [STRING], "properties": {"a": {"$ref": "#/allOf/0"}}},
        {"allOf": [STRING], "properties": {"a": STRING}},
    ),
    _case(
        "a reference to a draft",
        {"properties": {"a": {"$ref": "http://json-schema.org/draft-07/schema#"}}},
        {"properties": {"a": {"$ref": "http://json-schema.org/draft-07/schema#"}}},
    ),
]

CASES = [*LIMITS, *WORDS, *SCALARS, *OBJECTS, *ARRAYS, *COMBINED]

_WITH_ID = {
    "$defs": {"d": {"$id": "http://example.com/d", "type": "string"}},
    "properties": {"a": {"$ref": "http://example.com/d"}},
}

OLDER_CASES = [
    _case(
        "an enum with a type",
        {"type": "string", "enum": ["a"]},
        {"type": "string", "enum": ["a", "b"]},
        "ENUM_ARRAY_EXTENDED #/allOf/0/enum",
    ),
    _case("a reference to an id", _WITH_ID, {"properties": {"a": STRING}}, "ID_CHANGED #/properties/a"),
    _case("an id changes", {"$id": "http://a/b"}, {"$id": "http://a/c"}, "ID_CHANGED #/"),
    _case(
        "an object becomes one with properties",
        OPEN,
        OPEN | {"properties": A},
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/a",
    ),
    _case(
        "a tuple gets an item in an open array",
        ARRAY | {"items": [STRING]},
        ARRAY | {"items": [STRING, NUMBER]},
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple gets an empty item in an open array",
        ARRAY | {"items": [STRING]},
        ARRAY | {"items": [STRING, {}]},
        "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple gets an item in a closed array",
        ARRAY | {"items": [STRING], "additionalItems": False},
        ARRAY | {"items": [STRING, NUMBER], "additionalItems": False},
        "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple loses an item in an open array",
        ARRAY | {"items": [STRING, NUMBER]},
        ARRAY | {"items": [STRING]},
        "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple loses an item in a closed array",
        ARRAY | {"items": [STRING, NUMBER], "additionalItems": False},
        ARRAY | {"items": [STRING], "additionalItems": False},
        "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple loses an item that is false",
        ARRAY | {"items": [STRING, False], "additionalItems": False},
        ARRAY | {"items": [STRING], "additionalItems": False},
        "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple gets a covered item",
        ARRAY | {"items": [STRING], "additionalItems": NUMBER},
        ARRAY | {"items": [STRING, NUMBER], "additionalItems": NUMBER},
        "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple gets an item that is not covered",
        ARRAY | {"items": [STRING], "additionalItems": NUMBER},
        ARRAY | {"items": [STRING, STRING], "additionalItems": NUMBER},
        "TYPE_CHANGED #/items/1",
        "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple loses a covered item",
        ARRAY | {"items": [STRING, NUMBER], "additionalItems": NUMBER},
        ARRAY | {"items": [STRING], "additionalItems": NUMBER},
        "ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple loses an item that is not covered",
        ARRAY | {"items": [STRING, STRING], "additionalItems": NUMBER},
        ARRAY | {"items": [STRING], "additionalItems": NUMBER},
        "TYPE_CHANGED #/items/1",
        "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "an item of a tuple changes",
        ARRAY | {"items": [STRING]},
        ARRAY | {"items": [NUMBER]},
        "TYPE_CHANGED #/items/0",
    ),
    _case(
        "other items are forbidden",
        ARRAY,
        ARRAY | {"additionalItems": False},
        "ADDITIONAL_ITEMS_REMOVED #/additionalItems",
    ),
    _case(
        "other items are allowed",
        ARRAY | {"additionalItems": False},
        ARRAY,
        "ADDITIONAL_ITEMS_ADDED #/additionalItems",
    ),
    _case(
        "other items are limited",
        ARRAY,
        ARRAY | {"additionalItems": STRING},
        "ADDITIONAL_ITEMS_NARROWED #/additionalItems",
    ),
    _case(
        "other items are not limited any more",
        ARRAY | {"additionalItems": STRING},
        ARRAY,
        "ADDITIONAL_ITEMS_EXTENDED #/additionalItems",
    ),
    _case(
        "dependent names are added",
        {"properties": AB},
        {"properties": AB, "dependencies": {"a": ["b"]}},
        "DEPENDENCY_ARRAY_ADDED #/dependencies/a",
    ),
    _case(
        "dependent names are removed",
        {"dependencies": {"a": ["b"]}, "properties": AB},
        {"properties": AB},
        "DEPENDENCY_ARRAY_REMOVED #/dependencies/a",
    ),
    _case(
        "dependent names become more",
        {"dependencies": {"a": ["b"]}},
        {"dependencies": {"a": ["b", "c"]}},
        "DEPENDENCY_ARRAY_EXTENDED #/dependencies/a",
    ),
    _case(
        "dependent names become fewer",
        {"dependencies": {"a": ["b", "c"]}},
        {"dependencies": {"a": ["b"]}},
        "DEPENDENCY_ARRAY_NARROWED #/dependencies/a",
    ),
    _case(
        "dependent names change",
        {"dependencies": {"a": ["b"]}},
        {"dependencies": {"a": ["c"]}},
        "DEPENDENCY_ARRAY_CHANGED #/dependencies/a",
    ),
    _case(
        "a dependent schema is added",
        {"properties": AB},
        {"properties": AB, "dependencies": {"a": {"minProperties": 2}}},
        "DEPENDENCY_SCHEMA_ADDED #/dependencies/a",
    ),
    _case(
        "a dependent schema is removed",
        {"dependencies": {"a": {"minProperties": 2}}, "properties": AB},
        {"properties": AB},
        "DEPENDENCY_SCHEMA_REMOVED #/dependencies/a",
    ),
    _case(
        "a dependent schema changes",
        {"dependencies": {"a": {"minProperties": 2}}},
        {"dependencies": {"a": {"minProperties": 1}}},
        "MIN_PROPERTIES_DECREASED #/dependencies/a/minProperties",
    ),
    _case(
        "a reference hides what is beside it",
        {"definitions": {"d": STRING}, "properties": {"a": {"$ref": "#/definitions/d", "type": "number"}}},
        {"properties": {"a": STRING}},
    ),
    _case(
        "a string with a condition",
        {"type": "string", "if": {"minLength": 1}, "then": {}},
        {"type": "string", "if": {"minLength": 2}, "then": {}},
    ),
]

NEWER_CASES = [
    _case("a reference to an id", _WITH_ID, {"properties": {"a": STRING}}),
    _case(
        "a tuple gets an item in an open array",
        ARRAY | {"prefixItems": [STRING]},
        ARRAY | {"prefixItems": [STRING, NUMBER]},
        "ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple gets an item in a closed array",
        ARRAY | {"prefixItems": [STRING], "items": False},
        ARRAY | {"prefixItems": [STRING, NUMBER], "items": False},
        "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple loses an item in an open array",
        ARRAY | {"prefixItems": [STRING, NUMBER]},
        ARRAY | {"prefixItems": [STRING]},
        "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "a tuple gets a covered item",
        ARRAY | {"prefixItems": [STRING], "items": NUMBER},
        ARRAY | {"prefixItems": [STRING, NUMBER], "items": NUMBER},
        "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1",
    ),
    _case(
        "other items are forbidden",
        ARRAY,
        ARRAY | {"items": False},
        "ADDITIONAL_ITEMS_REMOVED #/additionalItems",
    ),
    _case(
        "other items are limited",
        ARRAY | {"prefixItems": [STRING]},
        ARRAY | {"prefixItems": [STRING], "items": NUMBER},
        "ADDITIONAL_ITEMS_NARROWED #/additionalItems",
    ),
    _case("items that are true say nothing", ARRAY, ARRAY | {"items": True}),
    _case(
        "dependent names are added",
        {"required": []},
        {"dependentRequired": {"a": ["b"]}},
        "DEPENDENCY_ARRAY_ADDED #/dependencies/a",
    ),
    _case(
        "dependent names become more",
        {"dependentRequired": {"a": ["b"]}},
        {"dependentRequired": {"a": ["b", "c"]}},
        "DEPENDENCY_ARRAY_EXTENDED #/dependencies/a",
    ),
    _case(
        "a dependent schema is removed",
        {"dependentSchemas": {"a": {"minProperties": 2}}},
        {"required": []},
        "DEPENDENCY_SCHEMA_REMOVED #/dependencies/a",
    ),
    _case(
        "unevaluated properties are forbidden",
        OPEN,
        OPEN | {"unevaluatedProperties": False},
        "UNEVALUATED_PROPERTIES_REMOVED #/unevaluatedProperties",
    ),
    _case(
        "unevaluated properties are allowed",
        OPEN | {"unevaluatedProperties": False},
        OPEN,
        "UNEVALUATED_PROPERTIES_ADDED #/unevaluatedProperties",
    ),
    _case(
        "unevaluated properties are limited",
        OPEN | {"unevaluatedProperties": True},
        OPEN | {"unevaluatedProperties": STRING},
        "UNEVALUATED_PROPERTIES_NARROWED #/unevaluatedProperties",
    ),
    _case(
        "unevaluated properties are not limited any more",
        OPEN | {"unevaluatedProperties": STRING},
        OPEN | {"unevaluatedProperties": True},
        "UNEVALUATED_PROPERTIES_EXTENDED #/unevaluatedProperties",
    ),
    _case(
        "unevaluated properties change",
        OPEN | {"unevaluatedProperties": STRING},
        OPEN | {"unevaluatedProperties": NUMBER},
        "TYPE_CHANGED #/unevaluatedProperties",
    ),
    _case(
        "an added property is covered by unevaluated ones",
        OPEN | {"properties": A, "unevaluatedProperties": NUMBER},
        OPEN | {"properties": AB, "unevaluatedProperties": NUMBER},
        "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
    ),
    _case(
        "unevaluated items are forbidden",
        ARRAY,
        ARRAY | {"unevaluatedItems": False},
        "UNEVALUATED_ITEMS_REMOVED #/unevaluatedItems",
    ),
    _case(
        "unevaluated items are allowed",
        ARRAY | {"unevaluatedItems": False},
        ARRAY | {"unevaluatedItems": STRING},
        "UNEVALUATED_ITEMS_ADDED #/unevaluatedItems",
    ),
    _case(
        "maxContains grows",
        ARRAY | {"contains": STRING, "maxContains": 1},
        ARRAY | {"contains": STRING, "maxContains": 2},
        "MAX_CONTAINS_INCREASED #/maxContains",
    ),
    _case(
        "minContains grows",
        ARRAY | {"contains": STRING},
        ARRAY | {"contains": STRING, "minContains": 2},
        "MIN_CONTAINS_INCREASED #/minContains",
    ),
    _case(
        "maxContains is added",
        ARRAY | {"contains": STRING},
        ARRAY | {"contains": STRING, "maxContains": 2},
        "MAX_CONTAINS_ADDED #/maxContains",
    ),
    _case(
        "a reference does not hide what is beside it",
        {"$defs": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d", "minLength": 1}}},
        {"$defs": {"d": STRING}, "properties": {"a": {"$ref": "#/$defs/d", "minLength": 2}}},
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/properties/a",
        "MIN_LENGTH_REMOVED #/properties/a/allOf/0/minLength",
    ),
    _case(
        "an anchor",
        {"$defs": {"d": {"$anchor": "here", "type": "string"}}, "properties": {"a": {"$ref": "#here"}}},
        {"properties": {"a": STRING}},
    ),
    _case(
        "a limit beside types",
        {"type": ["string", "null"], "maxLength": 1},
        {"type": ["string", "null"], "maxLength": 2},
        "MAX_LENGTH_INCREASED #/anyOf/0/maxLength",
    ),
    _case(
        "a default of null is none",
        {"properties": A},
        {"properties": {"a": {"type": "string", "default": None}}, "required": ["a"]},
        "REQUIRED_ATTRIBUTE_ADDED #/required/a",
    ),
    _case("a format is no keyword", {"type": "integer"}, {"type": "integer", "format": "int32"}),
]
