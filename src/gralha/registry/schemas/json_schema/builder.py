"""From a JSON document to nodes. The drafts differ in what several keywords side by side mean.

Up to draft 7, a `$ref` hides what is beside it, and each group of keywords is a node of its own. From 2019-09
on, all keywords count, and groups that describe the same type are one node.
"""

from abc import ABC, abstractmethod
from typing import Any

from gralha.registry.schemas.interface import InvalidSchemaError
from gralha.registry.schemas.json_schema.keywords import Keywords, strings
from gralha.registry.schemas.json_schema.model import (
    ALL,
    ANY,
    ARRAY,
    BOOLEAN,
    COMBINED,
    CONDITIONAL,
    CONST,
    EMPTY,
    ENUM,
    FALSE,
    NO_VALUE,
    NOT,
    NULL,
    NUMBER,
    OBJECT,
    ONE,
    REFERENCE,
    STRING,
    TRUE,
    Node,
)
from gralha.registry.schemas.json_schema.patterns import check_pattern
from gralha.registry.schemas.json_schema.references import Place, References

TYPES = {
    "string": STRING,
    "number": NUMBER,
    "integer": NUMBER,
    "boolean": BOOLEAN,
    "null": NULL,
    "array": ARRAY,
    "object": OBJECT,
}
NUMBER_KEYWORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
CONDITIONAL_KEYWORDS = ("if", "then", "else")


