"""What the parts of the comparison share: a step asks for the differences of a pair of schemas."""

from collections.abc import Generator
from typing import Protocol

from gralha.registry.schemas.interface import PROBLEMS_MAX
from gralha.registry.schemas.json_schema.differences import Difference
from gralha.registry.schemas.json_schema.model import Node

Found = tuple[Difference, ...]
Step = Generator[tuple[Node, Node], Found, Found]

# A path shows its end only if it is extremely long.
_PATH_MAX = 1000


class Judge(Protocol):
    """Decides which differences are compatible."""

    def is_compatible(self, found: Found) -> bool:
        """Whether all differences are compatible."""


class Collected:
    """Differences up to a limit. Those that are not compatible have a limit of their own, so none is lost."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._kept: list[Difference] = []
        self._count = {True: 0, False: 0}

    def add(self, found: Found, *path: str) -> None:
        """Adds differences below a path."""
        for one in found:
            is_compatible = self._judge.is_compatible((one,))
            if self._count[is_compatible] < PROBLEMS_MAX:
                self._count[is_compatible] += 1
                self._kept.append(Difference(one.kind, (*path, *one.path)[:_PATH_MAX]) if path else one)

    def all(self) -> Found:
        """All differences that were kept."""
        return tuple(self._kept)


def below(found: Found, *path: str) -> Found:
    """The differences with a longer path."""
    return tuple(Difference(one.kind, (*path, *one.path)[:_PATH_MAX]) for one in found)


def at(kind: str, *path: str) -> Found:
    """One difference."""
    return (Difference(kind, path),)


def compare_optional(original: Node | None, update: Node | None) -> Step:
    """The differences of two schemas that need not exist."""
    if original is None or update is None:
        if original is update:
            return ()
        return at("SCHEMA_ADDED" if original is None else "SCHEMA_REMOVED")
    return (yield (original, update))


def compare_unevaluated(original: Node | None, update: Node | None, name: str) -> Step:
    """The differences of what is allowed beside all that other keywords describe."""
    if original is None and update is None:
        return ()
    kind = _unevaluated_kind(original, update)
    if kind is not None:
        return at(f"UNEVALUATED_{name.upper()}_{kind}", f"unevaluated{name}")
    assert original is not None
    assert update is not None
    return below((yield (original, update)), f"unevaluated{name}")


def _unevaluated_kind(original: Node | None, update: Node | None) -> str | None:
    was_false = original is not None and original.kind == "false"
    is_false = update is not None and update.kind == "false"
    if was_false != is_false:
        return "ADDED" if was_false else "REMOVED"
    was_open = original is None or original.is_empty
    is_open = update is None or update.is_empty
    if original is not None and update is not None and was_open == is_open:
        return None
    if original is None:
        return "NARROWED"
    return "EXTENDED" if update is None or is_open else "NARROWED"
