"""The commands of the metadata shell: ls, cat, cd, find, tree and so on. They print to standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from gralha.cli.metadata_paths import Place, components, matches
from gralha.cli.metadata_tree import Node

_NARROWEST_COLUMN: Final = 4


class Shell:
    """The tree, the working directory and the lines that were typed."""

    def __init__(self, root: Node, *, interactive: bool, screen_width: int | None = None) -> None:
        self.root = root
        self.interactive = interactive
        self.screen_width = screen_width
        self.working_directory = "/"
        self.history: list[str] = []
        self.closed = False

    def run(self, words: Sequence[str]) -> None:
        """Runs a command. Empty words at the end are ignored."""
        arguments = list(words)
        while arguments and not arguments[-1]:
            arguments.pop()
        if not arguments:
            return
        name = arguments.pop(0)
        command = COMMANDS.get(name)
        if command is None or (command.shell_only and not self.interactive):
            print(f"invalid choice: '{name}' (choose from {', '.join(map(repr, self._names()))})")
        elif len(arguments) < command.least:
            print("too few arguments")
        elif command.most is not None and len(arguments) > command.most:
            print(f"unrecognized arguments: '{' '.join(arguments[command.most :])}'")
        else:
            command.run(self, arguments)

    def _names(self) -> list[str]:
        return [name for name, one in COMMANDS.items() if self.interactive or not one.shell_only]

    def places(self, path: str) -> list[Place]:
        """The nodes that a path names. It may have patterns."""
        return matches(self.root, components(self.working_directory, path))


def _cat(shell: Shell, targets: list[str]) -> None:
    for target in targets:
        places = shell.places(target)
        for place in places:
            print(place.node if isinstance(place.node, str) else f"cat: {target}: Is a directory")
        if not places:
            print(f"cat: {target}: No such file or directory.")


def _cd(shell: Shell, targets: list[str]) -> None:
    target = targets[0] if targets else "/"
    places = shell.places(target)
    for place in places:
        if isinstance(place.node, str):
            print(f"cd: {target}: not a directory.")
        else:
            shell.working_directory = "/" + "/".join(place.path)
    if not places:
        print(f"cd: {target}: no such directory.")


def _exit(shell: Shell, _arguments: list[str]) -> None:
    shell.closed = True


def _find(shell: Shell, paths: list[str]) -> None:
    for path in _paths(paths):
        places = shell.places(path)
        for place in places:
            for line in _found(path, place.node):
                print(line)
        if not places:
            print(f"find: {path}: no such file or directory.")


def _found(path: str, node: Node) -> Iterator[str]:
    yield path
    if not isinstance(node, str):
        folder = "/" if path == "/" else f"{path}/"
        for name in sorted(node):
            yield from _found(f"{folder}{name}", node[name])


def _help(_shell: Shell, _arguments: list[str]) -> None:
    print("Welcome to the Apache Kafka metadata shell.\n")
    for name, command in COMMANDS.items():
        print(f"  {name:<10}{command.description}")


def _history(shell: Shell, arguments: list[str]) -> None:
    count = len(shell.history)
    if arguments:
        if not arguments[0].isdecimal():
            print(f"argument numEntriesToShow: could not convert '{arguments[0]}' to Integer")
            return
        count = min(count, int(arguments[0]))
    first = len(shell.history) - count
    for number, line in enumerate(islice(shell.history, first, None), first):
        print(f"{number: 5d}  {line}")


def _ls(shell: Shell, targets: list[str]) -> None:
    files: list[str] = []
    directories: list[tuple[str, list[str]]] = []
    for target in _paths(targets):
        places = shell.places(target)
        for place in places:
            if isinstance(place.node, str):
                files.append(place.name)
            else:
                directories.append((place.name, sorted(place.node)))
        if not places:
            print(f"ls: {target}: no such file or directory.")
    for line in _listing(files, directories, shell.screen_width):
        print(line)


def _listing(
    files: list[str], directories: list[tuple[str, list[str]]], screen_width: int | None
) -> Iterator[str]:
    """The lines of ls: the files, then each directory, with its name if there is more than one thing."""
    yield from in_columns(files, screen_width)
    with_names = bool(files) or len(directories) > 1
    for number, (name, children) in enumerate(directories):
        if children and with_names:
            if files or number:
                yield ""
            yield f"{name}:"
        yield from in_columns(children, screen_width)


def in_columns(names: Sequence[str], screen_width: int | None) -> list[str]:
    """The names in as many columns as fit on the screen, or in one if there is no screen."""
    widest = 1 if screen_width is None else screen_width // _NARROWEST_COLUMN
    for columns in range(widest, 1, -1):
        rows = -(-len(names) // columns)
        parts = [names[start : start + rows] for start in range(0, len(names), rows)] if rows else []
        widths = [max(map(len, part)) + 2 for part in parts]
        if screen_width is not None and len(parts) == columns and sum(widths) <= screen_width:
            return [_row(parts, widths, row) for row in range(rows)]
    return list(names)


def _row(parts: list[Sequence[str]], widths: list[int], row: int) -> str:
    cells = [
        part[row] if number == len(parts) - 1 else part[row].ljust(width)
        for number, (part, width) in enumerate(zip(parts, widths, strict=True))
        if row < len(part)
    ]
    return "".join(cells)


def _man(_shell: Shell, arguments: list[str]) -> None:
    name = arguments[0]
    command = COMMANDS.get(name)
    if command is None:
        print(f"man: unknown command {name}. Type help to get a list of commands.")
        return
    print(f"{name}: {command.description}\n\nusage: {f'{name} {command.usage}'.strip()}")


def _pwd(shell: Shell, _arguments: list[str]) -> None:
    print(shell.working_directory)


def _tree(shell: Shell, targets: list[str]) -> None:
    for target in targets:
        places = shell.places(target)
        for place in places:
            for line in _indented(place.node, ""):
                print(line)
        if not places:
            print(f"tree: {target}: No such file or directory.")


def _indented(node: Node, indent: str) -> Iterator[str]:
    if isinstance(node, str):
        yield f"{indent}{node}"
        return
    for name in sorted(node):
        yield f"{indent}{name}:"
        yield from _indented(node[name], f"{indent}  ")


def _paths(arguments: list[str]) -> list[str]:
    return [path for path in arguments if path] or ["."]


class Command(NamedTuple):
    """A command: what it does, its arguments, and how many it takes. Some are only for a terminal."""

    run: Callable[[Shell, list[str]], None]
    description: str
    usage: str = ""
    least: int = 0
    most: int | None = None
    shell_only: bool = False


COMMANDS: Final[dict[str, Command]] = {
    "cat": Command(_cat, "Show the contents of metadata files.", "targets [targets ...]", least=1),
    "cd": Command(_cd, "Set the current working directory.", "[target]", most=1, shell_only=True),
    "exit": Command(_exit, "Exit the metadata shell.", most=0, shell_only=True),
    "find": Command(_find, "Search for nodes in the directory hierarchy.", "[paths ...]"),
    "help": Command(_help, "Display this help message.", most=0, shell_only=True),
    "history": Command(_history, "Print command history.", "[numEntriesToShow]", most=1, shell_only=True),
    "ls": Command(_ls, "List metadata nodes.", "[targets ...]"),
    "man": Command(
        _man, "Show the help text for a specific command.", "cmd", least=1, most=1, shell_only=True
    ),
    "pwd": Command(_pwd, "Print the current working directory.", most=0, shell_only=True),
    "tree": Command(
        _tree,
        "Show the contents of metadata nodes in a tree structure.",
        "targets [targets ...]",
        least=1,
    ),
}
