"""An Avro schema as a graph of types. Recursive schemas have cycles."""

from dataclasses import dataclass, field
from typing import Any

PRIMITIVES = ("string", "bytes", "int", "long", "float", "double", "boolean", "null")
NAMED = ("record", "enum", "fixed")

# Keys with a meaning of their own. All others are properties that the schema keeps.
RESERVED = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
RESERVED_IN_ENUM = RESERVED | {"default"}
RESERVED_IN_FIELD = frozenset(("default", "doc", "name", "order", "type", "aliases"))

# A field without a default is not the same as a field with the default null.
NO_DEFAULT: Any = object()


@dataclass(slots=True)
class Name:
    """The name of a record, an enum or a fixed, or one of their aliases."""

    simple: str
    space: str | None

    @property
    def full(self) -> str:
        """The name with its namespace."""
        return f"{self.space}.{self.simple}" if self.space else self.simple

    def seen_from(self, space: str | None) -> str:
        """The shortest name that means this type inside of a namespace."""
        if self.space is not None and self.space == space and self.simple not in TYPE_NAMES:
            return self.simple
        return self.full


TYPE_NAMES = frozenset((*PRIMITIVES, *NAMED, "array", "map", "union"))


@dataclass(slots=True, eq=False)
class Field:
    """A field of a record."""

    name: str
    type: "Type"
    doc: str | None
    default: Any
    order: str
    aliases: list[str]
    properties: dict[str, Any]


@dataclass(slots=True, eq=False)
class Type:
    """A type. `kind` is Avro's name of it, which says which of the other attributes have a meaning."""

    kind: str
    properties: dict[str, Any] = field(default_factory=dict)
    # Named types.
    name: Name | None = None
    doc: str | None = None
    aliases: list[Name] = field(default_factory=list)
    # Records. One that is not complete has unresolved fields, so no default can be compared with it.
    fields: list[Field] = field(default_factory=list)
    by_name: dict[str, Field] = field(default_factory=dict)
    is_error: bool = False
    is_complete: bool = True
    # Enums.
    symbols: list[str] = field(default_factory=list)
    default_symbol: str | None = None
    # Fixed.
    size: int = 0
    # The items of an array, the values of a map, the branches of a union.
    inner: list["Type"] = field(default_factory=list)
    # A name that is not defined yet. Java takes such a type for a record without fields.
    unresolved: str | None = None

    @property
    def full_name(self) -> str:
        """The full name of a named type, otherwise the kind."""
        return self.name.full if self.name else self.kind

    @property
    def is_shared(self) -> bool:
        """Whether all uses of this type are one object, as it is with plain primitive types."""
        return PLAIN.get(self.kind) is self

    def alias_names(self) -> list[str]:
        """The aliases as Java compares them with names."""
        inside = self.name is not None and self.name.space is not None
        return [
            f".{alias.simple}" if inside and alias.space is None else alias.full for alias in self.aliases
        ]


# Primitive types without properties. They never change, so all schemas share them.
PLAIN = {kind: Type(kind) for kind in PRIMITIVES}
