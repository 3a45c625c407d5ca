"""Every kind of JSON schema changed into every other: `MATRIX` says what data survives that.

A row is the original, a column the update. "+" means that the update accepts the original's data.
"""

from typing import Any

KINDS: dict[str, Any] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "object": {"type": "object"},
    "array": {"type": "array"},
    "enum": {"enum": ["a", "b"]},
    "const": {"const": "a"},
    "not": {"not": {"type": "string"}},
    "any": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    "all": {"allOf": [{"type": "string"}, {"minLength": 1}]},
    "empty": {},
    "true": True,
    "false": False,
}

MATRIX = """
         string number integer boolean null object array enum const not any all empty true false
string   +      -      -       -       -    -      -     -    -     -   +   -   +     +    -
number   -      +      -       -       -    -      -     -    -     -   +   -   +     +    -
integer  -      +      +       -       -    -      -     -    -     -   +   -   +     +    -
boolean  -      -      -       +       -    -      -     -    -     -   -   -   +     +    -
null     -      -      -       -       +    -      -     -    -     -   -   -   +     +    -
object   -      -      -       -       -    +      -     -    -     -   -   -   +     +    -
array    -      -      -       -       -    -      +     -    -     -   -   -   +     +    -
enum     -      -      -       -       -    -      -     +    -     -   -   -   +     +    -
const    -      -      -       -       -    -      -     -    +     -   -   -   +     +    -
not      -      -      -       -       -    -      -     -    -     +   -   -   +     +    -
any      -      -      -       -       -    -      -     -    -     -   +   -   +     +    -
all      +      -      -       -       -    -      -     -    -     -   -   +   +     +    -
empty    -      -      -       -       -    -      -     -    -     -   -   -   +     +    -
true     -      -      -       -       -    -      -     -    -     -   -   -   +     +    -
false    +      +      +       +       +    +      +     +    +     +   +   +   +     +    +
"""


def pairs() -> list[tuple[str, str, bool]]:
    """Each pair of kinds, and whether the change is compatible."""
    header, *rows = MATRIX.strip().splitlines()
    updates = header.split()
    found = []
    for row in rows:
        original, *marks = row.split()
        found += [(original, update, mark == "+") for update, mark in zip(updates, marks, strict=True)]
    return found
