"""Every type of a field changed into every other: `MATRIX` says what data survives that.

"+" is a compatible change, "k" a change between scalars, maps and messages, "s" one between scalars of different
kinds, and "t" one between different messages.
"""

# ruff: noqa: E501 - a table is read by its lines

TYPES = {
    "enum": "E",
    "message": "M",
    "other": "N",
    "map": "map<string, int32>",
    "of_m": "map<string, M>",
}

MATRIX = """
         double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64 bool string bytes enum message other map of_m
double   +      s     s     s     s      s      s      s      s       s       s        s        s    s      s     s    k       k     k   k
float    s      +     s     s     s      s      s      s      s       s       s        s        s    s      s     s    k       k     k   k
int32    s      s     +     +     +      +      s      s      s       s       s        s        +    s      s     +    k       k     k   k
int64    s      s     +     +     +      +      s      s      s       s       s        s        +    s      s     +    k       k     k   k
uint32   s      s     +     +     +      +      s      s      s       s       s        s        +    s      s     +    k       k     k   k
uint64   s      s     +     +     +      +      s      s      s       s       s        s        +    s      s     +    k       k     k   k
sint32   s      s     s     s     s      s      +      +      s       s       s        s        s    s      s     s    k       k     k   k
sint64   s      s     s     s     s      s      +      +      s       s       s        s        s    s      s     s    k       k     k   k
fixed32  s      s     s     s     s      s      s      s      +       s       +        s        s    s      s     s    k       k     k   k
fixed64  s      s     s     s     s      s      s      s      s       +       s        +        s    s      s     s    k       k     k   k
sfixed32 s      s     s     s     s      s      s      s      +       s       +        s        s    s      s     s    k       k     k   k
sfixed64 s      s     s     s     s      s      s      s      s       +       s        +        s    s      s     s    k       k     k   k
bool     s      s     +     +     +      +      s      s      s       s       s        s        +    s      s     +    k       k     k   k
string   s      s     s     s     s      s      s      s      s       s       s        s        s    +      +     s    k       k     k   k
bytes    s      s     s     s     s      s      s      s      s       s       s        s        s    +      +     s    k       k     k   k
enum     s      s     +     +     +      +      s      s      s       s       s        s        +    s      s     +    k       k     k   k
message  k      k     k     k     k      k      k      k      k       k       k        k        k    k      k     k    +       t     k   k
other    k      k     k     k     k      k      k      k      k       k       k        k        k    k      k     k    t       +     k   k
map      k      k     k     k     k      k      k      k      k       k       k        k        k    k      k     k    k       k     +   k
of_m     k      k     k     k     k      k      k      k      k       k       k        k        k    k      k     k    k       k     k   +
"""

MARKS = {
    "+": (),
    "k": ("FIELD_KIND_CHANGED #/A/1",),
    "s": ("FIELD_SCALAR_KIND_CHANGED #/A/1",),
    "t": ("FIELD_NAMED_TYPE_CHANGED #/A/1",),
}


def pairs() -> list[tuple[str, str, str]]:
    """Each pair of types and its mark."""
    header, *rows = MATRIX.strip().splitlines()
    updates = header.split()
    found = []
    for row in rows:
        original, *marks = row.split()
        found += [(original, update, mark) for update, mark in zip(updates, marks, strict=True)]
    return found


def file_with(kind: str) -> str:
    """A file with a message that has one field of this type."""
    return (
        'syntax = "proto3"; enum E { Z = 0; } message M { int32 x = 1; } message N { int32 x = 1; } '
        f"message A {{ {TYPES.get(kind, kind)} f = 1; }}"
    )
