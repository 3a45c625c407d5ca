"""Random Avro schemas, and changed copies of them. Most are valid."""

import json
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["A", "B", "C", "n.A", "n.B", "m.n.C"])
FIELD_NAMES = st.sampled_from(["a", "b", "c", "d"])
PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
SYMBOLS = ["S", "T", "U"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1.5, -2e10, 0.0001, "x", 'é\n"\\']),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["y", "x"]), inner, max_size=2)
    ),
    max_leaves=3,
)


def default_of(kind: Any) -> st.SearchStrategy[Any]:
    """A default that fits the type, as far as the type alone tells."""
    if isinstance(kind, list):
        return default_of(kind[0]) if kind else JSON_VALUES
    name = kind if isinstance(kind, str) else kind.get("type")
    simple: dict[Any, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "int": st.sampled_from([0, -1, 2**31 - 1, 2**31]),
        "long": st.sampled_from([0, 2**31, -(2**63), 2**63]),
        "float": st.sampled_from([0, 1.5, "1.25", 1e10, 3]),
        "double": st.sampled_from([0, 1.1, 1e-5, 12345678.9, "NaN"]),
        "bytes": st.sampled_from(["", "ÿ"]),
        "string": st.sampled_from(["", "s"]),
        "array": st.just([]),
        "map": st.just({}),
        "record": st.just({}),
        "fixed": st.just("xy"),
        "enum": st.sampled_from(SYMBOLS),
    }
    return simple.get(name, JSON_VALUES)


@st.composite
def fields(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> list[dict[str, Any]]:
    """The fields of a record."""
    found = []
    for name in draw(st.lists(FIELD_NAMES, max_size=3, unique=draw(st.integers(0, 9)) > 0)):
        field: dict[str, Any] = {"name": name, "type": draw(inner)}
        if draw(st.booleans()):
            field["default"] = draw(default_of(field["type"]) if draw(st.integers(0, 5)) else JSON_VALUES)
        if draw(st.integers(0, 3)) == 0:
            field["aliases"] = draw(st.lists(FIELD_NAMES, max_size=2))
        field |= draw(extras(["doc", "order", "x"]))
        found.append(field)
    return found


def extras(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Members that most schemas do not have."""
    values: dict[str, st.SearchStrategy[Any]] = {
        "doc": st.sampled_from(["", "d"]),
        "order": st.sampled_from(["ascending", "descending", "ignore"]),
        "x": JSON_VALUES,
        "namespace": st.sampled_from(["", "n", "m.n"]),
        "logicalType": st.sampled_from(["date", "decimal", "uuid", "nothing"]),
        "precision": st.integers(-1, 6),
        "default": st.sampled_from(SYMBOLS),
    }
    chosen = st.fixed_dictionaries({}, optional={key: values[key] for key in keys})
    return st.one_of(st.just({}), st.just({}), chosen)


@st.composite
def named(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    """A record, an enum or a fixed."""
    kind = draw(st.sampled_from(["record", "record", "record", "enum", "fixed", "error"]))
    schema: dict[str, Any] = {"type": kind, "name": draw(NAMES)}
    if draw(st.integers(0, 3)) == 0:
        schema["aliases"] = draw(st.lists(NAMES, max_size=2))
    schema |= draw(extras(["doc", "x", "namespace", "logicalType", "precision", "default"]))
    if kind == "enum":
        schema["symbols"] = draw(st.lists(st.sampled_from(SYMBOLS), max_size=3, unique=True))
    elif kind == "fixed":
        schema["size"] = draw(st.integers(1, 3))
    else:
        schema["fields"] = draw(fields(inner))
    return schema


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    """An array, a map or a union."""
    kind = draw(st.sampled_from(["array", "map", "union", "union"]))
    if kind == "union":
        return draw(
            st.lists(inner.filter(lambda one: not isinstance(one, list)), max_size=3, unique_by=json.dumps)
        )
    return {"type": kind, "items" if kind == "array" else "values": draw(inner)} | draw(extras(["x", "doc"]))


def primitives() -> st.SearchStrategy[Any]:
    """A primitive type, a name, or either as an object."""
    words = st.sampled_from([*PRIMITIVES, *PRIMITIVES, "A", "B", "n.A"])
    return st.one_of(
        words,
        words,
        st.builds(lambda kind, more: {"type": kind} | more, words, extras(["x", "logicalType", "precision"])),
    )


DOCUMENTS = st.recursive(primitives(), lambda inner: st.one_of(named(inner), containers(inner)), max_leaves=8)


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """The document with a few differences."""
    if isinstance(document, str):
        if draw(st.integers(0, 4)) == 0 and document in PRIMITIVES:
            return draw(st.sampled_from(PRIMITIVES))
        return document
    if isinstance(document, list):
        kept = [branch for branch in document if draw(st.integers(0, 5))]
        return [draw(changed(branch)) for branch in kept]
    copy = dict(document)
    for key in ("items", "values"):
        if key in copy:
            copy[key] = draw(changed(copy[key]))
    if isinstance(copy.get("fields"), list):
        kept = [field for field in copy["fields"] if draw(st.integers(0, 4))]
        copy["fields"] = [field | {"type": draw(changed(field["type"]))} for field in kept]
    if "symbols" in copy:
        copy["symbols"] = [symbol for symbol in copy["symbols"] if draw(st.integers(0, 4))]
    if "size" in copy:
        copy["size"] = draw(st.integers(1, 3))
    if "name" in copy and draw(st.integers(0, 5)) == 0:
        copy["name"] = draw(NAMES)
    return copy


@st.composite
def document_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two schemas with much in common."""
    document = draw(DOCUMENTS)
    return json.dumps(document), json.dumps(draw(changed(document)))
