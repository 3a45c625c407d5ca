"""The kinds of differences between two JSON schemas: which are compatible, and Confluent's words for them."""

from typing import NamedTuple

from gralha.registry.schemas.interface import LENIENT, READER, WRITER

# Limits: the keyword, its name in the kinds, and whether a larger value allows more.
LIMITS = {
    "maxLength": ("MAX_LENGTH", True),
    "minLength": ("MIN_LENGTH", False),
    "maximum": ("MAXIMUM", True),
    "minimum": ("MINIMUM", False),
    "exclusiveMaximum": ("EXCLUSIVE_MAXIMUM", True),
    "exclusiveMinimum": ("EXCLUSIVE_MINIMUM", False),
    "maxProperties": ("MAX_PROPERTIES", True),
    "minProperties": ("MIN_PROPERTIES", False),
    "maxItems": ("MAX_ITEMS", True),
    "minItems": ("MIN_ITEMS", False),
    "maxContains": ("MAX_CONTAINS", True),
    "minContains": ("MIN_CONTAINS", False),
}


def _limits(of_maximum: str, of_minimum: str) -> set[str]:
    return {f"{name}_{of_maximum if larger else of_minimum}" for name, larger in LIMITS.values()}


_CONTENT = (
    "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
    "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL",
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL",
    "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL",
    "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL",
    "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL",
    "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL",
    "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
)

COMPATIBLE = frozenset(
    {
        "ID_CHANGED",
        "DESCRIPTION_CHANGED",
        "TITLE_CHANGED",
        "DEFAULT_CHANGED",
        "SCHEMA_REMOVED",
        "TYPE_EXTENDED",
        "PATTERN_REMOVED",
        "MULTIPLE_OF_REDUCED",
        "MULTIPLE_OF_REMOVED",
        "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED",
        "REQUIRED_ATTRIBUTE_REMOVED",
        "DEPENDENCY_ARRAY_NARROWED",
        "DEPENDENCY_ARRAY_REMOVED",
        "DEPENDENCY_SCHEMA_REMOVED",
        "UNIQUE_ITEMS_REMOVED",
        "ENUM_ARRAY_EXTENDED",
        "COMBINED_TYPE_EXTENDED",
        "PRODUCT_TYPE_NARROWED",
        "SUM_TYPE_EXTENDED",
        "NOT_TYPE_NARROWED",
        *_limits("INCREASED", "DECREASED"),
        *_limits("REMOVED", "REMOVED"),
        *(
            f"{what}_PROPERTIES_{change}"
            for what in ("ADDITIONAL", "UNEVALUATED")
            for change in ("ADDED", "EXTENDED")
        ),
        *(
            f"{what}_ITEMS_{change}"
            for what in ("ADDITIONAL", "UNEVALUATED")
            for change in ("ADDED", "EXTENDED")
        ),
        *_CONTENT,
    }
)

COMPATIBLE_IF_LENIENT = COMPATIBLE | {
    "ADDITIONAL_PROPERTIES_NARROWED",
    "ADDITIONAL_PROPERTIES_REMOVED",
    "UNEVALUATED_PROPERTIES_NARROWED",
    "UNEVALUATED_PROPERTIES_REMOVED",
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
}

_R, _W = f"{READER} schema", f"{WRITER} schema"
_OPEN = (
    f"The {_R} has an open content model and has a property or item at path '%s' which is missing in the {_W}"
)
_CLOSED = (
    f"The {READER} has a closed content model and is missing a property or item present at path '%s' in the "
    f"{_W}"
)
_REMOVED = (
    f"A property or item is missing in the {_R} but present at path '%s' in the {_W} and is not covered by "
    "its partially open content model"
)
_ADDED = (
    f"The {_R} has a property or item at path '%s' which is missing in the {_W} and is not covered by its "
    "partially open content model"
)
_NEW_KEYWORD = f"The keyword at path '%s' in the {_R} is not present in the {_W}"
_MORE = f"The value at path '%s' in the {_R} is more than its value in the {_W}"
_LESS = f"The value at path '%s' in the {_R} is less than its value in the {_W}"
_VALUE = f"The value at path '%s' is different between the {READER} and {_W}"
_FEWER_ELEMENTS = f"An array or combined type at path '%s' has fewer elements in the {_R} than the {_W}"
_MORE_ELEMENTS = f"An array or combined type at path '%s' has more elements in the {_R} than the {_W}"
_TYPE = f"A type at path '%s' is different between the {_R} and the {_W}"

