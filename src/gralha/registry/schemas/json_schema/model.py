"""A JSON schema as a tree of nodes of one kind each, because schemas of different kinds are never compatible.

A JSON object with keywords of several kinds becomes an allOf of nodes.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from gralha.registry.schemas.json_text import sort_members, write_json

OBJECT, ARRAY, STRING, NUMBER = "object", "array", "string", "number"
BOOLEAN, NULL = "boolean", "null"
ENUM, CONST, NOT, CONDITIONAL = "enum", "const", "not", "conditional"
COMBINED, REFERENCE = "combined", "reference"
# A schema without keywords, and the two schemas that are no objects.
EMPTY, TRUE, FALSE = "empty", "true", "false"

ALL, ANY, ONE = "allOf", "anyOf", "oneOf"

# A schema without a default is not the same as a schema with the default null.
NO_VALUE: Any = object()


@dataclass(slots=True, eq=False)
class Node:
    """A schema. Which attributes have a meaning depends on its kind."""

    kind: str
    id: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any = NO_VALUE
    connect_type: Any = None
    # Numbers that limit something: the keyword and the limit.
    limits: dict[str, Any] = field(default_factory=dict)
    # Objects.
    properties: dict[str, "Node"] = field(default_factory=dict)
    patterns: dict[str, "Node"] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    dependent_names: dict[str, set[str]] = field(default_factory=dict)
    dependent_schemas: dict[str, "Node"] = field(default_factory=dict)
    # Objects and arrays: whether properties or items that are not listed are allowed, and their schema.
    permits_additional: bool = True
    additional: "Node | None" = None
    unevaluated: "Node | None" = None
    # Arrays: the schema of all items, or the schemas of the first ones.
    all_items: "Node | None" = None
    items: list["Node"] = field(default_factory=list)
    unique: bool = False
    # Numbers.
    is_integer: bool = False
    # Strings.
    pattern: str | None = None
    # Enums and constants.
    values: list[Any] = field(default_factory=list)
    # Combined schemas, and what a `not` refuses.
    criterion: str = ALL
    parts: list["Node"] = field(default_factory=list)
    # Made of several keywords or of several types, not of a keyword such as allOf.
    is_generated: bool = False
    # The document of the schema, and what is the same for documents with the same members.
    source: Any = None
    digest: bytes | None = None
    # References.
    target: "Node | None" = None

    def fingerprint(self) -> object:
        """The same for schemas that are written in the same way, apart from the order of members."""
        if self.source is None:
            return id(self)
        if self.digest is None:
            self.digest = hashlib.sha256(write_json(sort_members(self.source)).encode()).digest()
        return self.digest

    @property
    def is_empty(self) -> bool:
        """Whether the schema allows everything."""
        return self.kind in (EMPTY, TRUE)


def referred(node: Node) -> Node:
    """The schema itself, or the one that it refers to."""
    seen = 0
    while node.kind == REFERENCE and node.target is not None and seen < 1000:
        node, seen = node.target, seen + 1
    return node


def frozen(value: Any) -> Any:
    """A JSON value that can be a member of a set. 1 and true differ, 1 and 1.0 do not."""
    if isinstance(value, dict):
        return ("object", frozenset((key, frozen(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(frozen(item) for item in value))
    return ("boolean", value) if isinstance(value, bool) else value
