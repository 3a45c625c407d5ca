"""Pairs of `.proto` files, and the differences between them, one line each.

A case is the original, the update, and all differences as "KIND path". `INCOMPATIBLE` names the kinds that break
readers.
"""

# ruff: noqa: E501 - a table is read by its lines

from typing import NamedTuple

INCOMPATIBLE = {
    "PACKAGE_CHANGED",
    "MESSAGE_REMOVED",
    "FIELD_KIND_CHANGED",
    "FIELD_SCALAR_KIND_CHANGED",
    "FIELD_NAMED_TYPE_CHANGED",
    "FIELD_NUMERIC_LABEL_CHANGED",
    "REQUIRED_FIELD_ADDED",
    "REQUIRED_FIELD_REMOVED",
    "ONEOF_FIELD_REMOVED",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
    "FIELD_MOVED_TO_EXISTING_ONEOF",
}


class Case(NamedTuple):
    """An original, an update, and the differences between them."""

    name: str
    original: str
    update: str
    differences: set[str]


def _case(name: str, original: str, update: str, *differences: str, syntax: str = "proto3") -> Case:
    head = f'syntax = "{syntax}"; '
    return Case(name, head + original, head + update, set(differences))


def _fields(name: str, original: str, update: str, *differences: str, syntax: str = "proto3") -> Case:
    """A case of one message A."""
    texts = [f"message A {{ {fields} }}" for fields in (original, update)]
    return _case(name, *texts, *differences, syntax=syntax)


FILES = [
    _case("the same file", "message A { int32 a = 1; }", "message A { int32 a = 1; }"),
    _case("no declarations", "", ""),
    _case("a package is added", "message A {}", "package p; message A {}", "PACKAGE_CHANGED #/"),
    _case("a package is removed", "package p; message A {}", "message A {}", "PACKAGE_CHANGED #/"),
    _case("a package changes", "package p; message A {}", "package q; message A {}", "PACKAGE_CHANGED #/"),
    _case("the same package", "package p; message A {}", "package p; message A {}"),
    _case("a message is added", "message A {}", "message A {} message B {}", "MESSAGE_ADDED #/B"),
    _case("a message is removed", "message A {} message B {}", "message A {}", "MESSAGE_REMOVED #/B"),
    _case("a message is renamed", "message A {}", "message B {}", "MESSAGE_REMOVED #/A", "MESSAGE_ADDED #/B"),
    _case(
        "messages are in another order",
        "message A {} message B {}",
        "message B {} message A {}",
        "MESSAGE_MOVED #/A",
        "MESSAGE_MOVED #/B",
    ),
    _case(
        "a message is inserted",
        "message B {}",
        "message A {} message B {}",
        "MESSAGE_ADDED #/A",
        "MESSAGE_MOVED #/B",
    ),
    _case("an enum is inserted", "message B {}", "enum E { Z = 0; } message B {}", "ENUM_ADDED #/E"),
    _case("an option is added", "message A {}", 'option java_package = "p"; message A {}'),
    _case("a comment is added", "message A {}", "// words\nmessage A { /* more */ }"),
    _case("a service is removed", "message A {} service S { rpc R (A) returns (A); }", "message A {}"),
    _case("a nested message is added", "message A {}", "message A { message B {} }", "MESSAGE_ADDED #/A/B"),
    _case(
        "a nested message is removed", "message A { message B {} }", "message A {}", "MESSAGE_REMOVED #/A/B"
    ),
    _case(
        "a nested message changes",
        "message A { message B { int32 x = 1; } }",
        "message A { message B { string x = 1; } }",
        "FIELD_SCALAR_KIND_CHANGED #/A/B/1",
    ),
    _case(
        "a message moves out of another",
        "message A { message B {} }",
        "message A {} message B {}",
        "MESSAGE_REMOVED #/A/B",
        "MESSAGE_ADDED #/B",
    ),
    _case(
        "a message moves into another",
        "message A {} message B {}",
        "message A { message B {} }",
        "MESSAGE_REMOVED #/B",
        "MESSAGE_ADDED #/A/B",
    ),
    _case(
        "three levels of messages",
        "message A { message B { message C { int32 x = 1; } } }",
        "message A { message B { message C { int32 y = 1; } } }",
        "FIELD_NAME_CHANGED #/A/B/C/1",
    ),
    _case(
        "proto3 becomes a file without optional fields",
        "message A { optional int32 a = 1; }",
        "message A { int32 a = 1; }",
    ),
]

