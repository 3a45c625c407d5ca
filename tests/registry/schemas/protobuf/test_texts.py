"""Canonical and normalized texts of `.proto` files, descriptors in base64, and texts that are no schemas."""

# ruff: noqa: E501 - a table is read by its lines

import base64
import contextlib
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from gralha.registry.schemas import InvalidSchemaError, Reference, parse
from gralha.registry.schemas.protobuf.known import known_files
from gralha.registry.schemas.protobuf.schema import parse_protobuf
from tests.registry.schemas.protobuf.compiler import compile_proto, sorted_descriptor
from tests.registry.schemas.protobuf.files import EDITION, SAMPLES, SHARED, Sample

samples = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@samples
def test_the_canonical_text_means_the_same_to_the_compiler(sample: Sample, tmp_path: Path) -> None:
    schema = parse("PROTOBUF", sample.text, (), sample.imports)
    original = compile_proto(sample.text, sample.imports, tmp_path)
    canonical = compile_proto(schema.canonical, sample.imports, tmp_path)
    assert sorted_descriptor(canonical) == sorted_descriptor(original)


@samples
def test_the_normal_text_means_the_same_to_the_compiler(sample: Sample, tmp_path: Path) -> None:
    schema = parse("PROTOBUF", sample.text, (), sample.imports)
    original = compile_proto(sample.text, sample.imports, tmp_path)
    normal = compile_proto(schema.normalized().canonical, sample.imports, tmp_path)
    assert sorted_descriptor(normal) == sorted_descriptor(original)


@samples
def test_the_serialized_form_is_the_compilers(sample: Sample, tmp_path: Path) -> None:
    schema = parse("PROTOBUF", sample.text, (), sample.imports)
    ours = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.raw_or_format("serialized")))
    theirs = compile_proto(sample.text, sample.imports, tmp_path)
    ours.name = theirs.name
    assert without_custom_options(sorted_descriptor(ours)) == without_custom_options(
        sorted_descriptor(theirs)
    )


