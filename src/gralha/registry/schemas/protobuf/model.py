"""A `.proto` file as a tree of declarations, in the order in which they were written."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

# The largest number of a field. A range that ends there, or later, is written as "to max".
NUMBER_MAX = 536_870_911

SCALARS = frozenset(
    (
        "bool",
        "bytes",
        "double",
        "float",
        "fixed32",
        "fixed64",
        "int32",
        "int64",
        "sfixed32",
        "sfixed64",
        "sint32",
        "sint64",
        "string",
        "uint32",
        "uint64",
    )
)
MAP_KEYS = SCALARS - {"bytes", "double", "float"}

# Kinds of option values.
STRING, BOOLEAN, NUMBER, ENUM, MAP, LIST, NESTED = (
    "string",
    "boolean",
    "number",
    "enum",
    "map",
    "list",
    "nested",
)


class Literal(NamedTuple):
    """A boolean, a number or the name of an enum's value inside of a map or a list of an option."""

    kind: str
    value: str


class Option(NamedTuple):
    """An option. The value of a nested one, as in `(a).b = 1`, is an option itself."""

    name: str
    kind: str
    value: Any
    parenthesized: bool = False


class Range(NamedTuple):
    """Numbers from the first to the last one."""

    start: int
    end: int


@dataclass(slots=True, eq=False)
class Field:
    """A field of a message, a oneof, a group or an extension."""

    label: str | None
    type: str
    name: str
    number: int
    default: str | None = None
    json_name: str | None = None
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Group:
    """A group: a message and its field in one declaration."""

    label: str | None
    name: str
    number: int
    fields: list[Field]


@dataclass(slots=True, eq=False)
class OneOf:
    """A oneof."""

    name: str
    fields: list[Field] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Extensions:
    """Numbers that extensions may use."""

    values: list[int | Range]
    options: list[Option]


@dataclass(slots=True, eq=False)
class Extend:
    """Fields that are added to another message."""

    name: str
    fields: list[Field]


@dataclass(slots=True, eq=False)
class Constant:
    """A value of an enum."""

    name: str
    number: int
    options: list[Option] = field(default_factory=list)


Reserved = list[str | int | Range]


@dataclass(slots=True, eq=False)
class Enum:
    """An enum."""

    name: str
    options: list[Option] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Message:
    """A message."""

    name: str
    types: "list[Message | Enum]" = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    reserved: list[Reserved] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    oneofs: list[OneOf] = field(default_factory=list)
    extensions: list[Extensions] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)

    @property
    def is_map_entry(self) -> bool:
        """Whether a compiler made this message for a map field."""
        return any(option.name == "map_entry" and option.value == "true" for option in self.options)

    def all_fields(self) -> list[Field]:
        """The fields of the message and of its oneofs."""
        return [*self.fields, *(member for oneof in self.oneofs for member in oneof.fields)]


@dataclass(slots=True, eq=False)
class Rpc:
    """A method of a service."""

    name: str
    request: str
    response: str
    request_streams: bool = False
    response_streams: bool = False
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Service:
    """A service."""

    name: str
    rpcs: list[Rpc] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ProtoFile:
    """A whole file. `syntax` is None if the file does not say it, or has an edition."""

    syntax: str | None = None
    edition: str | None = None
    package: str | None = None
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    weak_imports: list[str] = field(default_factory=list)
    types: list[Message | Enum] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


def map_parts(type_name: str) -> tuple[str, str] | None:
    """The types of keys and values in "map<key, value>"."""
    if not (type_name.startswith("map<") and type_name.endswith(">")):
        return None
    key, _, value = type_name[4:-1].partition(",")
    return key.strip(), value.strip()