ENUMS = [
    _case("an enum is removed", "enum E { Z = 0; }", "", "ENUM_REMOVED #/E"),
    _case(
        "an enum is renamed", "enum E { Z = 0; }", "enum F { Z = 0; }", "ENUM_REMOVED #/E", "ENUM_ADDED #/F"
    ),
    _case("a value is added", "enum E { Z = 0; }", "enum E { Z = 0; Y = 1; }", "ENUM_CONST_ADDED #/E/1"),
    _case("a value is removed", "enum E { Z = 0; Y = 1; }", "enum E { Z = 0; }", "ENUM_CONST_REMOVED #/E/1"),
    _case("a value is renamed", "enum E { Z = 0; }", "enum E { Y = 0; }", "ENUM_CONST_CHANGED #/E/0"),
    _case(
        "a value gets another number",
        "enum E { Z = 0; Y = 1; }",
        "enum E { Z = 0; Y = 2; }",
        "ENUM_CONST_REMOVED #/E/1",
        "ENUM_CONST_ADDED #/E/2",
    ),
    _case(
        "values are in another order", "enum E { Z = 0; Y = 1; X = 2; }", "enum E { Z = 0; X = 2; Y = 1; }"
    ),
    _case(
        "a negative value is added",
        "enum E { Z = 0; }",
        "enum E { Z = 0; Y = -1; }",
        "ENUM_CONST_ADDED #/E/-1",
    ),
    _case(
        "a nested enum changes",
        "message A { enum E { Z = 0; } }",
        "message A { enum E { Z = 0; Y = 1; } }",
        "ENUM_CONST_ADDED #/A/E/1",
    ),
    _case(
        "an enum of a field is replaced",
        "enum E { Z = 0; } enum F { Y = 0; } message A { E e = 1; }",
        "enum E { Z = 0; } enum F { Y = 0; } message A { F e = 1; }",
    ),
    _case(
        "an enum becomes a message of the same name",
        "enum E { Z = 0; } message A { E e = 1; }",
        "message E {} message A { E e = 1; }",
        "ENUM_REMOVED #/E",
        "MESSAGE_ADDED #/E",
        "MESSAGE_MOVED #/A",
        "FIELD_KIND_CHANGED #/A/1",
    ),
]

