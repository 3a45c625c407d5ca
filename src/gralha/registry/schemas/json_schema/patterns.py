"""Regular expressions in JSON schemas.

The specification names one dialect, but schemas that Confluent's registry has accepted may be in Java's. An
expression that only Java understands is kept, and takes no part in decisions.
"""

import re
from collections.abc import Callable
from functools import lru_cache

import jsonschema_rs
import re2

from gralha.registry.schemas.interface import InvalidSchemaError

# Parts of Java's dialect that no engine here knows.
_JAVA_ONLY = (
    "\\Q",
    "\\E",
    "\\h",
    "\\H",
    "\\v",
    "\\V",
    "\\R",
    "\\X",
    "\\G",
    "\\Z",
    "\\p",
    "\\P",
    "&&",
    "(?u",
    "(?d",
)

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def check_pattern(pattern: str) -> str:
    """The pattern, if it is a regular expression of any dialect."""
    if (
        _engine(pattern) is None
        and not _is_python(pattern)
        and not any(part in pattern for part in _JAVA_ONLY)
    ):
        raise InvalidSchemaError(f"The pattern '{pattern[:200]}' is not a regular expression.")
    return pattern


def matches(pattern: str, name: str) -> bool:
    """Whether the regular expression occurs in a name. The work on one name is bounded."""
    search = _engine(pattern)
    return search is not None and search(name)


@lru_cache(maxsize=256)
def _engine(pattern: str) -> Callable[[str], bool] | None:
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": pattern}).is_valid
    except ValueError:
        pass
    try:
        expression = re2.compile(pattern, _OPTIONS)
    except re2.error:
        return None
    return lambda name: expression.search(name) is not None


def _is_python(pattern: str) -> bool:
    # Python's engine has no bounds, so it only says whether an expression is valid.
    try:
        re.compile(pattern)
    except (re.error, OverflowError):
        return False
    return True