def without_custom_options(file: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    file.DiscardUnknownFields()
    for message in file.message_type:
        if not message.options.ListFields():
            message.ClearField("options")
        for field in message.field:
            if not field.options.ListFields():
                field.ClearField("options")
    return file


@samples
def test_texts_are_stable(sample: Sample) -> None:
    schema = parse("PROTOBUF", sample.text, (), sample.imports)
    again = parse("PROTOBUF", schema.canonical, (), sample.imports)
    assert again.canonical == schema.canonical
    normal = schema.normalized()
    assert normal.normalized().canonical == normal.canonical
    assert again.normalized().canonical == normal.canonical
    assert schema.backward_problems(normal) == normal.backward_problems(schema) == []


@samples
def test_a_descriptor_in_base64_is_a_schema(sample: Sample, tmp_path: Path) -> None:
    schema = parse("PROTOBUF", sample.text, (), sample.imports)
    descriptor = compile_proto(sample.text, sample.imports, tmp_path)
    encoded = base64.b64encode(descriptor.SerializeToString()).decode()
    decoded = parse("PROTOBUF", encoded, (), sample.imports)
    assert decoded.backward_problems(schema) == []
    # A descriptor has no groups in Confluent's reading, and map entries of its own until it is normalized.
    if "group" not in sample.text:
        assert schema.backward_problems(decoded) == []
        normal = compile_proto(decoded.normalized().canonical, sample.imports, tmp_path)
        assert without_custom_options(sorted_descriptor(normal)) == without_custom_options(
            sorted_descriptor(descriptor)
        )


CANONICAL = [
    ('syntax="proto3";message A{}', 'syntax = "proto3";\n\nmessage A {}\n'),
    ("message A{optional int32 a=1;}", "\nmessage A {\n  optional int32 a = 1;\n}\n"),
    (
        'syntax="proto3";package a.b;import "google/protobuf/any.proto";message A{int32 a=1;oneof x{string b=2;}}',
        (
            'syntax = "proto3";\npackage a.b;\n\nimport "google/protobuf/any.proto";\n\n'
            "message A {\n  int32 a = 1;\n\n  oneof x {\n    string b = 2;\n  }\n}\n"
        ),
    ),
    (
        'syntax="proto3";enum E{A=0;}message M{message N{}N n=1;enum F{B=0;}}',
        (
            'syntax = "proto3";\n\nmessage M {\n  N n = 1;\n\n  message N {}\n  enum F {\n    B = 0;\n  }\n}\n'
            "enum E {\n  A = 0;\n}\n"
        ),
    ),
    (
        'syntax="proto3";message M{message N{message O{}O o=1;}N n=1;}',
        'syntax = "proto3";\n\nmessage M {\n  N n = 1;\n\n  message N {\n    O o = 1;\n  \n    message O {}\n  }\n}\n',
    ),
    (
        'syntax="proto3";message M{reserved 1,3 to 4;reserved "a";int32 b=2[deprecated=true];}',
        (
            'syntax = "proto3";\n\nmessage M {\n  reserved 1, 3 to 4;\n  reserved "a";\n\n'
            "  int32 b = 2 [deprecated = true];\n}\n"
        ),
    ),
    (
        'syntax="proto2";message M{optional string s=1[default="d",json_name="j",deprecated=true];}',
        (
            'syntax = "proto2";\n\nmessage M {\n  optional string s = 1 [\n    deprecated = true,\n    default = "d",\n'
            '    json_name = "j"\n  ];\n}\n'
        ),
    ),
    (
        'syntax="proto2";message M{extensions 5,7 to max;repeated group G=1{optional int32 a=1;}}',
        (
            'syntax = "proto2";\n\nmessage M {\n  repeated group G = 1 {\n    optional int32 a = 1;\n  }\n\n'
            "  extensions 5, 7 to max;\n}\n"
        ),
    ),
    (
        'syntax="proto3";message A{}service S{rpc R(A)returns(stream A){option deprecated=true;}}',
        (
            'syntax = "proto3";\n\nmessage A {}\n\nservice S {\n  rpc R (A) returns (stream A) {\n'
            "    option deprecated = true;\n  };\n}\n"
        ),
    ),
    (
        'syntax="proto3";enum E{reserved 5;A=0;}option java_package="x";',
        'syntax = "proto3";\n\noption java_package = "x";\n\nenum E {\n  reserved 5;\n  A = 0;\n}\n',
    ),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_the_canonical_text_has_confluents_layout(text: str, canonical: str) -> None:
    assert parse("PROTOBUF", text).canonical == canonical


NORMAL = [
    (
        'syntax="proto3";package p;message A{B b=2;int32 a=1;}message B{}',
        'syntax = "proto3";\npackage p;\n\nmessage A {\n  int32 a = 1;\n  .p.B b = 2;\n}\nmessage B {}\n',
    ),
    ('syntax="proto2";message A{}', "\nmessage A {}\n"),
    (
        'syntax="proto3";import "b.proto";import "a.proto";import "b.proto";message A{}',
        'syntax = "proto3";\n\nimport "a.proto";\nimport "b.proto";\n\nmessage A {}\n',
    ),
    (
        'syntax="proto3";message A{oneof z{int32 d=4;int32 c=3;}oneof y{int32 b=2;}}',
        (
            'syntax = "proto3";\n\nmessage A {\n  oneof y {\n    int32 b = 2;\n  }\n'
            "  oneof z {\n    int32 c = 3;\n    int32 d = 4;\n  }\n}\n"
        ),
    ),
    (
        'syntax="proto3";message A{reserved 9,2 to 2,"b","a";enum E{Z=0;C=2;B=1;}}',
        (
            'syntax = "proto3";\n\nmessage A {\n  reserved 2;\n  reserved 9;\n  reserved "a";\n  reserved "b";\n\n'
            "  enum E {\n    Z = 0;\n    B = 1;\n    C = 2;\n  }\n}\n"
        ),
    ),
    (
        'syntax="proto3";option ruby_package="r";option java_package="j";message A{}',
        'syntax = "proto3";\n\noption java_package = "j";\noption ruby_package = "r";\n\nmessage A {}\n',
    ),
    (
        'syntax="proto2";message A{optional double a=1[default=1.23456];optional int32 b=2[default=0x10];}',
        "\nmessage A {\n  optional double a = 1 [default = 1.235];\n  optional int32 b = 2 [default = 16];\n}\n",
    ),
]


@pytest.mark.parametrize(("text", "normal"), NORMAL)
def test_the_normal_text_is_sorted_and_has_full_names(text: str, normal: str) -> None:
    assert parse("PROTOBUF", text).normalized().canonical == normal


INVALID = [
    "",
    "{",
    "hello",
    '{"type":"string"}',
    'syntax = "proto4"; message A {}',
    'syntax = "proto3"',
    'message A {} syntax = "proto3";',
    'syntax = "proto3"; syntax = "proto3";',
    'syntax = "proto3"; message {}',
    'syntax = "proto3"; message A {',
    'syntax = "proto3"; message A }',
    'syntax = "proto3"; message A { int32 a; }',
    'syntax = "proto3"; message A { int32 a = ; }',
    'syntax = "proto3"; message A { int32 a = x; }',
    'syntax = "proto3"; message A { int32 a = 1 }',
    'syntax = "proto3"; message A { int32 1a = 1; }',
    'syntax = "proto3"; message A-B {}',
    'syntax = "proto3"; message A { required int32 a = 1; }',
    'syntax = "proto3"; message A { Missing a = 1; }',
    'syntax = "proto3"; message A { map<string, Missing> a = 1; }',
    'syntax = "proto3"; message A { map<double, int32> a = 1; }',
    'syntax = "proto3"; message A { map<A, int32> a = 1; }',
    'syntax = "proto3"; message A { repeated map<string, int32> a = 1; }',
    'syntax = "proto3"; message A { oneof x { map<string, int32> a = 1; } }',
    'syntax = "proto3"; message A { oneof x { repeated int32 a = 1; } }',
    'syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }',
    'syntax = "proto3"; message A { int32 a = 1; int32 a = 2; }',
    'syntax = "proto3"; message A { int32 a = 1; oneof x { int32 b = 1; } }',
    'syntax = "proto3"; message A { int32 a = 0; }',
    'syntax = "proto3"; message A { int32 a = 19000; }',
    'syntax = "proto3"; message A { int32 a = 536870912; }',
    'syntax = "proto3"; message A { int32 a = 99999999999; }',
    'syntax = "proto3"; message A { reserved 1; int32 a = 1; }',
    'syntax = "proto3"; message A { reserved 1 to 5; int32 a = 3; }',
    'syntax = "proto3"; message A { reserved "a"; int32 a = 3; }',
    'syntax = "proto3"; message A {} message A {}',
    'syntax = "proto3"; message A { message B {} enum B { C = 0; } }',
    'syntax = "proto3"; enum E {}',
    'syntax = "proto3"; enum E { A = 1; }',
    'syntax = "proto3"; enum E { A = 0; B = 0; }',
    'syntax = "proto3"; enum E { A = 0; A = 1; }',
    'syntax = "proto3"; service S { rpc A (B) returns (C); }',
    'syntax = "proto3"; message A { int32 a = 1 [deprecated]; }',
    'syntax = "proto3"; message A { int32 a = 1 [deprecated = true; }',
    'syntax = "proto3"; option java_package = "x;',
    'syntax = "proto3"; /* message A {}',
    'syntax = "proto3"; import weird "a.proto";',
    "message A { int32 a = 1; }",
    "message A { optional int32 a = 1; optional Missing b = 2; }",
    'syntax = "proto2"; extend Missing { optional int32 a = 100; }',
    "AAAA",
    "not base64!",
]


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_file_is_refused_with_a_reason(text: str) -> None:
    if not text:
        # An empty file is a file without declarations.
        assert parse("PROTOBUF", text).canonical == ""
        return
    with pytest.raises(InvalidSchemaError) as refusal:
        parse("PROTOBUF", text)
    assert str(refusal.value)


def test_a_syntax_error_says_where_it_is() -> None:
    with pytest.raises(InvalidSchemaError, match="Line 2, column 16: expected '='"):
        parse("PROTOBUF", 'syntax = "proto3";\nmessage A { x y; }')


def test_an_edition_is_kept() -> None:
    schema = parse("PROTOBUF", EDITION)
    assert schema.canonical.startswith('edition = "2023";\npackage e;\n')
    assert (
        parse("PROTOBUF", schema.normalized().canonical).normalized().canonical
        == schema.normalized().canonical
    )
    descriptor = descriptor_pb2.FileDescriptorProto.FromString(
        base64.b64decode(schema.raw_or_format("serialized"))
    )
    assert descriptor.edition == descriptor_pb2.EDITION_2023
    assert descriptor.options.features.field_presence == descriptor_pb2.FeatureSet.IMPLICIT


def test_extensions_can_be_left_out() -> None:
    text = (
        'syntax="proto2";import "google/protobuf/descriptor.proto";import "confluent/meta.proto";'
        "extend google.protobuf.FieldOptions{optional string note=50000;}"
        'message A{optional int32 a=1[(note)="n",(confluent.field_meta).doc="d",deprecated=true];extensions 5;}'
    )
    shown = parse("PROTOBUF", text).raw_or_format("ignore_extensions")
    assert "note" not in shown
    assert "extensions" not in shown
    assert "confluent.field_meta" in shown
    assert "deprecated" in shown


def test_an_unknown_format_is_the_canonical_text() -> None:
    schema = parse("PROTOBUF", SHARED)
    assert schema.raw_or_format("other") == schema.raw_or_format(" ") == schema.canonical


def test_references_are_kept_and_ordered_in_the_normal_form() -> None:
    references = [Reference("b.proto", "b", 2), Reference("a.proto", "a", 1)]
    schema = parse(
        "PROTOBUF", SHARED, references, {"b.proto": SHARED.replace("shared", "other"), "a.proto": ""}
    )
    assert schema.references == tuple(references)
    assert schema.normalized().references == (references[1], references[0])


def test_a_registered_file_need_not_keep_todays_rules() -> None:
    text = 'syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }'
    assert parse("PROTOBUF", text, new=False).canonical
    with pytest.raises(InvalidSchemaError):
        parse("PROTOBUF", text)


def test_top_level_fields_are_those_of_all_messages() -> None:
    schema = parse(
        "PROTOBUF", 'syntax="proto3";message A{int32 a=1;oneof o{int32 b=2;}}message C{int32 c=1;}'
    )
    assert [name for name in "abcdo" if schema.has_top_level_field(name)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "text",
    [
        'syntax = "proto3"; ' + "message A { " * 100_000,
        'syntax = "proto3"; ' + "message A { " * 65 + "}" * 65,
        'syntax = "proto3"; message A { ' + "map<" * 100_000,
        'syntax = "proto3"; option a = ' + "{a:" * 100_000,
        'syntax = "proto3"; option a = ' + "[" * 100_000,
        'syntax = "proto3"; option (a)' + ".a" * 100_000 + " = 1;",
        'syntax = "proto3"; message A { B' + ".b" * 100_000 + " a = 1; }",
        "/*" * 100_000,
        "'" * 100_001,
        "A" * 1_000_000,
    ],
)
def test_deep_and_endless_files_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_protobuf(text)


def test_a_file_of_ten_megabytes_is_parsed() -> None:
    fields = "".join(
        f"  string a_field_with_a_rather_long_name_{n} = {n + 20_000};\n" for n in range(170_000)
    )
    text = f'syntax = "proto3";\nmessage Big {{\n{fields}}}\n'
    assert len(text) > 9_000_000
    schema = parse_protobuf(text)
    assert schema.canonical.count("\n") == 170_004
    assert schema.backward_problems(schema) == []


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet='{}[]<>=;:,."/*\\ messagroptin0123'))
def test_any_text_is_a_schema_or_invalid(text: str) -> None:
    for start in ("", 'syntax = "proto3"; message A { '):
        try:
            schema = parse_protobuf(start + text)
        except InvalidSchemaError:
            continue
        assert parse_protobuf(schema.canonical).canonical == schema.canonical


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_in_base64_are_a_schema_or_invalid(data: bytes) -> None:
    with contextlib.suppress(InvalidSchemaError):
        parse_protobuf(base64.b64encode(data).decode()).normalized()


@pytest.mark.parametrize("name", ["", "A B", 'A"', "é"])
def test_a_descriptor_with_a_name_that_cannot_be_written_is_refused(name: str) -> None:
    descriptor = descriptor_pb2.FileDescriptorProto(syntax="proto3")
    descriptor.message_type.add(name=name)
    with pytest.raises(InvalidSchemaError):
        parse_protobuf(base64.b64encode(descriptor.SerializeToString()).decode())


@pytest.mark.parametrize("name", sorted(known_files()))
def test_the_types_of_google_and_confluent_need_no_reference(name: str) -> None:
    file = known_files()[name]
    fields = [f"{file.package}.{one.name} f{number} = {number};" for number, one in enumerate(file.types, 1)]
    text = f'syntax = "proto3"; import "{name}"; message Uses {{ {" ".join(fields)} }}'
    schema = parse("PROTOBUF", text)
    assert f"  .{file.package}.{file.types[0].name} f1 = 1;" in schema.normalized().canonical
    assert schema.backward_problems(parse("PROTOBUF", text)) == []