FIELDS = [
    _fields("a field is added", "int32 a = 1;", "int32 a = 1; int32 b = 2;", "FIELD_ADDED #/A/2"),
    _fields("a field is removed", "int32 a = 1; int32 b = 2;", "int32 a = 1;", "FIELD_REMOVED #/A/2"),
    _fields("a field is removed and reserved", "int32 a = 1;", "reserved 1;", "FIELD_REMOVED #/A/1"),
    _fields("a field is renamed", "int32 a = 1;", "int32 b = 1;", "FIELD_NAME_CHANGED #/A/1"),
    _fields(
        "a field gets another number",
        "int32 a = 1;",
        "int32 a = 2;",
        "FIELD_REMOVED #/A/1",
        "FIELD_ADDED #/A/2",
    ),
    _fields("fields are in another order", "int32 a = 1; string b = 2;", "string b = 2; int32 a = 1;"),
    _fields(
        "two fields swap their names",
        "int32 a = 1; int32 b = 2;",
        "int32 b = 1; int32 a = 2;",
        "FIELD_NAME_CHANGED #/A/1",
        "FIELD_NAME_CHANGED #/A/2",
    ),
    _fields(
        "two fields swap their numbers",
        "int32 a = 1; string b = 2;",
        "string b = 1; int32 a = 2;",
        "FIELD_NAME_CHANGED #/A/1",
        "FIELD_SCALAR_KIND_CHANGED #/A/1",
        "FIELD_NAME_CHANGED #/A/2",
        "FIELD_SCALAR_KIND_CHANGED #/A/2",
    ),
    _fields("a field gets an option", "int32 a = 1;", "int32 a = 1 [deprecated = true];"),
    _fields("a JSON name is added", "int32 a = 1;", 'int32 a = 1 [json_name = "b"];'),
    _fields(
        "a message is emptied", "int32 a = 1; string b = 2;", "", "FIELD_REMOVED #/A/1", "FIELD_REMOVED #/A/2"
    ),
    _fields("a field becomes repeated", "int32 a = 1;", "repeated int32 a = 1;"),
    _fields("a field becomes optional", "int32 a = 1;", "optional int32 a = 1;"),
    _fields(
        "an optional number becomes repeated",
        "optional int32 a = 1;",
        "repeated int32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated number becomes optional",
        "repeated sint64 a = 1;",
        "optional sint64 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated double becomes optional",
        "repeated double a = 1;",
        "optional double a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated float becomes optional",
        "repeated float a = 1;",
        "optional float a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated fixed32 becomes optional",
        "repeated fixed32 a = 1;",
        "optional sfixed32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated fixed64 becomes optional",
        "repeated fixed64 a = 1;",
        "optional sfixed64 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated bool becomes optional",
        "repeated bool a = 1;",
        "optional bool a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "a repeated enum becomes optional",
        "repeated E a = 1; enum E { Z = 0; }",
        "optional E a = 1; enum E { Z = 0; }",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "an optional string becomes repeated",
        "optional string a = 1;",
        "repeated string a = 1;",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/A/1",
    ),
    _fields(
        "repeated bytes become optional",
        "repeated bytes a = 1;",
        "optional string a = 1;",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/A/1",
    ),
    _fields("a repeated message becomes optional", "repeated A a = 1;", "optional A a = 1;"),
    _fields(
        "a required field is added",
        "",
        "required int32 a = 1;",
        "REQUIRED_FIELD_ADDED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "a required field is removed",
        "required int32 a = 1;",
        "",
        "REQUIRED_FIELD_REMOVED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "a required message is added", "", "required A a = 1;", "REQUIRED_FIELD_ADDED #/A/1", syntax="proto2"
    ),
    _fields(
        "a required field becomes optional",
        "required int32 a = 1;",
        "optional int32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "an optional field becomes required",
        "optional int32 a = 1;",
        "required int32 a = 1;",
        "FIELD_NUMERIC_LABEL_CHANGED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "a required string becomes optional",
        "required string a = 1;",
        "optional string a = 1;",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "an optional field of proto2 is added",
        "",
        "optional int32 a = 1;",
        "FIELD_ADDED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "a repeated field of proto2 is removed",
        "repeated int32 a = 1;",
        "",
        "FIELD_REMOVED #/A/1",
        syntax="proto2",
    ),
    _fields(
        "a default changes",
        "optional int32 a = 1 [default = 1];",
        "optional int32 a = 1 [default = 2];",
        syntax="proto2",
    ),
    _fields("a group is removed", "optional group G = 1 { optional int32 a = 1; }", "", syntax="proto2"),
    _fields("extensions are removed", "extensions 100 to max;", "", syntax="proto2"),
    _fields(
        "a field of a field's message changes",
        "B b = 1; message B { int32 x = 1; }",
        "B b = 1; message B { string x = 1; }",
        "FIELD_SCALAR_KIND_CHANGED #/A/B/1",
    ),
    _fields(
        "a field gets another message with the same fields",
        "B b = 1; message B { int32 x = 1; } message C { int32 x = 1; }",
        "C b = 1; message B { int32 x = 1; } message C { int32 x = 1; }",
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
    ),
    _fields("a type is written with its full name", "B b = 1; message B {}", "A.B b = 1; message B {}"),
    _fields("a type is written with a dot first", "B b = 1; message B {}", ".A.B b = 1; message B {}"),
    _fields(
        "a recursive message",
        "A a = 1; repeated A b = 2;",
        "A a = 1; repeated A b = 2; A c = 3;",
        "FIELD_ADDED #/A/3",
    ),
    _case(
        "a name means another message",
        "message A { B b = 1; } message B {}",
        "message A { B b = 1; message B {} } message B {}",
        "MESSAGE_ADDED #/A/B",
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
    ),
    _case(
        "the package of a field's type changes with the file",
        "package p; message A { B b = 1; } message B {}",
        "package q; message A { B b = 1; } message B {}",
        "PACKAGE_CHANGED #/",
    ),
]