_WORDS = {
    **dict.fromkeys(_limits("ADDED", "ADDED"), _NEW_KEYWORD),
    **dict.fromkeys(
        (
            "MULTIPLE_OF_ADDED",
            "PATTERN_ADDED",
            "REQUIRED_ATTRIBUTE_ADDED",
            "DEPENDENCY_ARRAY_ADDED",
            "DEPENDENCY_SCHEMA_ADDED",
            "UNIQUE_ITEMS_ADDED",
            "ADDITIONAL_ITEMS_REMOVED",
            "ADDITIONAL_PROPERTIES_REMOVED",
            "UNEVALUATED_PROPERTIES_REMOVED",
            "UNEVALUATED_ITEMS_REMOVED",
        ),
        _NEW_KEYWORD,
    ),
    **{f"{name}_INCREASED": _MORE for name, larger in LIMITS.values() if not larger},
    "MULTIPLE_OF_EXPANDED": _MORE,
    **{f"{name}_DECREASED": _LESS for name, larger in LIMITS.values() if larger},
    **dict.fromkeys(("PATTERN_CHANGED", "MULTIPLE_OF_CHANGED", "DEPENDENCY_ARRAY_CHANGED"), _VALUE),
    **dict.fromkeys(
        (
            "ADDITIONAL_ITEMS_NARROWED",
            "ENUM_ARRAY_NARROWED",
            "SUM_TYPE_NARROWED",
            "ADDITIONAL_PROPERTIES_NARROWED",
            "UNEVALUATED_PROPERTIES_NARROWED",
            "UNEVALUATED_ITEMS_NARROWED",
        ),
        _FEWER_ELEMENTS,
    ),
    **dict.fromkeys(
        ("DEPENDENCY_ARRAY_EXTENDED", "PRODUCT_TYPE_EXTENDED", "SUM_TYPE_EXTENDED", "NOT_TYPE_EXTENDED"),
        _MORE_ELEMENTS,
    ),
    **dict.fromkeys(
        (
            "TYPE_CHANGED",
            "TYPE_NARROWED",
            "COMBINED_TYPE_CHANGED",
            "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
            "ENUM_ARRAY_CHANGED",
        ),
        _TYPE,
    ),
    **dict.fromkeys(
        (
            "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
            "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        _OPEN,
    ),
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": (
        f"The {_R} has an unopen content model and has a required property at path '%s' which is missing in "
        f"the {_W}"
    ),
    **{f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL": _CLOSED for what in ("PROPERTY", "ITEM")},
    **{
        f"{what}_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _REMOVED
        for what in ("PROPERTY", "ITEM")
    },
    **{f"{what}_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": _ADDED for what in ("PROPERTY", "ITEM")},
}


class Difference(NamedTuple):
    """A change, and the parts of the path to it."""

    kind: str
    path: tuple[str, ...]

    def template(self) -> str:
        """The difference in Confluent's words; also its unbalanced quote is Confluent's."""
        words = _WORDS.get(self.kind, "").replace("%s", self.pointer())
        return f'{{errorType:"{self.kind}", description:"{words}\'}}'

    def pointer(self) -> str:
        """The path as text."""
        return "#/" + "/".join(self.path)


def compatible_kinds(policy: str) -> frozenset[str]:
    """The kinds that a policy allows."""
    return COMPATIBLE_IF_LENIENT if policy == LENIENT else COMPATIBLE
