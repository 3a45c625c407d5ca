"""Whether data of one Avro schema can be read with another, as Java's SchemaCompatibility decides.

Each pair of types is compared once. A pair inside of itself counts as compatible. The comparison runs on
a stack of generators of its own, because types that refer to each other by name can be nested deeper than
Python's stack.
"""

from collections.abc import Generator
from typing import NamedTuple

from gralha.registry.schemas.avro.model import NO_DEFAULT, Field, Type
from gralha.registry.schemas.interface import (
    COMPARISONS_MAX,
    PROBLEMS_MAX,
    READER,
    TOO_LARGE,
    WRITER,
)


class Problem(NamedTuple):
    """One incompatibility: Java's name of it, where it is, and Java's message."""

    kind: str
    path: str
    message: str


class AmbiguousFieldError(Exception):
    """Java's check fails with an exception because a field and its aliases match more than one field."""


class TooLargeError(Exception):
    """The two schemas need too many comparisons."""


class Path(NamedTuple):
    """Where a type is: the parts of its path from the last one to the first."""

    parent: "Path | None"
    part: str

    def __truediv__(self, part: str | int) -> "Path":
        return Path(self, str(part))

    def text(self) -> str:
        """The path as a JSON pointer. Only the end of an extremely long one is shown."""
        parts: list[str] = []
        step = self
        while step.parent is not None and len(parts) < _PATH_PARTS_MAX:
            parts.append(step.part.replace("~", "~0").replace("/", "~1"))
            step = step.parent
        return "/" + "/".join(reversed(parts))


_PATH_PARTS_MAX = 1000
# Their results are kept, so they also have a limit of their own.
_NAMED_PAIRS_MAX = 300_000
_ROOT = Path(None, "")

Problems = tuple[Problem, ...]
# A step of the comparison asks for the problems of another pair.
Step = Generator[tuple[Type, Type, Path], Problems, Problems]

# Data of these kinds can be read as the kind of the key.
_PROMOTIONS = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}


def templates(reader: Type, writer: Type) -> list[str]:
    """The problems in Confluent's words."""
    try:
        found = find_problems(reader, writer)
    except TooLargeError:
        return [TOO_LARGE]
    except AmbiguousFieldError as error:
        return [f"Unexpected exception during compatibility check: {error}"]
    return [_template(problem) for problem in found]


def _template(problem: Problem) -> str:
    kind, path, message = problem
    descriptions = {
        "FIXED_SIZE_MISMATCH": f"The size of FIXED type field at path '{path}' in the {READER} schema does "
        f"not match with the {WRITER} schema",
        "TYPE_MISMATCH": f"The type (path '{path}') of a field in the {READER} schema does not match with "
        f"the {WRITER} schema",
        "NAME_MISMATCH": f"The name of the schema has changed (path '{path}')",
        "MISSING_ENUM_SYMBOLS": f"The {READER} schema is missing enum symbols '{message}' at path '{path}' "
        f"in the {WRITER} schema",
        "MISSING_UNION_BRANCH": f"The {READER} schema is missing a type inside a union field at path "
        f"'{path}' in the {WRITER} schema",
        "READER_FIELD_MISSING_DEFAULT_VALUE": f"The field '{message}' at path '{path}' in the {READER} "
        f"schema has no default value and is missing in the {WRITER} schema",
    }
    return f"{{errorType:'{kind}', description:'{descriptions[kind]}', additionalInfo:'{message}'}}"


def find_problems(reader: Type, writer: Type) -> Problems:
    """The reasons why the reader cannot read the writer's data."""
    results: dict[tuple[int, int] | None, Problems] = {}
    stack: list[tuple[tuple[int, int] | None, Step]] = []
    asked: tuple[Type, Type, Path] | None = (reader, writer, _ROOT)
    answer: Problems = ()
    steps = 0
    while True:
        if asked is not None and asked[0].is_shared and asked[1].is_shared:
            answer, asked = _compare_plain(*asked), None
            if not stack:
                return answer
        if asked is not None:
            pair = _key(asked[0], asked[1])
            if pair in results:
                answer, asked = results[pair], None
            else:
                steps += 1
                if steps > COMPARISONS_MAX or len(results) > _NAMED_PAIRS_MAX:
                    raise TooLargeError
                if pair is not None:
                    results[pair] = ()
                stack.append((pair, _compare(*asked)))
        try:
            # A generator that has just been made takes None, one that has asked takes the answer.
            step = stack[-1][1]
            asked = next(step) if asked is not None else step.send(answer)
        except StopIteration as done:
            pair, _ = stack.pop()
            answer, asked = done.value[:PROBLEMS_MAX], None
            if pair is not None:
                results[pair] = answer
            if not stack:
                return answer


