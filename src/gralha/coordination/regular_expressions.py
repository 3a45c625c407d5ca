"""Regular expressions of clients. RE2 matches in linear time, so no expression can stop the event loop."""

from collections.abc import Callable
from typing import Final

import re2

# Enough for an alternation of a hundred names. Ten thousand names are matched in a fraction of a second.
PROGRAM_SIZE_MAX: Final = 5_000


class BadExpressionError(ValueError):
    """An expression that is not valid, or too large. The text says why."""


def matcher(expression: str) -> Callable[[str], object]:
    """A function that tells whether a whole name matches."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(expression, options)
    except re2.error as error:
        raise BadExpressionError(error.args[0].decode(errors="replace")) from None
    except UnicodeError as error:
        raise BadExpressionError(str(error)) from None
    if compiled.programsize > PROGRAM_SIZE_MAX:
        raise BadExpressionError("it is too large")
    matches: Callable[[str], object] = compiled.fullmatch
    return matches
