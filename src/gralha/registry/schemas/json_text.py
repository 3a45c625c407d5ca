"""JSON as Java's Jackson reads and writes it, because a stored schema must be equal byte for byte.

Differences from Python's own module: no NaN, comments on request, Java's notation of floating-point numbers,
and upper-case hexadecimal digits in escapes.
"""

import json
import math
import re
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any, NoReturn

from gralha.registry.schemas.interface import InvalidSchemaError

# Deeper texts are refused. Every walk over a schema recurses, and Python's stack is finite.
NESTING_MAX = 200

# A string or a comment without an end goes to the end of the text, so that no text is searched twice.
_COMMENTS = re.compile(r'("(?:\\.|[^"\\])*+(?:"|\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_ESCAPED = re.compile(r"\\u00([01][0-9a-f])")


def read_json(text: str, comments: bool = False, decimals: bool = False) -> Any:
    """The value of a JSON text. With `decimals`, numbers with a fraction keep all their digits."""
    try:
        value = _read(text, decimals)
    except json.JSONDecodeError as error:
        if not comments or "/" not in text:
            raise InvalidSchemaError(f"The text is not JSON: {error}") from None
        value = _read_commented(text)
    _check_nesting(text, value)
    return value


def _read(text: str, decimals: bool = False) -> Any:
    try:
        text.encode()
        parse_float = Decimal if decimals else float
        return json.loads(text, parse_constant=_refuse_constant, parse_float=parse_float)
    except RecursionError:
        raise InvalidSchemaError("The schema is nested too deeply.") from None
    except UnicodeEncodeError:
        raise InvalidSchemaError("The text has half of a surrogate pair.") from None
    except json.JSONDecodeError:
        raise
    except (ValueError, InvalidOperation):
        raise InvalidSchemaError("The text has a number with too many digits.") from None


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidSchemaError(f"The text is not JSON: {name} is no number of JSON.")


def _read_commented(text: str) -> Any:
    # Java's parser of Avro allows comments inside a schema, and before it.
    plain = _COMMENTS.sub(lambda match: match.group(1) or " ", text)
    try:
        return _read(plain)
    except json.JSONDecodeError as error:
        raise InvalidSchemaError(f"The text is not JSON: {error}") from None


def _check_nesting(text: str, value: Any) -> None:
    if text.count("[") + text.count("{") <= NESTING_MAX:
        return
    level = [value]
    for _ in range(NESTING_MAX):
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(child for child in item.values() if isinstance(child, dict | list))
            elif isinstance(item, list):
                following.extend(child for child in item if isinstance(child, dict | list))
        if not following:
            return
        level = following
    raise InvalidSchemaError(f"The schema is nested too deeply: the limit is {NESTING_MAX} levels.")


def write_json(value: Any) -> str:
    """The value without spaces, in the order that it has."""
    if isinstance(value, str):
        return write_string(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{write_string(key)}:{write_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([write_json(item) for item in value]) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return write_double(value)
    try:
        return str(value)
    except ValueError:
        raise InvalidSchemaError("The text has a number with too many digits.") from None


def sort_members(value: Any) -> Any:
    """The value with the members of all objects sorted by their names."""
    if isinstance(value, dict):
        return {key: sort_members(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [sort_members(item) for item in value]
    return value


def write_string(text: str) -> str:
    """A string of JSON. Only quotes, backslashes and control characters are escaped."""
    quoted = encode_basestring(text)
    if quoted.isascii() and "\\u00" not in quoted:
        return quoted
    if "\\u00" in quoted:
        quoted = _upper_case_escapes(quoted)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        raise InvalidSchemaError("The text has half of a surrogate pair.") from None
    return quoted


def _upper_case_escapes(quoted: str) -> str:
    # An escaped backslash before "u00" is no escape of a control character.
    parts = quoted.split("\\\\")
    return "\\\\".join(_ESCAPED.sub(lambda match: "\\u00" + match.group(1).upper(), part) for part in parts)


def write_double(number: float) -> str:
    """A floating-point number as Jackson writes it: NaN and the infinities are strings."""
    if math.isnan(number):
        return '"NaN"'
    if math.isinf(number):
        return '"Infinity"' if number > 0 else '"-Infinity"'
    return java_double(number)


def java_double(number: float, shortest: str = "") -> str:
    """Java's notation: plain from 0.001 to 10 million, otherwise with an exponent."""
    digits = shortest or repr(number)
    if number == 0:
        return digits
    sign = "-" if digits.startswith("-") else ""
    mantissa, _, exponent_text = digits.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(exponent_text or 0) + len(whole)
    significant = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(significant)
    significant = significant.rstrip("0") or "0"
    # The number is now 0.SIGNIFICANT * 10**exponent.
    if 1e-3 <= abs(number) < 1e7:
        if exponent <= 0:
            return f"{sign}0.{'0' * -exponent}{significant}"
        padded = significant.ljust(exponent, "0")
        return f"{sign}{padded[:exponent]}.{padded[exponent:] or '0'}"
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{exponent - 1}"