def _key(reader: Type, writer: Type) -> tuple[int, int] | None:
    """The key of a pair that may be asked for again: types without a name have one place each."""
    return (id(reader), id(writer)) if reader.name is not None and writer.name is not None else None


def _problem(kind: str, path: Path, message: str) -> Problems:
    return (Problem(kind, path.text(), message),)


def _compare_plain(reader: Type, writer: Type, path: Path) -> Problems:
    if reader is writer or writer.kind in _PROMOTIONS.get(reader.kind, ()):
        return ()
    return _mismatch(reader, writer, path)


def _mismatch(reader: Type, writer: Type, path: Path) -> Problems:
    kinds = (reader.kind.upper(), writer.kind.upper())
    return _problem(
        "TYPE_MISMATCH", path, f"reader type: {kinds[0]} not compatible with writer type: {kinds[1]}"
    )


def _compare(reader: Type, writer: Type, path: Path) -> Step:
    kind = reader.kind
    if kind != writer.kind:
        return (yield from _compare_different(reader, writer, path))
    if kind == "array":
        return (yield (reader.inner[0], writer.inner[0], path / "items"))
    if kind == "map":
        return (yield (reader.inner[0], writer.inner[0], path / "values"))
    if kind == "union":
        return (yield from _compare_unions(reader, writer, path))
    if kind == "record":
        return _names(reader, writer, path) + (yield from _compare_fields(reader, writer, path))
    if kind == "enum":
        return _names(reader, writer, path) + _symbols(reader, writer, path)
    if kind == "fixed":
        return _names(reader, writer, path) + _sizes(reader, writer, path)
    return ()


def _compare_unions(reader: Type, writer: Type, path: Path) -> Step:
    found: Problems = ()
    for index, branch in enumerate(writer.inner):
        if (yield (reader, branch, _ROOT)) and len(found) < PROBLEMS_MAX:
            message = f"reader union lacking writer type: {branch.kind.upper()}"
            found += _problem("MISSING_UNION_BRANCH", path / index, message)
    return found


def _compare_different(reader: Type, writer: Type, path: Path) -> Step:
    if writer.kind == "union":
        found: Problems = ()
        for index, branch in enumerate(writer.inner):
            problems = yield (reader, branch, path / index)
            found = (found + problems)[:PROBLEMS_MAX]
        return found
    if reader.kind == "union":
        for branch in reader.inner:
            if not (yield (branch, writer, _ROOT)):
                return ()
        message = f"reader union lacking writer type: {writer.kind.upper()}"
        return _problem("MISSING_UNION_BRANCH", path, message)
    return _compare_plain(reader, writer, path)


def _compare_fields(reader: Type, writer: Type, path: Path) -> Step:
    found: Problems = ()
    for position, field in enumerate(reader.fields):
        at = path / "fields" / position
        written = _writer_field(writer, field, position)
        if written is not None:
            problems = yield (field.type, written.type, at / "type")
        elif field.default is not NO_DEFAULT:
            continue
        elif field.type.kind == "enum" and field.type.default_symbol is not None:
            # Java compares the enum with the whole record here, which never fits.
            problems = yield (field.type, writer, at / "type")
        else:
            problems = _problem("READER_FIELD_MISSING_DEFAULT_VALUE", at, field.name)
        found = (found + problems)[:PROBLEMS_MAX]
    return found


def _writer_field(writer: Type, field: Field, position: int) -> Field | None:
    candidates = [writer.by_name[name] for name in (field.name, *field.aliases) if name in writer.by_name]
    if len(candidates) > 1:
        raise AmbiguousFieldError(
            f"Reader record field {field.name} type:{field.type.kind.upper()} pos:{position} "
            f"matches multiple fields in writer record schema {writer.full_name}"
        )
    return candidates[0] if candidates else None


def _names(reader: Type, writer: Type, path: Path) -> Problems:
    assert reader.name is not None
    assert writer.name is not None
    if reader.name.simple == writer.name.simple or writer.full_name in reader.alias_names():
        return ()
    return _problem("NAME_MISMATCH", path / "name", f"expected: {writer.full_name}")


def _symbols(reader: Type, writer: Type, path: Path) -> Problems:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default_symbol is not None:
        return ()
    return _problem("MISSING_ENUM_SYMBOLS", path / "symbols", f"[{', '.join(missing)}]")


def _sizes(reader: Type, writer: Type, path: Path) -> Problems:
    if reader.size == writer.size:
        return ()
    return _problem("FIXED_SIZE_MISMATCH", path / "size", f"expected: {writer.size}, found: {reader.size}")
