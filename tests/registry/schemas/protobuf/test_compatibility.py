"""Our verdicts on `.proto` files are those of the tables."""

# ruff: noqa: E501 - a table is read by its lines

import pytest

from gralha.registry.schemas import Reference, parse
from gralha.registry.schemas.protobuf.compatibility import differences
from gralha.registry.schemas.protobuf.schema import ProtobufSchema, parse_protobuf
from tests.registry.schemas.protobuf.cases import CASES, INCOMPATIBLE, Case
from tests.registry.schemas.protobuf.kinds import MARKS, file_with, pairs


def found(original: str, update: str) -> set[str]:
    sides = parse_protobuf(original).side(), parse_protobuf(update).side()
    return {f"{difference.kind} {difference.path}" for difference in differences(*sides)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_has_its_differences(case: Case) -> None:
    assert found(case.original, case.update) == case.differences
    problems = parse_protobuf(case.update).backward_problems(parse_protobuf(case.original))
    kinds = [difference.split()[0] for difference in case.differences]
    assert len(problems) == len([kind for kind in kinds if kind in INCOMPATIBLE])


@pytest.mark.parametrize(("original", "update", "mark"), pairs())
def test_types_change_into_each_other_as_the_matrix_says(original: str, update: str, mark: str) -> None:
    assert found(file_with(original), file_with(update)) == set(MARKS[mark])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_normal_form_has_the_same_differences(case: Case) -> None:
    original, update = parse_protobuf(case.original), parse_protobuf(case.update)
    problems = update.backward_problems(original)
    assert sorted(update.normalized().backward_problems(original.normalized())) == sorted(problems)


def test_there_are_enough_cases() -> None:
    assert len(CASES) + len(pairs()) >= 300
    assert len({case.name for case in CASES}) == len(CASES) > 100


def test_a_problem_has_confluents_words() -> None:
    old = parse("PROTOBUF", 'syntax = "proto3"; message A { int32 a = 1; } message B {}')
    new = parse("PROTOBUF", 'syntax = "proto3"; package p; message A { string a = 1; }')
    assert new.backward_problems(old) == [
        (
            '{errorType:"PACKAGE_CHANGED", description:"The package at \'#/\' in the new schema does not match the '
            'package in the old schema"}'
        ),
        (
            '{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"The kind of a SCALAR field at path \'#/A/1\' in '
            'the new schema does not match its kind in the old schema"}'
        ),
        (
            '{errorType:"MESSAGE_REMOVED", description:"The new schema is missing a MESSAGE type at path \'#/B\' in '
            'the old schema"}'
        ),
    ]


MAIN = 'syntax = "proto3"; import "dep.proto"; message A { dep.D d = 1; }'
DEPENDENCY = 'syntax = "proto3"; package dep; message D { int32 x = 1; E e = 2; } message E { int32 y = 1; }'
CHANGED = DEPENDENCY.replace("int32 y", "string y")


def with_dependency(text: str, version: int, main: str = MAIN) -> ProtobufSchema:
    return parse_protobuf(main, [Reference("dep.proto", "dep", version)], {"dep.proto": text})


def test_the_same_version_of_a_reference_is_not_compared() -> None:
    assert with_dependency(CHANGED, 1).backward_problems(with_dependency(DEPENDENCY, 1)) == []


def test_another_version_of_a_reference_is_compared() -> None:
    problems = with_dependency(CHANGED, 2).backward_problems(with_dependency(DEPENDENCY, 1))
    kinds = [problem.split('"')[1] for problem in problems]
    assert kinds == ["FIELD_SCALAR_KIND_CHANGED", "FIELD_NAMED_TYPE_CHANGED", "FIELD_NAMED_TYPE_CHANGED"]
    assert "'#/E/1'" in problems[0]
    assert "'#/A/1'" in problems[2]
    assert with_dependency(DEPENDENCY + " ", 2).backward_problems(with_dependency(DEPENDENCY, 1)) == []


def test_a_message_may_move_into_a_reference_in_its_package() -> None:
    old = parse_protobuf('syntax = "proto3"; message A { D d = 1; } message D { int32 x = 1; }')
    new = parse_protobuf(
        'syntax = "proto3"; import "d.proto"; message A { D d = 1; }',
        [Reference("d.proto", "d", 1)],
        {"d.proto": 'syntax = "proto3"; message D { int32 x = 1; }'},
    )
    assert [problem.split('"')[1] for problem in new.backward_problems(old)] == ["MESSAGE_REMOVED"]


def test_references_that_refer_to_each_other_are_compared_once() -> None:
    text = 'syntax = "proto3"; package dep; message D { E e = 1; D d = 2; } message E { D d = 1; E e = 2; }'
    new = with_dependency(text.replace("E e = 2;", "E e = 2; int32 y = 3;"), 2)
    assert new.backward_problems(with_dependency(text, 1)) == []


def diamonds(last: str) -> str:
    """Messages that each refer twice to the next one: two to the power of forty paths."""
    messages = [f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(40)]
    return f'syntax = "proto3"; package dep; {" ".join(messages)} message M40 {{ {last} x = 1; }}'


def test_many_paths_to_one_message_take_no_time_or_end_in_a_problem() -> None:
    main = MAIN.replace("dep.D", "dep.M0")
    old = with_dependency(diamonds("int32"), 1, main)
    assert with_dependency(diamonds("int64"), 2, main).backward_problems(old) == []
    problems = with_dependency(diamonds("string"), 2, main).backward_problems(old)
    assert problems
    assert len(problems) <= 1000


def test_chains_of_messages_that_are_too_deep_are_a_problem() -> None:
    messages = [f"message M{n} {{ M{n + 1} a = 1; }}" for n in range(5000)]
    text = f'syntax = "proto3"; package dep; {" ".join(messages)} message M5000 {{ int32 x = 1; }}'
    main = MAIN.replace("dep.D", "dep.M0")
    (problem,) = with_dependency(text, 2, main).backward_problems(with_dependency(text, 1, main))
    assert "too deep" in problem


def test_other_formats_are_not_read() -> None:
    assert parse("PROTOBUF", MAIN.replace("dep.D", "A")).backward_problems(parse("AVRO", '"int"')) == [
        "Incompatible because of different schema type"
    ]