class Builder(ABC):
    """Builds the nodes of one schema and of all that it refers to."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._nodes: dict[tuple[int, str], Node] = {}
        self._pending: list[tuple[Node, Place]] = []

    def build(self) -> Node:
        """The root."""
        references = self._references
        root = self._node(references.root, references.base)
        # Definitions are built one after the other and not inside of each other: they may form long chains.
        while self._pending:
            reference, place = self._pending.pop()
            reference.target = self._node(place.value, place.base)
        return root

    def _node(self, document: Any, base: str) -> Node:
        if isinstance(document, bool):
            return Node(TRUE if document else FALSE)
        if not isinstance(document, dict):
            raise InvalidSchemaError("A schema is neither an object nor a boolean.")
        key = (id(document), base)
        if key not in self._nodes:
            node = self._build(Keywords(document), self._references.base_of(document, base))
            node.source = document
            self._nodes[key] = node
        return self._nodes[key]

    @abstractmethod
    def _build(self, keywords: Keywords, base: str) -> Node:
        """The node of an object."""

    def _common(self, node: Node, keywords: Keywords, id_keyword: str) -> Node:
        node.id = keywords.text(id_keyword)
        node.title = keywords.text("title")
        node.description = keywords.text("description")
        node.default = keywords.get("default", NO_VALUE)
        node.connect_type = keywords.get("connect.type")
        return node

    def _reference(self, keywords: Keywords, base: str, keyword: str = "$ref") -> Node:
        place = self._references.resolve(keywords.text(keyword) or "", base)
        node = Node(REFERENCE)
        if place is None:
            node.target = Node(EMPTY)
        else:
            self._pending.append((node, place))
        return node

    def _nodes_of(self, documents: dict[str, Any], base: str) -> dict[str, Node]:
        return {name: self._node(document, base) for name, document in documents.items()}

    def _enum(self, keywords: Keywords) -> Node:
        return Node(ENUM, values=keywords.elements("enum"))

    def _const(self, keywords: Keywords) -> Node:
        return Node(CONST, values=[keywords.get("const")])

    def _not(self, keywords: Keywords, base: str) -> Node:
        return Node(NOT, parts=[self._node(keywords.get("not"), base)])

    def _conditional(self, keywords: Keywords, base: str) -> Node:
        present = [keyword for keyword in CONDITIONAL_KEYWORDS if keyword in keywords.present()]
        return Node(CONDITIONAL, parts=[self._node(keywords.get(keyword), base) for keyword in present])

    def _combined(self, keywords: Keywords, base: str, criterion: str) -> Node:
        parts = [self._node(part, base) for part in keywords.elements(criterion)]
        return Node(COMBINED, criterion=criterion, parts=parts)

    def _string(self, keywords: Keywords) -> Node:
        pattern = keywords.text("pattern")
        node = Node(STRING, pattern=None if pattern is None else check_pattern(pattern))
        return _limited(node, keywords, "minLength", "maxLength")

    def _number(self, keywords: Keywords) -> Node:
        node = Node(NUMBER)
        for keyword in NUMBER_KEYWORDS:
            # In draft 4, the exclusive limits are booleans. Confluent does not compare those.
            if not isinstance(keywords.get(keyword), bool):
                _limited(node, keywords, keyword)
        if node.limits.get("multipleOf") == 0:
            raise InvalidSchemaError("The keyword 'multipleOf' is 0.")
        return node

    def _object(self, keywords: Keywords, base: str) -> Node:
        node = _limited(Node(OBJECT), keywords, "minProperties", "maxProperties")
        node.properties = self._nodes_of(keywords.members("properties"), base)
        node.patterns = self._nodes_of(keywords.members("patternProperties"), base)
        for pattern in node.patterns:
            check_pattern(pattern)
        node.required = set(keywords.names("required"))
        self._add_additional(node, keywords.get("additionalProperties", True), base)
        return node

    def _add_additional(self, node: Node, additional: Any, base: str) -> None:
        if isinstance(additional, bool):
            node.permits_additional = additional
        else:
            node.additional = self._node(additional, base)

    def _array(self, keywords: Keywords, base: str) -> Node:
        node = _limited(Node(ARRAY), keywords, "minItems", "maxItems")
        node.unique = bool(keywords.flag("uniqueItems"))
        items = keywords.get("items", NO_VALUE)
        self._add_additional(node, keywords.get("additionalItems", True), base)
        if isinstance(items, list):
            node.items = [self._node(item, base) for item in items]
        elif items is not NO_VALUE:
            self._add_items(node, items, base)
        return node

    @abstractmethod
    def _add_items(self, node: Node, items: Any, base: str) -> None:
        """Adds the schema of all items."""

    def _dependencies(self, node: Node, dependencies: dict[str, Any], base: str) -> None:
        for name, dependency in dependencies.items():
            if isinstance(dependency, list):
                if dependency:
                    node.dependent_names[name] = set(strings(dependency, "dependencies"))
            else:
                node.dependent_schemas[name] = self._node(dependency, base)


def _limited(node: Node, keywords: Keywords, *names: str) -> Node:
    for name in names:
        limit = keywords.number(name)
        if limit is not None:
            node.limits[name] = limit
    return node


class OlderBuilder(Builder):
    """Drafts 4, 6 and 7."""

    _STRING = ("minLength", "maxLength", "pattern", "format")
    _OBJECT = (
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "dependencies",
        "patternProperties",
        "additionalProperties",
    )
    _ARRAY = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems")

    def __init__(self, references: References, draft: int) -> None:
        super().__init__(references)
        self._draft = draft
        self._object_keywords = self._OBJECT if draft == 4 else (*self._OBJECT, "propertyNames")
        self._array_keywords = self._ARRAY if draft == 4 else (*self._ARRAY, "contains")

    def _build(self, keywords: Keywords, base: str) -> Node:
        id_keyword = "id" if self._draft == 4 else "$id"
        if keywords.has("$ref"):
            return self._common(self._reference(keywords, base), keywords, id_keyword)
        parts = self._parts(keywords, base)
        if not parts:
            node = Node(EMPTY)
        elif len(parts) == 1:
            node = parts[0]
        else:
            node = Node(COMBINED, criterion=ALL, parts=parts)
        return self._common(node, keywords, id_keyword)

    def _parts(self, keywords: Keywords, base: str) -> list[Node]:
        parts = []
        if keywords.has("enum"):
            parts.append(self._enum(keywords))
        # The order is Confluent's, and paths show it.
        parts += [self._combined(keywords, base, one) for one in (ALL, ONE, ANY) if keywords.has(one)]
        if keywords.has("not"):
            parts.append(self._not(keywords, base))
        if self._draft != 4 and keywords.has("const"):
            parts.append(self._const(keywords))
        if keywords.has("type"):
            parts.append(self._types(keywords, base))
        if keywords.has(*self._array_keywords):
            parts.append(self._array(keywords, base))
        if keywords.has(*self._object_keywords):
            parts.append(self._object(keywords, base))
        if keywords.has(*NUMBER_KEYWORDS):
            parts.append(self._number(keywords))
        if keywords.has(*self._STRING):
            parts.append(self._string(keywords))
        if self._draft == 7 and keywords.has(*CONDITIONAL_KEYWORDS):
            parts.append(self._conditional(keywords, base))
        return parts

    def _types(self, keywords: Keywords, base: str) -> Node:
        types = keywords.get("type")
        if isinstance(types, list):
            parts = [self._type(name, keywords, base) for name in strings(types, "type")]
            return Node(COMBINED, criterion=ANY, parts=parts)
        return self._type(types, keywords, base)

    def _type(self, name: Any, keywords: Keywords, base: str) -> Node:
        kind = TYPES.get(name) if isinstance(name, str) else None
        if kind is None:
            raise InvalidSchemaError(f"The type '{name}' is unknown.")
        if kind == STRING:
            keywords.take(*self._STRING)
            return self._string(keywords)
        if kind == NUMBER:
            keywords.take(*NUMBER_KEYWORDS)
            node = self._number(keywords)
            node.is_integer = name == "integer"
            return node
        if kind == OBJECT:
            keywords.take(*self._object_keywords)
            return self._object(keywords, base)
        if kind == ARRAY:
            keywords.take(*self._array_keywords)
            return self._array(keywords, base)
        return Node(kind)

    def _object(self, keywords: Keywords, base: str) -> Node:
        node = super()._object(keywords, base)
        self._dependencies(node, keywords.members("dependencies"), base)
        return node

    def _add_items(self, node: Node, items: Any, base: str) -> None:
        node.all_items = self._node(items, base)
