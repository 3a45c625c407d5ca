"""Paths in the tree of the metadata shell: `.` and `..`, patterns, and the completion of a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from gralha.cli.metadata_tree import Node

_SPECIAL_IN_GLOBS: Final = re.compile(r"[*?{}\\]")


class Place(NamedTuple):
    """A node that a path has named."""

    path: tuple[str, ...]
    node: Node

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else "/"


def components(working_directory: str, path: str) -> list[str]:
    """The names on the way from the root, without `.` and `..`."""
    absolute = path if path.startswith("/") else f"{working_directory}/{path}"
    found: list[str] = []
    for name in absolute.split("/"):
        if name == "..":
            del found[-1:]
        elif name not in ("", "."):
            found.append(name)
    return found


def matches(root: Node, names: list[str]) -> list[Place]:
    """The nodes that the names match, in the order of their names. A name may be a pattern."""
    return list(_walk(Place((), root), names))


def _walk(place: Place, names: list[str]) -> Iterator[Place]:
    if not names:
        yield place
        return
    if isinstance(place.node, str):
        return
    pattern = pattern_of(names[0])
    if pattern is None:
        chosen = [names[0]] if names[0] in place.node else []
    else:
        chosen = [name for name in sorted(place.node) if pattern.fullmatch(name)]
    for name in chosen:
        yield from _walk(Place((*place.path, name), place.node[name]), names[1:])


def pattern_of(glob: str) -> re.Pattern[str] | None:
    """The expression for a pattern: `*`, `?` and `{a,b}`. None if the text means itself."""
    if not _SPECIAL_IN_GLOBS.search(glob):
        return None
    parts: list[str] = []
    in_group = False
    literal = True
    characters = iter(glob)
    for character in characters:
        if character == "\\":
            parts.append(re.escape(next(characters, character)))
            continue
        replacement = _replacement(character, in_group)
        if replacement is None:
            parts.append(re.escape(character))
            continue
        literal = False
        if character == "{" and in_group:
            return None
        in_group = {"{": True, "}": False}.get(character, in_group)
        parts.append(replacement)
    # As in Kafka, a group that is not closed makes the text mean itself.
    return None if in_group or literal else re.compile("".join(parts))


def _replacement(character: str, in_group: bool) -> str | None:
    if character in "*?{":
        return {"*": ".*", "?": ".", "{": "(?:(?:"}[character]
    return {",": ")|(?:", "}": "))"}.get(character) if in_group else None


def complete_path(root: Node, working_directory: str, prefix: str) -> list[str]:
    """The paths that begin with this text. A directory ends with a slash."""
    directory, slash, beginning = prefix.rpartition("/")
    node = root
    for name in components(working_directory, f"{directory}{slash}" or "."):
        if isinstance(node, str) or name not in node:
            return []
        node = node[name]
    if isinstance(node, str):
        return []
    return [
        f"{directory}{slash}{name}{'' if isinstance(node[name], str) else '/'}"
        for name in sorted(node)
        if name.startswith(beginning)
    ]
