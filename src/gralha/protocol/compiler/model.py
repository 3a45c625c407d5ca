"""What a definition file says: messages, their structures, the fields of each and the versions of those."""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import Enum

INTEGERS = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64"})
PRIMITIVES = INTEGERS | {"bool", "float64", "string", "uuid", "bytes", "records"}

# A default as Python has it; the empty tuple stands for an array or a structure that is made anew.
Default = bool | int | float | str | bytes | tuple[()] | None


@dataclass(frozen=True)
class Versions:
    """A range of versions, both ends included; empty when low is above high."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def __bool__(self) -> bool:
        return self.low <= self.high

    def intersection(self, other: "Versions") -> "Versions":
        return Versions(max(self.low, other.low), min(self.high, other.high))


NEVER = Versions(0, -1)


@dataclass(frozen=True)
class Field:
    """One field. Its versions lie within those of its structure."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    default: Default
    tag: int | None = None
    # Silently left out of versions that do not have it; otherwise encoding fails unless it has its default.
    ignorable: bool = False
    # Never in the compact form, even in flexible versions: the client id of the request header (KIP-482).
    classic: bool = False

    @property
    def is_struct(self) -> bool:
        return self.type not in PRIMITIVES

    @property
    def is_optional(self) -> bool:
        """Whether the attribute may be None. A structure in a tagged field is None when it is not there."""
        tagged_struct = self.tag is not None and self.is_struct and not self.is_array
        return bool(self.nullable) or self.type == "records" or tagged_struct


@dataclass
class Struct:
    """A group of fields: the body of a message, or a part of it."""

    name: str
    versions: Versions
    flexible: Versions
    fields: list[Field] = dataclass_field(default_factory=list)


class Kind(Enum):
    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    RECORD = "record"
    COORDINATOR_KEY = "key"
    COORDINATOR_VALUE = "value"
    DATA = "data"


@dataclass
class Message:
    """A message in all its versions.

    Not only those of APIs have a key: so do records of the metadata log, and those of coordinators, where it
    stands for the kind of record, which has one message for its keys and one for its values.
    """

    kind: Kind
    body: Struct
    api_key: int | None

    @property
    def name(self) -> str:
        return self.body.name


@dataclass
class Definition:
    """One file: its messages, and every structure of them, parts before wholes."""

    name: str
    about: list[str]
    api_key: int | None = None
    api_name: str | None = None
    # The kinds of listeners that serve the API: those of brokers, those of controllers.
    listeners: tuple[str, ...] = ()
    messages: list[Message] = dataclass_field(default_factory=list)
    structs: dict[str, Struct] = dataclass_field(default_factory=dict)