MAPS = [
    _fields("the same map", "map<string, int32> m = 1;", "map<string, int32> m = 1;"),
    _fields(
        "a map's key changes its kind",
        "map<string, int32> m = 1;",
        "map<int32, int32> m = 1;",
        "FIELD_SCALAR_KIND_CHANGED #/A/1",
    ),
    _fields("a map's key keeps its kind", "map<int32, int32> m = 1;", "map<uint64, int32> m = 1;"),
    _fields(
        "a map's value changes its kind",
        "map<string, int32> m = 1;",
        "map<string, string> m = 1;",
        "FIELD_SCALAR_KIND_CHANGED #/A/1",
    ),
    _fields("a map's value keeps its kind", "map<string, string> m = 1;", "map<string, bytes> m = 1;"),
    _fields(
        "both change",
        "map<string, int32> m = 1;",
        "map<int32, string> m = 1;",
        "FIELD_SCALAR_KIND_CHANGED #/A/1",
    ),
    _fields(
        "a map's value becomes a message",
        "map<string, int32> m = 1;",
        "map<string, A> m = 1;",
        "FIELD_KIND_CHANGED #/A/1",
    ),
    _fields(
        "a map's message changes",
        "map<string, B> m = 1; message B {} message C {}",
        "map<string, C> m = 1; message B {} message C {}",
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
    ),
    _fields(
        "a map's value becomes an enum",
        "map<string, int32> m = 1; enum E { Z = 0; }",
        "map<string, E> m = 1; enum E { Z = 0; }",
    ),
    _fields(
        "a map becomes a repeated message",
        "map<string, int32> m = 1; message E {}",
        "repeated E m = 1; message E {}",
        "FIELD_KIND_CHANGED #/A/1",
    ),
    _fields(
        "a map is renamed",
        "map<string, int32> m = 1;",
        "map<string, int32> n = 1;",
        "FIELD_NAME_CHANGED #/A/1",
    ),
    _fields("a map is added", "", "map<string, int32> m = 1;", "FIELD_ADDED #/A/1"),
    _fields("a map is removed", "map<string, int32> m = 1;", "", "FIELD_REMOVED #/A/1"),
]

