"""Pairs of Avro schemas and the problems that Java's library finds, one line each.

A case is the reader, the writer, and the problems as "KIND path" with commas between them.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """A reader, a writer, and the problems between them."""

    name: str
    reader: str
    writer: str
    problems: tuple[str, ...]


def record(*fields: str, name: str = "R", more: str = "") -> str:
    """A record. A field is "name:type", where the type is JSON or a bare word, and may have more members."""
    parts = ",".join(_field(field) for field in fields)
    return f'{{"type":"record","name":"{name}","fields":[{parts}]{more}}}'


def _field(text: str) -> str:
    name, _, rest = text.partition(":")
    kind, bar, members = rest.partition(" | ")
    quoted = kind if kind.startswith(("{", "[")) else f'"{kind}"'
    return f'{{"name":"{name}","type":{quoted}{"," + members if bar else ""}}}'


def enum(symbols: str, name: str = "E", more: str = "") -> str:
    """An enum with these symbols."""
    listed = ",".join(f'"{symbol}"' for symbol in symbols.split())
    return f'{{"type":"enum","name":"{name}","symbols":[{listed}]{more}}}'


def fixed(size: int, name: str = "F", more: str = "") -> str:
    """A fixed of this size."""
    return f'{{"type":"fixed","name":"{name}","size":{size}{more}}}'


def union(*branches: str) -> str:
    """A union of branches: JSON or bare words."""
    return "[" + ",".join(b if b.startswith(("{", "[")) else f'"{b}"' for b in branches) + "]"


def array(items: str) -> str:
    """An array."""
    return (
        f'{{"type":"array","items":{items if items.startswith(("{", "[")) else chr(34) + items + chr(34)}}}'
    )


def map_of(values: str) -> str:
    """A map."""
    return (
        f'{{"type":"map","values":{values if values.startswith(("{", "[")) else chr(34) + values + chr(34)}}}'
    )


NO_DEFAULT = "READER_FIELD_MISSING_DEFAULT_VALUE"
BRANCH = "MISSING_UNION_BRANCH"
TYPE = "TYPE_MISMATCH"
NAME = "NAME_MISMATCH"
SYMBOLS = "MISSING_ENUM_SYMBOLS"
SIZE = "FIXED_SIZE_MISMATCH"

_A = record("a:int")
_LIST = record("next:" + union("null", "R"))
_TREE = record("children:" + array("R"))


def _case(name: str, reader: str, writer: str, problems: str = "") -> Case:
    quoted = [text if text.startswith(("{", "[")) else f'"{text}"' for text in (reader, writer)]
    return Case(name, quoted[0], quoted[1], tuple(part for part in problems.split(", ") if part))


RECORDS = [
    _case("the same record", _A, _A),
    _case("empty records", record(), record()),
    _case("a field is added without a default", record("a:int", "b:int"), _A, f"{NO_DEFAULT} /fields/1"),
    _case("a field is added with a default", record("a:int", 'b:int | "default":0'), _A),
    _case("a field is added with the default null", record("a:int", 'b:null | "default":null'), _A),
    _case(
        "a field is added with a nullable type and null",
        record('b:["null","int"] | "default":null'),
        record(),
    ),
    _case(
        "a nullable field is added without a default",
        record('b:["null","int"]'),
        record(),
        f"{NO_DEFAULT} /fields/0",
    ),
    _case("a field is removed", _A, record("a:int", "b:string")),
    _case("all fields are removed", record(), record("a:int", "b:string")),
    _case(
        "two fields are added without defaults",
        record("a:int", "b:int", "c:int"),
        _A,
        f"{NO_DEFAULT} /fields/1, {NO_DEFAULT} /fields/2",
    ),
    _case("fields are in another order", record("b:int", "a:int"), record("a:int", "b:int")),
    _case("a field is renamed", record("b:int"), _A, f"{NO_DEFAULT} /fields/0"),
    _case("a field is renamed with an alias", record('b:int | "aliases":["a"]'), _A),
    _case("a field is renamed with a default", record('b:int | "default":1'), _A),
    _case(
        "an alias of the writer does not count",
        _A,
        record('b:int | "aliases":["a"]'),
        f"{NO_DEFAULT} /fields/0",
    ),
    _case("an alias of another name", record('b:int | "aliases":["c"]'), _A, f"{NO_DEFAULT} /fields/0"),
    _case("the second alias matches", record('b:int | "aliases":["c","a"]'), _A),
    _case("an alias with another type", record('b:string | "aliases":["a"]'), _A, f"{TYPE} /fields/0/type"),
    _case("an alias with a promoted type", record('b:long | "aliases":["a"]'), _A),
    _case("a field changes its type", record("a:string"), _A, f"{TYPE} /fields/0/type"),
    _case("a field is promoted", record("a:long"), _A),
    _case("a field is demoted", _A, record("a:long"), f"{TYPE} /fields/0/type"),
    _case("a default does not mend a type", record('a:string | "default":"x"'), _A, f"{TYPE} /fields/0/type"),
    _case(
        "two fields change",
        record("a:string", "b:int"),
        record("a:int", "b:string"),
        f"{TYPE} /fields/0/type, {TYPE} /fields/1/type",
    ),
    _case("the record is renamed", record("a:int", name="S"), _A, f"{NAME} /name"),
    _case("the record is renamed with an alias", record("a:int", name="S", more=',"aliases":["R"]'), _A),
    _case(
        "the writer's alias does not count",
        _A,
        record("a:int", name="S", more=',"aliases":["R"]'),
        f"{NAME} /name",
    ),
    _case(
        "the record is renamed with another alias",
        record(name="S", more=',"aliases":["T"]'),
        record(),
        f"{NAME} /name",
    ),
    _case("the namespace changes", record(name="x.R"), record(name="y.R")),
    _case("a namespace is added", record(name="x.R"), record()),
    _case("an alias in the namespace", record(name="x.S", more=',"aliases":["R"]'), record(name="x.R")),
    _case(
        "an alias outside of the namespace",
        record(name="x.S", more=',"aliases":["R"]'),
        record(name="y.R"),
        f"{NAME} /name",
    ),
    _case("a full alias", record(name="x.S", more=',"aliases":["y.R"]'), record(name="y.R")),
    _case(
        "a full alias without a namespace",
        record(name="x.S", more=',"aliases":[".R"]'),
        record(),
        f"{NAME} /name",
    ),
    _case(
        "a name and a field change", record("b:int", name="S"), _A, f"{NAME} /name, {NO_DEFAULT} /fields/0"
    ),
    _case("doc changes", record("a:int", more=',"doc":"new"'), record("a:int", more=',"doc":"old"')),
    _case("the doc of a field changes", record('a:int | "doc":"new"'), _A),
    _case("the order of a field changes", record('a:int | "order":"descending"'), _A),
    _case("properties change", record("a:int", more=',"x":1'), record("a:int", more=',"x":2')),
    _case("a default changes", record('a:int | "default":1'), record('a:int | "default":2')),
    _case("a default is removed", _A, record('a:int | "default":2')),
    _case("an error and a record", record("a:int").replace('"record"', '"error"', 1), _A),
    _case(
        "a field inside of a field is added",
        record("x:" + record("a:int", "b:int", name="In")),
        record("x:" + record("a:int", name="In")),
        f"{NO_DEFAULT} /fields/0/type/fields/1",
    ),
    _case(
        "a field inside of a field is added with a default",
        record("x:" + record("a:int", 'b:int | "default":1', name="In")),
        record("x:" + record("a:int", name="In")),
    ),
    _case(
        "an inner record is renamed",
        record("x:" + record("a:int", name="New")),
        record("x:" + record("a:int", name="Old")),
        f"{NAME} /fields/0/type/name",
    ),
    _case(
        "an inner record is renamed with an alias",
        record("x:" + record("a:int", name="New", more=',"aliases":["Old"]')),
        record("x:" + record("a:int", name="Old")),
    ),
    _case(
        "an inner record replaces an int",
        record("x:" + record(name="In")),
        record("x:int"),
        f"{TYPE} /fields/0/type",
    ),
    _case(
        "two uses of one changed record",
        record("x:" + record("a:string", name="In"), "y:In"),
        record("x:" + record("a:int", name="In"), "y:In"),
        f"{TYPE} /fields/0/type/fields/0/type, {TYPE} /fields/0/type/fields/0/type",
    ),
    _case(
        "a field with an enum default has no value in the writer",
        record("a:" + enum("A B", more=',"default":"A"')),
        record(),
        f"{TYPE} /fields/0/type",
    ),
    _case(
        "a field with an enum without a default has no value in the writer",
        record("a:" + enum("A B")),
        record(),
        f"{NO_DEFAULT} /fields/0",
    ),
    _case(
        "a field with an enum default and a default of its own",
        record("a:" + enum("A B", more=',"default":"A"') + ' | "default":"B"'),
        record(),
    ),
    _case(
        "a nullable enum with a default is missing",
        record("a:" + union("null", enum("A", more=',"default":"A"'))),
        record(),
        f"{NO_DEFAULT} /fields/0",
    ),
]

UNIONS = [
    _case("the same union", union("null", "int"), union("null", "int")),
    _case("another order", union("int", "null"), union("null", "int")),
    _case("a branch is added", union("null", "int", "string"), union("null", "int")),
    _case("a branch is removed", union("null", "int"), union("null", "int", "boolean"), f"{BRANCH} /2"),
    _case(
        "two branches are removed", union("null"), union("null", "int", "string"), f"{BRANCH} /1, {BRANCH} /2"
    ),
    _case("a removed branch is promoted", union("null", "long"), union("null", "int", "long")),
    _case("a branch is promoted", union("null", "double"), union("null", "float")),
    _case("a branch is demoted", union("null", "float"), union("null", "double"), f"{BRANCH} /1"),
    _case("string reads bytes in a union", union("null", "string"), union("null", "bytes")),
    _case("a union reads one of its types", union("null", "int"), "int"),
    _case("a union reads a promoted type", union("null", "long"), "int"),
    _case("a union reads null", union("null", "int"), "null"),
    _case("a union lacks the type", union("null", "int"), "string", f"{BRANCH} /"),
    _case("a type reads a union of itself", "int", union("int")),
    _case("a type reads a union of smaller types", "double", union("int", "long", "float")),
    _case("a type does not read null", "int", union("null", "int"), f"{TYPE} /0"),
    _case(
        "a type does not read two branches", "int", union("null", "int", "string"), f"{TYPE} /0, {TYPE} /2"
    ),
    _case("an empty union reads an empty union", union(), union()),
    _case("an empty union reads nothing", union(), "int", f"{BRANCH} /"),
    _case("anything reads an empty union", "int", union()),
    _case("a union reads an empty union", union("int"), union()),
    _case("an empty union does not read a union", union(), union("int"), f"{BRANCH} /0"),
    _case("a field becomes nullable", record("a:" + union("null", "int")), _A),
    _case(
        "a field is not nullable any more",
        _A,
        record("a:" + union("null", "int")),
        f"{TYPE} /fields/0/type/0",
    ),
    _case("a record in a union", union("null", _A), union("null", _A)),
    _case(
        "a record in a union has another name",
        union("null", record("a:int", name="S")),
        union("null", _A),
        f"{BRANCH} /1",
    ),
    _case(
        "a record in a union has an alias",
        union("null", record("a:int", name="S", more=',"aliases":["R"]')),
        union("null", _A),
    ),
    _case(
        "a record in a union gets a field",
        union("null", record("a:int", "b:int")),
        union("null", _A),
        f"{BRANCH} /1",
    ),
    _case(
        "a record in a union gets a field with a default",
        union("null", record("a:int", 'b:int | "default":0')),
        union("null", _A),
    ),
    _case("one of two records fits", union(record("x:int", name="S"), record("a:int")), union(_A)),
    _case(
        "a record of the same name in another namespace fits", union(record("a:int", name="n.R")), union(_A)
    ),
    _case(
        "an enum in a union loses a symbol",
        union("null", enum("A")),
        union("null", enum("A B")),
        f"{BRANCH} /1",
    ),
    _case(
        "an enum in a union has a default",
        union("null", enum("A", more=',"default":"A"')),
        union("null", enum("A B")),
    ),
    _case("a fixed in a union grows", union("null", fixed(3)), union("null", fixed(2)), f"{BRANCH} /1"),
    _case("a fixed in a union is read by a second one", union(fixed(3, "G"), fixed(2)), union(fixed(2))),
    _case("arrays in unions", union("null", array("long")), union("null", array("int"))),
    _case(
        "arrays in unions do not fit",
        union("null", array("int")),
        union("null", array("long")),
        f"{BRANCH} /1",
    ),
    _case("maps in unions", union(map_of("string")), union(map_of("bytes"))),
    _case("maps and arrays differ in unions", union(map_of("int")), union(array("int")), f"{BRANCH} /0"),
    _case("a union in a union's record", union(record("a:" + union("null", "long"))), union(_A)),
    _case("null only", union("null"), union("null", "int"), f"{BRANCH} /1"),
    _case("boolean is no int", union("int"), union("boolean"), f"{BRANCH} /0"),
    _case(
        "a nullable field changes its type",
        record("a:" + union("null", "boolean")),
        record("a:" + union("null", "int")),
        f"{BRANCH} /fields/0/type/1",
    ),
    _case(
        "a nullable field gets a type",
        record("a:" + union("null", "int", "boolean")),
        record("a:" + union("null", "int")),
    ),
    _case("a union of all numbers reads each", union("double"), union("int", "long", "float", "double")),
]

ENUMS = [
    _case("the same enum", enum("A B"), enum("A B")),
    _case("another order of symbols", enum("B A"), enum("A B")),
    _case("a symbol is added", enum("A B C"), enum("A B")),
    _case("a symbol is removed", enum("A"), enum("A B"), f"{SYMBOLS} /symbols"),
    _case("a symbol is removed with a default", enum("A", more=',"default":"A"'), enum("A B")),
    _case(
        "the writer's default does not count",
        enum("A"),
        enum("A B", more=',"default":"A"'),
        f"{SYMBOLS} /symbols",
    ),
    _case("a symbol is renamed", enum("A C"), enum("A B"), f"{SYMBOLS} /symbols"),
    _case("an empty enum", enum(""), enum("")),
    _case("an empty enum reads no symbol", enum(""), enum("A"), f"{SYMBOLS} /symbols"),
    _case("any enum reads an empty one", enum("A"), enum("")),
    _case("another name", enum("A", "G"), enum("A"), f"{NAME} /name"),
    _case("another name with an alias", enum("A", "G", ',"aliases":["E"]'), enum("A")),
    _case("another namespace", enum("A", "n.E"), enum("A", "m.E")),
    _case("another name and fewer symbols", enum("A", "G"), enum("A B"), f"{NAME} /name, {SYMBOLS} /symbols"),
    _case("another name and a default", enum("A", "G", ',"default":"A"'), enum("A B"), f"{NAME} /name"),
    _case("the default changes", enum("A B", more=',"default":"A"'), enum("A B", more=',"default":"B"')),
    _case(
        "an enum in a field loses a symbol",
        record("a:" + enum("A")),
        record("a:" + enum("A B")),
        f"{SYMBOLS} /fields/0/type/symbols",
    ),
    _case(
        "a default of the field is no default of the enum",
        record("a:" + enum("A") + ' | "default":"A"'),
        record("a:" + enum("A B")),
        f"{SYMBOLS} /fields/0/type/symbols",
    ),
    _case("an enum becomes a string", "string", enum("A"), f"{TYPE} /"),
    _case(
        "an enum in an array loses a symbol",
        array(enum("A")),
        array(enum("A B")),
        f"{SYMBOLS} /items/symbols",
    ),
    _case(
        "an enum in a map loses a symbol",
        map_of(enum("A")),
        map_of(enum("A B")),
        f"{SYMBOLS} /values/symbols",
    ),
]

FIXED = [
    _case("the same fixed", fixed(4), fixed(4)),
    _case("a larger fixed", fixed(8), fixed(4), f"{SIZE} /size"),
    _case("a smaller fixed", fixed(4), fixed(8), f"{SIZE} /size"),
    _case("a fixed of nothing", fixed(0), fixed(0)),
    _case("another name", fixed(4, "G"), fixed(4), f"{NAME} /name"),
    _case("another name with an alias", fixed(4, "G", ',"aliases":["F"]'), fixed(4)),
    _case("another name and size", fixed(5, "G"), fixed(4), f"{NAME} /name, {SIZE} /size"),
    _case(
        "another name with an alias and another size",
        fixed(5, "G", ',"aliases":["F"]'),
        fixed(4),
        f"{SIZE} /size",
    ),
    _case("another namespace", fixed(4, "n.F"), fixed(4)),
    _case("a fixed becomes bytes", "bytes", fixed(4), f"{TYPE} /"),
    _case("bytes become a fixed", fixed(4), "bytes", f"{TYPE} /"),
    _case(
        "a fixed in a field grows",
        record("a:" + fixed(5)),
        record("a:" + fixed(4)),
        f"{SIZE} /fields/0/type/size",
    ),
    _case(
        "decimals of other precision",
        fixed(4, more=',"logicalType":"decimal","precision":5'),
        fixed(4, more=',"logicalType":"decimal","precision":4'),
    ),
]

CONTAINERS = [
    _case("items are promoted", array("long"), array("int")),
    _case("items are demoted", array("int"), array("long"), f"{TYPE} /items"),
    _case("values are promoted", map_of("double"), map_of("long")),
    _case("values are demoted", map_of("long"), map_of("double"), f"{TYPE} /values"),
    _case("arrays of arrays", array(array("long")), array(array("int"))),
    _case(
        "arrays of arrays that do not fit",
        array(array("int")),
        array(array("string")),
        f"{TYPE} /items/items",
    ),
    _case(
        "maps of arrays that do not fit",
        map_of(array("int")),
        map_of(array("string")),
        f"{TYPE} /values/items",
    ),
    _case(
        "arrays of maps that do not fit",
        array(map_of("int")),
        array(map_of("string")),
        f"{TYPE} /items/values",
    ),
    _case(
        "an array of records gets a field",
        array(record("a:int", "b:int")),
        array(_A),
        f"{NO_DEFAULT} /items/fields/1",
    ),
    _case(
        "a map of records gets a field",
        map_of(record("a:int", "b:int")),
        map_of(_A),
        f"{NO_DEFAULT} /values/fields/1",
    ),
    _case("items become nullable", array(union("null", "int")), array("int")),
    _case("items are not nullable any more", array("int"), array(union("null", "int")), f"{TYPE} /items/0"),
    _case(
        "an array in a field does not fit",
        record("a:" + array("int")),
        record("a:" + array("string")),
        f"{TYPE} /fields/0/type/items",
    ),
    _case("an array becomes a map", map_of("int"), array("int"), f"{TYPE} /"),
    _case("an array of empty unions", array(union("int")), array(union())),
]

RECURSIVE = [
    _case("the same list", _LIST, _LIST),
    _case("the same tree", _TREE, _TREE),
    _case(
        "a list gets a field", record("next:" + union("null", "R"), "a:int"), _LIST, f"{NO_DEFAULT} /fields/1"
    ),
    _case(
        "a list gets a field with a default",
        record("next:" + union("null", "R"), 'a:int | "default":0'),
        _LIST,
    ),
    _case("a list loses a field", _LIST, record("next:" + union("null", "R"), "a:int")),
    _case("a tree gets a field", record("children:" + array("R"), "a:int"), _TREE, f"{NO_DEFAULT} /fields/1"),
    _case(
        "a tree changes a type",
        record("children:" + array("R"), "a:string"),
        record("children:" + array("R"), "a:int"),
        f"{TYPE} /fields/1/type",
    ),
    _case("a list of another name", _LIST.replace('"R"', '"S"'), _LIST, f"{NAME} /name"),
    _case(
        "a list of another name with an alias",
        record("next:" + union("null", "S"), name="S", more=',"aliases":["R"]'),
        _LIST,
    ),
    _case("a map of itself", record("m:" + map_of("R")), record("m:" + map_of("R"))),
    _case(
        "a list is longer before it repeats",
        record(
            "next:" + union("null", record("next:" + union("null", "R"), name="R2", more=',"aliases":["R"]'))
        ),
        _LIST,
    ),
    _case(
        "two records refer to each other",
        record("b:" + record("r:" + union("null", "R"), name="B")),
        record("b:" + record("r:" + union("null", "R"), name="B")),
    ),
    _case(
        "two records refer to each other and one changes",
        record("b:" + record("r:" + union("null", "R"), "x:long", name="B")),
        record("b:" + record("r:" + union("null", "R"), "x:string", name="B")),
        f"{TYPE} /fields/0/type/fields/1/type",
    ),
]

LOGICAL = [
    _case("a date becomes an int", "int", '{"type":"int","logicalType":"date"}'),
    _case("an int becomes a date", '{"type":"int","logicalType":"date"}', "int"),
    _case(
        "a timestamp becomes a date",
        '{"type":"int","logicalType":"date"}',
        '{"type":"long","logicalType":"timestamp-millis"}',
        f"{TYPE} /",
    ),
    _case(
        "a date becomes a timestamp",
        '{"type":"long","logicalType":"timestamp-millis"}',
        '{"type":"int","logicalType":"date"}',
    ),
    _case(
        "milliseconds become microseconds",
        '{"type":"long","logicalType":"timestamp-micros"}',
        '{"type":"long","logicalType":"timestamp-millis"}',
    ),
    _case("a decimal becomes bytes", "bytes", '{"type":"bytes","logicalType":"decimal","precision":4}'),
    _case("a uuid becomes a string", "string", '{"type":"string","logicalType":"uuid"}'),
    _case("a string with properties", '{"type":"string","avro.java.string":"String"}', "string"),
]

CASES = [*RECORDS, *UNIONS, *ENUMS, *FIXED, *CONTAINERS, *RECURSIVE, *LOGICAL]
