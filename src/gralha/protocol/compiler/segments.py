"""How a field looks in the versions of its structure, and the tests that distinguish these versions.

A field is the same in a range of versions: present or not, nullable or not. `segments` finds these ranges.
`choose` writes the `if` chain over them. A field that is the same in all versions needs no test.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gralha.protocol.compiler.model import Field, Struct, Versions

Lines = list[str]


@dataclass(frozen=True)
class Segment:
    """Versions in which a field is present or absent, nullable or not."""

    versions: Versions
    present: bool
    nullable: bool
    # True if these versions use the compact form. None if only the flexible ones among them do.
    compact: bool | None


def segments(struct: Struct, field: Field) -> list[Segment]:
    """The segments of a field. Newest versions come first, those without the field last."""
    found: list[list[int]] = []
    for version in struct.versions:
        if found and _alike(field, found[-1][-1], version):
            found[-1].append(version)
        else:
            found.append([version])
    ordered = sorted(found, key=lambda versions: (versions[0] not in field.versions, -versions[0]))
    return [_segment(struct, field, Versions(versions[0], versions[-1])) for versions in ordered]


def _alike(field: Field, one: int, other: int) -> bool:
    same_presence = (one in field.versions) == (other in field.versions)
    return same_presence and (one in field.nullable) == (other in field.nullable)


def _segment(struct: Struct, field: Field, versions: Versions) -> Segment:
    flexible = struct.flexible.intersection(versions)
    compact: bool | None = None if flexible else False
    if flexible == versions:
        compact = True
    if field.classic or not _has_compact_form(field):
        compact = False
    return Segment(versions, versions.low in field.versions, versions.low in field.nullable, compact)


def _has_compact_form(field: Field) -> bool:
    return field.is_array or field.type in ("string", "bytes", "records")


def choose(struct: Struct, field: Field, body: Callable[[Segment], Lines]) -> Lines:
    """The lines of each segment, below the tests of the version."""
    remaining = set(struct.versions)
    lines: Lines = []
    stretches = segments(struct, field)
    if len(stretches) > 1 and not body(stretches[-1]):
        stretches.pop()
    for segment in stretches:
        condition = condition_for(struct, segment.versions, remaining)
        remaining -= set(segment.versions)
        inner = body(segment)
        if not condition and not lines:
            return inner
        lines += _branch(condition, inner or ["pass"], first=not lines, last=segment is stretches[-1])
    return lines


def _branch(condition: str, inner: Lines, first: bool, last: bool) -> Lines:
    """One branch of an `if` chain. If the last branch has only an `if`, both tests are joined."""
    keyword = "if" if first else "elif"
    only_if = inner[0].startswith("if ") and all(line.startswith(" ") for line in inner[1:])
    if only_if and last:
        test = inner[0].removeprefix("if ").removesuffix(":")
        if condition and " or " in test:
            test = f"({test})"
        both = f"{condition} and {test}" if condition else test
        return [f"{keyword} {both}:", *inner[1:]]
    return [f"{keyword} {condition}:" if condition else "else:", *indent(inner)]


def condition_for(struct: Struct, wanted: Versions, remaining: set[int]) -> str:
    """The test that is true for the wanted versions and false for the other remaining ones."""
    above = any(version > wanted.high for version in remaining)
    below = any(version < wanted.low for version in remaining)
    if above and below:
        exact = wanted.low == wanted.high
        return f"version == {wanted.low}" if exact else f"{wanted.low} <= version <= {wanted.high}"
    if below:
        return "flexible" if wanted.low == mixed_from(struct) else f"version >= {wanted.low}"
    if above:
        return "not flexible" if wanted.high + 1 == mixed_from(struct) else f"version <= {wanted.high}"
    return ""


def mixed_from(struct: Struct) -> int | None:
    """The first flexible version of a structure that also has other versions."""
    return struct.flexible.low if struct.flexible and struct.flexible != struct.versions else None


def indent(lines: Lines) -> Lines:
    return ["    " + line for line in lines]
