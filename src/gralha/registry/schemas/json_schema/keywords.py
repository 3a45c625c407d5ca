"""Keywords of a schema as values of the type that they must have."""

from collections.abc import Mapping
from typing import Any

from gralha.registry.schemas.interface import InvalidSchemaError


class Keywords:
    """The members of a schema that is an object."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        # Keywords that a kind of schema has taken are not left for another one.
        self._left = set(document)

    def has(self, *keywords: str) -> bool:
        """Whether any of the keywords is left."""
        return not self._left.isdisjoint(keywords)

    def present(self) -> set[str]:
        """All keywords, also those that were taken."""
        return set(self._document)

    def take(self, *keywords: str) -> None:
        """Marks keywords as used."""
        self._left.difference_update(keywords)

    def get(self, keyword: str, default: Any = None) -> Any:
        """The value of a keyword, whatever its type is."""
        return self._document.get(keyword, default)

    def text(self, keyword: str) -> str | None:
        """A string."""
        value: str | None = self._typed(keyword, str, "string")
        return value

    def flag(self, keyword: str) -> bool | None:
        """A boolean."""
        value: bool | None = self._typed(keyword, bool, "boolean")
        return value

    def members(self, keyword: str) -> dict[str, Any]:
        """The members of an object."""
        return self._typed(keyword, dict, "object") or {}

    def elements(self, keyword: str) -> list[Any]:
        """The elements of an array."""
        return self._typed(keyword, list, "array") or []

    def names(self, keyword: str) -> list[str]:
        """An array of strings."""
        return strings(self.elements(keyword), keyword)

    def number(self, keyword: str) -> Any:
        """A number."""
        value = self._document.get(keyword)
        if value is None and keyword not in self._document:
            return None
        if isinstance(value, bool) or not is_number(value):
            raise InvalidSchemaError(f"The keyword '{keyword}' is not a number.")
        return value

    def _typed(self, keyword: str, expected: type, name: str) -> Any:
        if keyword not in self._document:
            return None
        value = self._document[keyword]
        if not isinstance(value, expected):
            raise InvalidSchemaError(f"The keyword '{keyword}' is not of the type {name}.")
        return value


def strings(values: Any, keyword: str) -> list[str]:
    """An array of strings below a keyword."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidSchemaError(f"The keyword '{keyword}' has an array with other values than strings.")
    return values


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number: numbers with a fraction are decimals here."""
    return hasattr(value, "as_integer_ratio") and not isinstance(value, bool)
