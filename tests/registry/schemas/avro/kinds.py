"""Every kind of Avro type against every other: `MATRIX` says what reads what.

A row is the reader, a column the writer. "+" means that the reader can read the writer's data.
"""

import json

# A schema for each kind, in the order of the matrix.
KINDS = {
    "null": '"null"',
    "boolean": '"boolean"',
    "int": '"int"',
    "long": '"long"',
    "float": '"float"',
    "double": '"double"',
    "bytes": '"bytes"',
    "string": '"string"',
    "array": '{"type":"array","items":"int"}',
    "map": '{"type":"map","values":"int"}',
    "record": '{"type":"record","name":"R","fields":[]}',
    "enum": '{"type":"enum","name":"E","symbols":["A"]}',
    "fixed": '{"type":"fixed","name":"F","size":2}',
}

MATRIX = """
          null boolean int long float double bytes string array map record enum fixed
null      +    -       -   -    -     -      -     -      -     -   -      -    -
boolean   -    +       -   -    -     -      -     -      -     -   -      -    -
int       -    -       +   -    -     -      -     -      -     -   -      -    -
long      -    -       +   +    -     -      -     -      -     -   -      -    -
float     -    -       +   +    +     -      -     -      -     -   -      -    -
double    -    -       +   +    +     +      -     -      -     -   -      -    -
bytes     -    -       -   -    -     -      +     +      -     -   -      -    -
string    -    -       -   -    -     -      +     +      -     -   -      -    -
array     -    -       -   -    -     -      -     -      +     -   -      -    -
map       -    -       -   -    -     -      -     -      -     +   -      -    -
record    -    -       -   -    -     -      -     -      -     -   +      -    -
enum      -    -       -   -    -     -      -     -      -     -   -      +    -
fixed     -    -       -   -    -     -      -     -      -     -   -      -    +
"""


def pairs() -> list[tuple[str, str, bool]]:
    """Each pair of kinds, and whether the first reads the second."""
    header, *rows = MATRIX.strip().splitlines()
    writers = header.split()
    found = []
    for row in rows:
        reader, *marks = row.split()
        found += [(reader, writer, mark == "+") for writer, mark in zip(writers, marks, strict=True)]
    return found


def field(schema: str) -> str:
    """A record with one field of this type."""
    return json.dumps(
        {"type": "record", "name": "Outer", "fields": [{"name": "f", "type": json.loads(schema)}]}
    )
