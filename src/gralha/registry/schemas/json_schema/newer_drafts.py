"""Drafts 2019-09 and 2020-12: keywords side by side all count, and those of one type are one node."""

from dataclasses import replace
from typing import Any

from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.json_schema.builder import (
    NUMBER_KEYWORDS,
    TYPES,
    Builder,
)
from gralha.registry.schemas.json_schema.keywords import Keywords, strings
from gralha.registry.schemas.json_schema.model import (
    ALL,
    ANY,
    ARRAY,
    COMBINED,
    EMPTY,
    FALSE,
    NO_VALUE,
    NUMBER,
    OBJECT,
    ONE,
    STRING,
    TRUE,
    Node,
)

_STRING = ("minLength", "maxLength", "pattern")
_OBJECT = (
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
)
_ARRAY = (
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
)


class NewerBuilder(Builder):
    """Drafts 2019-09 and 2020-12."""

    def _build(self, keywords: Keywords, base: str) -> Node:
        parts = self._parts(keywords, base)
        if not parts:
            node = Node(EMPTY)
        elif len(parts) == 1:
            node = parts[0]
        else:
            node = Node(COMBINED, criterion=ALL, parts=parts, is_generated=True)
        self._common(node, keywords, "$id")
        # Confluent does not compare the addresses of these drafts.
        node.id = None
        # A default that is null counts as none here.
        if node.default is None:
            node.default = NO_VALUE
        return node

    def _parts(self, keywords: Keywords, base: str) -> list[Node]:
        described = self._described(keywords, base)
        parts = self._typed(keywords, described)
        parts += described.values()
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keywords.has(keyword):
                parts.append(self._reference(keywords, base, keyword))
        if keywords.has("enum"):
            parts.append(self._enum(keywords))
        if keywords.has("const"):
            parts.append(self._const(keywords))
        parts += [self._combined(keywords, base, one) for one in (ALL, ANY, ONE) if keywords.has(one)]
        if keywords.has("not"):
            parts.append(self._not(keywords, base))
        if keywords.has("if"):
            parts.append(self._conditional(keywords, base))
        return parts

    def _described(self, keywords: Keywords, base: str) -> dict[str, Node]:
        """A node for each type that has keywords."""
        found: dict[str, Node] = {}
        # Properties without any members say nothing.
        keywords.take(*(one for one in ("properties", "patternProperties") if not keywords.members(one)))
        if keywords.has(*_OBJECT):
            found[OBJECT] = self._object(keywords, base)
        if keywords.has(*_ARRAY):
            found[ARRAY] = self._array(keywords, base)
        if keywords.has(*NUMBER_KEYWORDS):
            found[NUMBER] = self._number(keywords)
        if keywords.has(*_STRING):
            found[STRING] = self._string(keywords)
        return found

    def _typed(self, keywords: Keywords, described: dict[str, Node]) -> list[Node]:
        """The node of the keyword `type`, which takes what is said of its types."""
        if not keywords.has("type"):
            return []
        types = keywords.get("type")
        if isinstance(types, list):
            taken = [_type(name, described) for name in strings(types, "type")]
            for name in types:
                described.pop(TYPES[name], None)
            return [Node(COMBINED, criterion=ANY, parts=taken, is_generated=True)]
        node = _type(types, described)
        described.pop(node.kind, None)
        return [node]

    def _combined(self, keywords: Keywords, base: str, criterion: str) -> Node:
        node = super()._combined(keywords, base, criterion)
        # The parts of a schema that only stands for several keywords are parts of the whole.
        flat: list[Node] = []
        for part in node.parts:
            flat += part.parts if part.is_generated and part.criterion == ALL else [part]
        node.parts = flat
        return node

    def _object(self, keywords: Keywords, base: str) -> Node:
        node = super()._object(keywords, base)
        if node.additional is not None and node.additional.kind in (TRUE, FALSE):
            node.permits_additional, node.additional = node.additional.kind == TRUE, None
        if "unevaluatedProperties" in keywords.present():
            node.unevaluated = self._node(keywords.get("unevaluatedProperties"), base)
        self._dependencies(node, keywords.members("dependentRequired"), base)
        self._dependencies(node, keywords.members("dependentSchemas"), base)
        return node

    def _array(self, keywords: Keywords, base: str) -> Node:
        prefix = keywords.elements("prefixItems")
        node = super()._array(keywords, base)
        if prefix:
            node.items = [self._node(item, base) for item in prefix]
            node.additional, node.all_items = node.all_items, None
        if "unevaluatedItems" in keywords.present():
            node.unevaluated = self._node(keywords.get("unevaluatedItems"), base)
        if keywords.has("contains"):
            node.limits["minContains"] = keywords.number("minContains")
            if node.limits["minContains"] is None:
                node.limits["minContains"] = 1
            if keywords.number("maxContains") is not None:
                node.limits["maxContains"] = keywords.number("maxContains")
        return node

    def _add_items(self, node: Node, items: Any, base: str) -> None:
        if isinstance(items, bool):
            node.permits_additional = items
        else:
            node.all_items = self._node(items, base)


def _type(name: Any, described: dict[str, Node]) -> Node:
    kind = TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidSchemaError(f"The type '{name}' is unknown.")
    # Several types may share what is said of one of them, such as "integer" and "number".
    node = replace(described[kind]) if kind in described else Node(kind)
    node.is_integer = name == "integer"
    return node
