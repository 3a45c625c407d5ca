"""The content of a definition file: messages, their structures, their fields, and the versions of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import Enum

INTEGERS = frozenset({"int8", "int16", "uint16", "int32", "uint32", "int64"})
PRIMITIVES = INTEGERS | {"bool", "float64", "string", "uuid", "bytes", "records"}

# A default as a Python value. The empty tuple means a new array or structure.
Default = bool | int | float | str | bytes | tuple[()] | None


@dataclass(frozen=True)
class Versions:
    """A range of versions with both ends. It is empty if low is above high."""

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
    """One field. Its versions are a part of its structure's versions."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    default: Default
    tag: int | None = None
    # Silently left out of versions that do not have it. Otherwise encoding fails if it does not have its
    # default.
    ignorable: bool = False
    # Never in the compact form, even in flexible versions: the client id of the request header (KIP-482).
    classic: bool = False

    @property
    def is_struct(self) -> bool:
        return self.type not in PRIMITIVES

    @property
    def is_optional(self) -> bool:
        """True if the attribute may be None. A structure in a tagged field is None if it is absent."""
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

    Messages of APIs have a key. So do records of the metadata log, and records of coordinators. For the
    latter the key is the kind of record, which has one message for its keys and one for its values.
    """

    kind: Kind
    body: Struct
    api_key: int | None

    @property
    def name(self) -> str:
        return self.body.name


@dataclass
class Definition:
    """One file: its messages and all their structures, with parts before wholes."""

    name: str
    about: list[str]
    api_key: int | None = None
    api_name: str | None = None
    # The kinds of listeners that serve the API: broker, controller.
    listeners: tuple[str, ...] = ()
    messages: list[Message] = dataclass_field(default_factory=list)
    structs: dict[str, Struct] = dataclass_field(default_factory=dict)
