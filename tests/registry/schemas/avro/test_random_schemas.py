"""Random schemas: our parser and our verdicts beside those of the Java library."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gralha.registry.schemas import InvalidSchemaError
from gralha.registry.schemas.avro.compatibility import AmbiguousFieldError, find_problems
from gralha.registry.schemas.avro.schema import AvroSchema, parse_avro
from tests.apache.avro.oracle import AvroOracle
from tests.registry.schemas.avro.random_schemas import DOCUMENTS, document_pairs

# One Java process answers all examples.
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def parsed(text: str) -> AvroSchema | None:
    try:
        return parse_avro(text)
    except InvalidSchemaError:
        return None


@settings(max_examples=600, deadline=None, suppress_health_check=SHARED)
@given(DOCUMENTS.map(json.dumps))
def test_a_schema_is_valid_and_written_as_in_java(java: AvroOracle, text: str) -> None:
    ours, theirs = parsed(text), java.parse(text)
    assert (ours is None) == (theirs.error is not None), theirs.error
    if ours is not None:
        assert ours.canonical == theirs.canonical
        assert ours.raw_or_format("resolved") == theirs.resolved
        assert java.parse(ours.canonical).canonical == ours.canonical


@settings(max_examples=600, deadline=None, suppress_health_check=SHARED)
@given(document_pairs())
def test_a_pair_has_the_problems_that_java_finds(java: AvroOracle, pair: tuple[str, str]) -> None:
    reader, writer = parsed(pair[0]), parsed(pair[1])
    if reader is None or writer is None:
        return
    theirs = java.compare(*pair)
    try:
        ours = find_problems(reader.root, writer.root)
    except AmbiguousFieldError:
        assert "matches multiple fields" in str(theirs.error)
        return
    assert theirs.error is None
    assert tuple(map(tuple, ours)) == theirs.problems


@settings(max_examples=200, deadline=None, suppress_health_check=SHARED)
@given(DOCUMENTS.map(json.dumps))
def test_a_normal_form_is_its_own_normal_form(java: AvroOracle, text: str) -> None:
    ours = parsed(text)
    if ours is not None:
        normal = ours.normalized()
        assert normal.normalized().canonical == normal.canonical
        assert java.parse(normal.canonical).canonical == normal.canonical


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet='{}[]":,/*\\ typefixdrcos0123'))
def test_any_text_is_a_schema_or_invalid(text: str) -> None:
    parsed(text)
