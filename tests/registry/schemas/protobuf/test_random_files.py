"""Random files: our texts mean to Protobuf's compiler what the originals mean."""

import base64
import tempfile
from pathlib import Path

from google.protobuf import descriptor_pb2
from hypothesis import HealthCheck, given, settings

from gralha.registry.schemas.protobuf.schema import parse_protobuf
from tests.registry.schemas.protobuf.compiler import compile_proto, sorted_descriptor
from tests.registry.schemas.protobuf.random_files import proto_files


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(proto_files())
def test_all_texts_of_a_file_mean_the_same_to_the_compiler(text: str) -> None:
    schema = parse_protobuf(text)
    with tempfile.TemporaryDirectory() as folder:
        original = sorted_descriptor(compile_proto(text, {}, Path(folder)))
        for written in (schema.canonical, schema.normalized().canonical):
            assert sorted_descriptor(compile_proto(written, {}, Path(folder))) == original
    serialized = base64.b64decode(schema.raw_or_format("serialized"))
    ours = descriptor_pb2.FileDescriptorProto.FromString(serialized)
    ours.name = original.name
    assert sorted_descriptor(ours) == original
    encoded = parse_protobuf(base64.b64encode(original.SerializeToString()).decode())
    assert encoded.backward_problems(schema) == schema.backward_problems(encoded) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(proto_files(), proto_files())
def test_the_normal_forms_of_two_files_have_the_same_problems(first: str, second: str) -> None:
    old, new = parse_protobuf(first), parse_protobuf(second)
    problems = new.backward_problems(old)
    assert sorted(new.normalized().backward_problems(old.normalized())) == sorted(problems)
    assert old.backward_problems(old) == []
