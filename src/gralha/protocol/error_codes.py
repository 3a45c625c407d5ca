"""Finds the error codes in a response: its own, and those of its topics, partitions, groups and so on."""

from typing import Any, Final, NamedTuple, get_args, get_type_hints

from gralha.protocol.message import Struct

ERROR_CODE: Final = "error_code"


class _Places(NamedTuple):
    """Where a class of structs has error codes."""

    has_code: bool
    # Fields with structs that have error codes, or lists of them.
    fields: tuple[str, ...]


def error_codes(response: Struct) -> list[int]:
    """All error codes of a response; 0 stands for a success."""
    found: list[int] = []
    _collect(response, found)
    return found


def _collect(struct: Struct, found: list[int]) -> None:
    has_code, fields = _places(type(struct))
    if has_code:
        found.append(getattr(struct, ERROR_CODE))
    for name in fields:
        value = getattr(struct, name)
        if isinstance(value, list):
            for item in value:
                _collect(item, found)
        elif value is not None:
            _collect(value, found)


_KNOWN: Final[dict[type, _Places]] = {}


def _places(struct: type[Struct]) -> _Places:
    known = _KNOWN.get(struct)
    if known is None:
        known = _KNOWN[struct] = _look_up(struct)
    return known


def _look_up(struct: type[Struct]) -> _Places:
    hints = get_type_hints(struct.__init__)
    fields = tuple(
        name
        for name in struct.FIELDS
        if any(_places(inner) != (False, ()) for inner in _structs(hints.get(name)))
    )
    return _Places(ERROR_CODE in struct.FIELDS, fields)


def _structs(hint: Any) -> list[type[Struct]]:
    """The classes of structs in a type such as `list[X] | None`."""
    if isinstance(hint, type) and issubclass(hint, Struct):
        return [hint]
    return [struct for argument in get_args(hint) for struct in _structs(argument)]
