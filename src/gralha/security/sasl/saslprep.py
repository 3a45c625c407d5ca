"""SASLprep (RFC 4013): the form in which two spellings of a user name are equal."""

import stringprep
import unicodedata
from typing import Final

_FORBIDDEN: Final = (
    stringprep.in_table_a1,  # unassigned code points
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def saslprep(text: str) -> str:
    """The prepared text. Raises ValueError if the text has forbidden characters."""
    mapped = "".join(
        " " if stringprep.in_table_c12(one) else one for one in text if not stringprep.in_table_b1(one)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    for one in prepared:
        if any(is_in_table(one) for is_in_table in _FORBIDDEN):
            raise ValueError(f"the character U+{ord(one):04X} is not allowed")
    _check_direction(prepared)
    return prepared


def _check_direction(text: str) -> None:
    """RFC 3454, section 6: right-to-left text has no left-to-right letters, and begins and ends as such."""
    if not any(stringprep.in_table_d1(one) for one in text):
        return
    if any(stringprep.in_table_d2(one) for one in text):
        raise ValueError("left-to-right and right-to-left characters are mixed")
    if not stringprep.in_table_d1(text[0]) or not stringprep.in_table_d1(text[-1]):
        raise ValueError("right-to-left text must begin and end with a right-to-left character")
