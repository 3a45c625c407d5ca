"""Which versions a level compares a new schema with, in which direction, and what it says."""

import pytest

from gralha.registry.schemas import (
    BACKWARD,
    BACKWARD_TRANSITIVE,
    FORWARD,
    FORWARD_TRANSITIVE,
    FULL,
    FULL_TRANSITIVE,
    LENIENT,
    LEVELS,
    NONE,
    ParsedSchema,
    parse,
    problems,
)


def record(*fields: str) -> ParsedSchema:
    """A record with these fields of integers. A field with a "?" has a default."""
    parts = []
    for field in fields:
        default = ',"default":0' if field.endswith("?") else ""
        parts.append(f'{{"name":"{field.rstrip("?")}","type":"int"{default}}}')
    return parse("AVRO", f'{{"type":"record","name":"R","fields":[{",".join(parts)}]}}')


A, AB, AB_DEFAULT, B = record("a"), record("a", "b"), record("a", "b?"), record("b")

# The new schema, the previous ones, and the levels that refuse it.
CASES = [
    ("nothing changes", A, [A], set()),
    ("there is no previous version", A, [], set()),
    ("a field is added", AB, [A], {BACKWARD, BACKWARD_TRANSITIVE, FULL, FULL_TRANSITIVE}),
    ("a field is removed", A, [AB], {FORWARD, FORWARD_TRANSITIVE, FULL, FULL_TRANSITIVE}),
    ("a field with a default is added", AB_DEFAULT, [A], set()),
    ("a field with a default is removed", A, [AB_DEFAULT], set()),
    ("a field is replaced", B, [A], set(LEVELS) - {NONE}),
    ("only an older version does not fit", AB, [A, AB], {BACKWARD_TRANSITIVE, FULL_TRANSITIVE}),
    ("only an older version cannot read", A, [AB, A], {FORWARD_TRANSITIVE, FULL_TRANSITIVE}),
    (
        "a default in between helps nobody",
        AB,
        [A, AB_DEFAULT],
        {BACKWARD_TRANSITIVE, FULL_TRANSITIVE},
    ),
    ("the type of schema changes", parse("JSON", "{}"), [A], set(LEVELS) - {NONE}),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "new", "previous", "refusing"), CASES, ids=[case[0] for case in CASES])
def test_a_level_refuses_what_it_must(
    name: str, new: ParsedSchema, previous: list[ParsedSchema], refusing: set[str], level: str
) -> None:
    versions = list(enumerate(previous, 1))
    assert bool(problems(level, new, versions)) == (level in refusing), name


ADDED = (
    "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'b' at path '/fields/1' in the "
    "%s schema has no default value and is missing in the %s schema', additionalInfo:'b'}"
)


def test_backward_says_what_the_new_schema_cannot_read() -> None:
    assert problems(BACKWARD, AB, [(3, A)]) == [
        ADDED % ("new", "old"),
        "{oldSchemaVersion: 3}",
        f"{{oldSchema: '{A.canonical}'}}",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    ]


def test_forward_says_what_the_old_schema_cannot_read() -> None:
    assert problems(FORWARD_TRANSITIVE, A, [(1, AB), (2, A)], validate_fields=True) == [
        ADDED % ("old", "new"),
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{AB.canonical}'}}",
        "{validateFields: 'true', compatibility: 'FORWARD_TRANSITIVE'}",
    ]


def test_full_says_both_and_quotes_the_old_schema_with_the_backward_problems_only() -> None:
    assert [message.split(":")[0] for message in problems(FULL, B, [(1, A)])] == [
        "{errorType",
        "{errorType",
        "{oldSchemaVersion",
        "{oldSchema",
        "{validateFields",
    ]
    assert [message.split(":")[0] for message in problems(FULL, A, [(1, AB)])] == [
        "{errorType",
        "{validateFields",
    ]


def test_the_newest_version_that_does_not_fit_is_named() -> None:
    assert "{oldSchemaVersion: 2}" in problems(BACKWARD_TRANSITIVE, AB, [(1, A), (2, A), (3, AB)])


def test_a_long_schema_is_quoted_in_part() -> None:
    old = record("a", *(f"a_field_with_a_long_name_{n}" for n in range(400)))
    quoted = problems(BACKWARD, B, [(1, old)])[2]
    assert quoted.startswith('{oldSchema: <truncated> \'{"type":"record"')
    assert quoted.endswith("...'}")
    assert len(quoted) < 10_300


def test_another_type_of_schema_is_the_only_problem() -> None:
    assert problems(FULL, parse("PROTOBUF", "message A {}"), [(1, A)]) == [
        "Incompatible because of different schema type",
        "{validateFields: 'false', compatibility: 'FULL'}",
    ]


def test_the_policy_reaches_json_schema() -> None:
    old, new = (
        parse("JSON", '{"type":"object"}'),
        parse("JSON", '{"type":"object","additionalProperties":false}'),
    )
    assert problems(BACKWARD, new, [(1, old)])
    assert problems(BACKWARD, new, [(1, old)], policy=LENIENT) == []
