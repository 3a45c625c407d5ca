"""Rules for the names in Avro schemas."""

import re

from gralha.registry.schemas.avro.model import PRIMITIVES, Name
from gralha.registry.schemas.interface import InvalidSchemaError

_STRICT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_name(name: object, strict: bool) -> str:
    """The name, if Java accepts it. A new schema may only use ASCII; older ones any letters."""
    if not isinstance(name, str):
        raise InvalidSchemaError("A name is missing or no string.")
    if not name:
        raise InvalidSchemaError("A name is empty.")
    if not (_STRICT.fullmatch(name) if strict else _has_letters(name)):
        raise InvalidSchemaError(
            f"The name '{name}' is not allowed: a name has letters, digits and underscores, no digit first."
        )
    return name


def _has_letters(name: str) -> bool:
    # Java looks at UTF-16 units, so letters outside of the basic plane are none.
    return (
        all((c.isalpha() or c.isdigit() or c == "_") and ord(c) < 0x10000 for c in name)
        and not name[0].isdigit()
    )


def make_name(name: str, space: str | None, strict: bool) -> Name:
    """The name from its two parts. A name with dots has its own namespace."""
    before, dot, last = name.rpartition(".")
    if dot:
        space = before
    return Name(check_name(last, strict), space or None)


def check_full_name(name: Name, strict: bool) -> None:
    """Refuses namespaces with bad parts, and types that are named like primitives."""
    if name.full in PRIMITIVES:
        raise InvalidSchemaError(f"A type has the name '{name.full}' of a primitive type.")
    if name.space is not None:
        for part in name.space.split("."):
            check_name(part, strict)
