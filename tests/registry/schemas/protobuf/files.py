"""Valid `.proto` files of many kinds."""

# ruff: noqa: E501 - a table is read by its lines

from typing import NamedTuple


class Sample(NamedTuple):
    """A file and the files that it imports."""

    name: str
    text: str
    imports: dict[str, str] = {}


SHARED = """
syntax = "proto3";
package shared.types;
message Money { string currency = 1; int64 units = 2; }
enum Unit { UNIT_UNKNOWN = 0; KILO = 1; }
"""

BASE = """
syntax = "proto2";
package base;
message Base { extensions 100 to 199; extensions 500; optional int32 id = 1; }
"""

SAMPLES = [
    Sample("an empty message", 'syntax = "proto3"; message A {}'),
    Sample("no syntax", "message A { optional int32 a = 1; required string b = 2; repeated bytes c = 3; }"),
    Sample(
        "proto2",
        """
        syntax = "proto2";
        package p.q;
        option java_package = "com.example"; option optimize_for = SPEED; option java_multiple_files = true;
        message A {
          required int32 a = 1; optional string b = 2 [default = "x\\"y\\n'"]; repeated int64 c = 3 [packed = true];
          optional E e = 4 [default = TWO, deprecated = true];
          optional double d = 5 [default = -1.5]; optional bool f = 6 [default = true];
          optional group G = 7 { optional int32 x = 1; }
          enum E { ONE = 1; TWO = 2; }
          extensions 100 to max;
          reserved 20, 30 to 40; reserved "old", "older";
        }
        extend A { optional int32 extra = 100; }
        """,
    ),
    Sample(
        "proto3",
        """
        syntax = "proto3";
        message A {
          double a = 1; float b = 2; int32 c = 3; int64 d = 4; uint32 e = 5; uint64 f = 6; sint32 g = 7;
          sint64 h = 8; fixed32 i = 9; fixed64 j = 10; sfixed32 k = 11; sfixed64 l = 12; bool m = 13;
          string n = 14; bytes o = 15; repeated int32 p = 16; optional int32 q = 17;
          map<string, int32> r = 18; map<int32, A> s_t = 19; map<bool, E> u = 20;
          enum E { ZERO = 0; ONE = 1; }
        }
        """,
    ),
    Sample(
        "fields out of order",
        'syntax = "proto3"; message A { int32 c = 3; int32 a = 1; oneof x { int32 e = 5; int32 d = 4; } int32 b = 2; }',
    ),
    Sample(
        "oneofs",
        """
        syntax = "proto3";
        message A {
          oneof second { string c = 3; B d = 4; }
          oneof first { int32 a = 1; bytes b = 2 [deprecated = true]; }
          message B { oneof inner { A a = 1; } }
        }
        """,
    ),
    Sample(
        "nested types",
        """
        syntax = "proto3"; package deep;
        message A { message B { message C { enum D { D0 = 0; } D d = 1; } C c = 1; A.B.C.D d = 2; } B.C c = 1; }
        message E { A.B b = 1; deep.A.B.C c = 2; .deep.A a = 3; A.B.C.D d = 4; }
        """,
    ),
    Sample(
        "names in inner scopes hide outer ones",
        'syntax = "proto3"; package p; message A { message B { int32 x = 1; } B b = 1; } message B { A.B b = 1; B c = 2; }',
    ),
    Sample(
        "well-known types",
        """
        syntax = "proto3";
        import "google/protobuf/timestamp.proto"; import "google/protobuf/any.proto";
        import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto";
        message A {
          google.protobuf.Timestamp a = 1; google.protobuf.Any b = 2; google.protobuf.StringValue c = 3;
          google.protobuf.Struct d = 4; map<string, google.protobuf.Value> e = 5;
        }
        """,
    ),
    Sample(
        "an import",
        """
        syntax = "proto3"; package shop;
        import "shared/types.proto";
        message Order { shared.types.Money price = 1; shared.types.Unit unit = 2; }
        """,
        {"shared/types.proto": SHARED},
    ),
    Sample(
        "a public import",
        'syntax = "proto3"; import public "shared/types.proto"; message A { shared.types.Money m = 1; }',
        {"shared/types.proto": SHARED},
    ),
    Sample(
        "an extension of an import",
        """
        syntax = "proto2"; package more;
        import "base.proto";
        extend base.Base { optional string name = 100; repeated Extra extras = 101; }
        extend base.Base { optional int32 code = 500; }
        message Extra { optional base.Base base = 1; extend base.Base { optional Extra inner = 150; } }
        """,
        {"base.proto": BASE},
    ),
    Sample(
        "custom options",
        """
        syntax = "proto3"; package opt;
        import "google/protobuf/descriptor.proto";
        message Rule { string name = 1; repeated int32 codes = 2; Rule inner = 3; bool on = 4; double rate = 5; }
        extend google.protobuf.FieldOptions { Rule rule = 50001; string note = 50002; repeated string tags = 50003; }
        extend google.protobuf.MessageOptions { Rule message_rule = 50001; }
        message A {
          option (message_rule).name = "a"; option (message_rule).inner.on = true; option (message_rule).inner.rate = 0.5;
          string a = 1 [(rule) = {name: "x", codes: [1, 2], inner {on: false}}, (note) = "it's"];
          string b = 2 [(tags) = "one", (tags) = "two", (opt.note) = "n", deprecated = true];
          string c = 3 [(.opt.rule).codes = 5];
        }
        """,
    ),
    Sample(
        "services",
        """
        syntax = "proto3";
        message In {} message Out {}
        service S {
          option deprecated = true;
          rpc A (In) returns (Out); rpc B (stream In) returns (stream Out) {}
          rpc C (In) returns (stream Out) { option deprecated = true; option idempotency_level = IDEMPOTENT; }
        }
        """,
    ),
    Sample(
        "enums",
        """
        syntax = "proto3";
        enum A { option allow_alias = true; ZERO = 0; NULL = 0 [deprecated = true]; HEX = 0x10; reserved 5 to 7, 100 to max; reserved "OLD"; }
        enum B { B0 = 0; B2 = 2; B1 = 1; }
        """,
    ),
    Sample(
        "comments and spaces",
        """
        /* first */ syntax /* a */ = // b
        'proto3' ; // c
        package  a . b ;  /* d */ message /**/ A // e
        { int32 /* f */ a // g
         = 1 ; ; /* "not a string" */ } ;
        """.replace("a . b", "a.b"),
    ),
    Sample(
        "strings",
        """syntax = "proto2"; message A {
          optional string a = 1 [default = 'a' "b" 'c']; optional bytes b = 2 [default = "\\x41\\102\\\\"];
          optional string c = 3 [default = "é\\t\\"'"]; optional string d = 4 [json_name = "D"];
        }""",
    ),
    Sample(
        "words of the language as names",
        """
        syntax = "proto3";
        message message { string package = 1; int32 option = 2; bool import = 3; string returns = 4; string syntax = 5; }
        """,
    ),
]
EDITION = """
edition = "2023";
package e;
option features.field_presence = IMPLICIT;
message A { int32 a = 1 [features.field_presence = EXPLICIT]; repeated A b = 2; reserved old; }
"""
