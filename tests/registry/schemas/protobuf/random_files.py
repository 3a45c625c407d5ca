"""Random `.proto` files that Protobuf's compiler accepts."""

from hypothesis import strategies as st

SCALARS = ["int32", "sint64", "fixed32", "double", "bool", "string", "bytes", "uint32"]
OPTIONS = ["", " [deprecated = true]", ' [json_name = "j%d"]', ' [deprecated = true, json_name = "k%d"]']
COMMENTS = ["", " ", "\n", " // note\n", " /* { ; */ "]


@st.composite
def proto_files(draw: st.DrawFn) -> str:
    """A file of proto2 or proto3, with messages that use each other."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    package = draw(st.sampled_from(["", "package p;", "package a.b;"]))
    names = draw(st.lists(st.sampled_from(["A", "B", "C", "D"]), min_size=1, max_size=3, unique=True))
    parts = [f'syntax = "{syntax}";', package]
    if draw(st.booleans()):
        parts.append('option java_package = "x.y";')
    parts += [draw(messages(name, names, syntax, 0)) for name in names]
    if draw(st.booleans()):
        parts.append("enum E { ZERO = 0; TWO = 2; ONE = 1; }")
    if draw(st.integers(0, 3)) == 0:
        parts.append(f"service S {{ rpc R (stream {names[0]}) returns ({names[-1]}); }}")
    return draw(st.sampled_from(COMMENTS)).join(parts)


@st.composite
def messages(draw: st.DrawFn, name: str, names: list[str], syntax: str, depth: int) -> str:
    """A message with fields, oneofs, nested types and reserved numbers."""
    inner = []
    types = list(names)
    if depth < 2 and draw(st.booleans()):
        nested = draw(st.sampled_from(["N", "M", *names]))
        types.append(nested)
        inner.append(draw(messages(nested, types, syntax, depth + 1)))
    if draw(st.integers(0, 3)) == 0:
        inner.append("enum Kind { KIND_ZERO = 0; KIND_B = 5; KIND_A = 3; }")
        types.append("Kind")
    numbers = draw(st.lists(st.integers(1, 40), max_size=5, unique=True))
    fields = [draw(field(number, types, syntax)) for number in numbers]
    if draw(st.integers(0, 2)) == 0:
        members = draw(st.lists(st.integers(41, 60), min_size=1, max_size=3, unique=True))
        kinds = st.sampled_from([*SCALARS, *types])
        listed = " ".join(f"{draw(kinds)} o{number} = {number};" for number in members)
        inner.append(f"oneof choice {{ {listed} }}")
    if draw(st.integers(0, 3)) == 0:
        inner.append('reserved 70, 80 to 90, 100 to max; reserved "gone";')
    declarations = draw(st.permutations([*fields, *inner]))
    return f"message {name} {{ {draw(st.sampled_from(COMMENTS)).join(declarations)} }}"


@st.composite
def field(draw: st.DrawFn, number: int, types: list[str], syntax: str) -> str:
    """A field of any type."""
    options = draw(st.sampled_from(OPTIONS))
    options = options % number if "%d" in options else options
    if draw(st.integers(0, 4)) == 0:
        value = draw(st.sampled_from([*SCALARS, *types]))
        key = draw(st.sampled_from(["string", "int32", "bool"]))
        return f"map<{key}, {value}> m{number} = {number}{options};"
    kind = draw(st.sampled_from([*SCALARS, *types]))
    labels = ["optional ", "repeated "] if syntax == "proto2" else ["", "optional ", "repeated "]
    return f"{draw(st.sampled_from(labels))}{kind} f{number} = {number}{options};"