ONEOFS = [
    _fields("the same oneof", "oneof o { int32 a = 1; }", "oneof o { int32 a = 1; }"),
    _fields(
        "a oneof is added", "", "oneof o { int32 a = 1; }", "ONEOF_ADDED #/A/o", "ONEOF_FIELD_ADDED #/A/o/1"
    ),
    _fields("a oneof is removed", "oneof o { int32 a = 1; }", "", "ONEOF_REMOVED #/A/o"),
    _fields(
        "a oneof with two fields is removed",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "",
        "ONEOF_REMOVED #/A/o",
    ),
    _fields(
        "a oneof is renamed",
        "oneof o { int32 a = 1; }",
        "oneof p { int32 a = 1; }",
        "ONEOF_REMOVED #/A/o",
        "ONEOF_ADDED #/A/p",
    ),
    _fields(
        "a field of a oneof is added",
        "oneof o { int32 a = 1; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "ONEOF_FIELD_ADDED #/A/o/2",
    ),
    _fields(
        "a field of a oneof is removed",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; }",
        "ONEOF_FIELD_REMOVED #/A/o/2",
    ),
    _fields(
        "a field of a oneof is renamed",
        "oneof o { int32 a = 1; }",
        "oneof o { int32 b = 1; }",
        "FIELD_NAME_CHANGED #/A/o/1",
    ),
    _fields(
        "a field of a oneof changes its type",
        "oneof o { int32 a = 1; }",
        "oneof o { string a = 1; }",
        "FIELD_SCALAR_KIND_CHANGED #/A/o/1",
    ),
    _fields("a field of a oneof keeps its kind", "oneof o { string a = 1; }", "oneof o { bytes a = 1; }"),
    _fields(
        "a field moves into a new oneof", "int32 a = 1;", "oneof o { int32 a = 1; }", "ONEOF_ADDED #/A/o"
    ),
    _fields(
        "a field moves into a new oneof with a new field",
        "int32 a = 1;",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "ONEOF_ADDED #/A/o",
        "ONEOF_FIELD_ADDED #/A/o/2",
    ),
    _fields(
        "two fields move into a new oneof",
        "int32 a = 1; int32 b = 2;",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "ONEOF_ADDED #/A/o",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o",
    ),
    _fields(
        "a field moves into an existing oneof",
        "int32 a = 1; oneof o { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "FIELD_MOVED_TO_EXISTING_ONEOF #/A/o",
    ),
    _fields(
        "two fields move into an existing oneof",
        "int32 a = 1; int32 c = 3; oneof o { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; int32 c = 3; }",
        "MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o",
    ),
    _fields(
        "two oneofs are merged",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "ONEOF_REMOVED #/A/p",
        "FIELD_MOVED_TO_EXISTING_ONEOF #/A/o",
    ),
    _fields(
        "a field moves out of a oneof",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "int32 a = 1; oneof o { int32 b = 2; }",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/A/1",
    ),
    _fields(
        "all fields move out of a oneof",
        "oneof o { int32 a = 1; }",
        "int32 a = 1;",
        "ONEOF_REMOVED #/A/o",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/A/1",
    ),
    _fields(
        "one field moves out and the other is removed",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "int32 a = 1;",
        "ONEOF_REMOVED #/A/o",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/A/1",
        "ONEOF_FIELD_REMOVED #/A/o/2",
    ),
    _fields(
        "a field moves out and changes",
        "oneof o { int32 a = 1; }",
        "string a = 1;",
        "ONEOF_REMOVED #/A/o",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/A/1",
        "FIELD_SCALAR_KIND_CHANGED #/A/1",
    ),
    _fields(
        "a field moves in and changes",
        "int32 a = 1;",
        "oneof o { string a = 1; }",
        "ONEOF_ADDED #/A/o",
        "FIELD_SCALAR_KIND_CHANGED #/A/o/1",
    ),
    _fields(
        "a oneof is split",
        "oneof o { int32 a = 1; int32 b = 2; }",
        "oneof o { int32 a = 1; } oneof p { int32 b = 2; }",
        "ONEOF_ADDED #/A/p",
    ),
    _fields(
        "an optional field is no oneof",
        "optional int32 a = 1;",
        "optional int32 a = 1; optional int32 b = 2;",
        "FIELD_ADDED #/A/2",
    ),
    _fields(
        "a oneof in a nested message",
        "message B { oneof o { int32 a = 1; int32 b = 2; } }",
        "message B { oneof o { int32 a = 1; } }",
        "ONEOF_FIELD_REMOVED #/A/B/o/2",
    ),
]

CASES = [*FILES, *ENUMS, *FIELDS, *MAPS, *ONEOFS]
