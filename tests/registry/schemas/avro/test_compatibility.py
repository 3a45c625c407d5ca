"""Our verdicts on Avro schemas are those of the tables and of the Java library."""

# ruff: noqa: E501 - a table is read by its lines

import pytest

from gralha.registry.schemas import parse
from gralha.registry.schemas.avro.compatibility import find_problems
from gralha.registry.schemas.avro.schema import parse_avro
from tests.apache.avro.oracle import AvroOracle
from tests.registry.schemas.avro.cases import CASES, Case
from tests.registry.schemas.avro.kinds import KINDS, field, pairs

CHAIN = 5_000


def problems(reader: str, writer: str) -> tuple[tuple[str, str, str], ...]:
    found = find_problems(parse_avro(reader).root, parse_avro(writer).root)
    return tuple((kind, path, message) for kind, path, message in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_has_its_problems(case: Case, java: AvroOracle) -> None:
    found = problems(case.reader, case.writer)
    assert tuple(f"{kind} {path}" for kind, path, _ in found) == case.problems
    assert found == java.compare(case.reader, case.writer).problems


@pytest.mark.parametrize(("reader", "writer", "reads"), pairs())
def test_kinds_read_each_other_as_the_matrix_says(
    reader: str, writer: str, reads: bool, java: AvroOracle
) -> None:
    for wrap in (str, field):
        found = problems(wrap(KINDS[reader]), wrap(KINDS[writer]))
        assert (not found) == reads
        assert found == java.compare(wrap(KINDS[reader]), wrap(KINDS[writer])).problems


def test_there_are_enough_cases() -> None:
    assert len(CASES) + len(pairs()) >= 300
    assert len({case.name for case in CASES}) > 140


def test_a_problem_has_confluents_words() -> None:
    old = parse("AVRO", '{"type":"record","name":"R","fields":[{"name":"f1","type":"string"}]}')
    new = parse(
        "AVRO",
        '{"type":"record","name":"R","fields":[{"name":"f1","type":"string"},{"name":"f2","type":"string"}]}',
    )
    assert new.backward_problems(old) == [
        (
            "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'f2' at path "
            "'/fields/1' in the new schema has no default value and is missing in the old schema', additionalInfo:'f2'}"
        )
    ]


@pytest.mark.parametrize(
    ("reader", "writer", "words"),
    [
        ('"int"', '"string"', "The type (path '/') of a field in the new schema does not match with the old"),
        (
            '["int"]',
            '"string"',
            "The new schema is missing a type inside a union field at path '/' in the old",
        ),
        (
            '{"type":"enum","name":"E","symbols":["A"]}',
            '{"type":"enum","name":"E","symbols":["C","B"]}',
            "The new schema is missing enum symbols '[B, C]' at path '/symbols' in the old schema",
        ),
        (
            '{"type":"fixed","name":"F","size":1}',
            '{"type":"fixed","name":"F","size":2}',
            "The size of FIXED type field at path '/size' in the new schema does not match with the old",
        ),
        (
            '{"type":"fixed","name":"F","size":1}',
            '{"type":"fixed","name":"G","size":1}',
            "The name of the schema has changed (path '/name')",
        ),
    ],
)
def test_the_other_problems_have_confluents_words_too(reader: str, writer: str, words: str) -> None:
    (problem,) = parse_avro(reader).backward_problems(parse_avro(writer))
    assert words in problem


def test_a_field_that_matches_two_fields_of_the_writer_is_a_problem(java: AvroOracle) -> None:
    reader = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","aliases":["b"]}]}'
    writer = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'
    (problem,) = parse_avro(reader).backward_problems(parse_avro(writer))
    assert problem.startswith(
        "Unexpected exception during compatibility check: Reader record field a type:INT"
    )
    assert "matches multiple fields" in str(java.compare(reader, writer).error)


def test_schemas_of_different_formats_do_not_read_each_other() -> None:
    class Other:
        schema_type = "OTHER"

    assert parse_avro('"int"').backward_problems(Other()) == [  # type: ignore[arg-type]
        "Incompatible because of different schema type"
    ]


def chain(last: str) -> str:
    """A union of records, each of which has the one before it as its field."""
    first = f'{{"type":"record","name":"R0","fields":[{{"name":"f","type":"{last}"}}]}}'
    records = [
        f'{{"type":"record","name":"R{n}","fields":[{{"name":"f","type":"R{n - 1}"}}]}}'
        for n in range(1, CHAIN)
    ]
    return f"[{','.join([first, *records])}]"


def test_a_chain_of_names_that_is_deeper_than_the_stack_is_compared() -> None:
    old = parse_avro(chain("int")).root.inner[-1]
    new = parse_avro(chain("string")).root.inner[-1]
    assert find_problems(old, old) == ()
    ((kind, path, _),) = find_problems(new, old)
    assert kind == "TYPE_MISMATCH"
    assert path.endswith("/fields/0/type/fields/0/type")


def test_too_large_a_comparison_is_a_problem_and_not_a_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gralha.registry.schemas.avro.compatibility.COMPARISONS_MAX", 1000)
    branches = [f'{{"type":"record","name":"R{n}","fields":[]}}' for n in range(100)]
    others = [f'{{"type":"record","name":"S{n}","fields":[]}}' for n in range(100)]
    reader, writer = (parse_avro(f"[{','.join(names)}]") for names in (branches, others))
    (problem,) = reader.backward_problems(writer)
    assert "too large" in problem
