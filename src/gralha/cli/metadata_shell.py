"""kafka-metadata-shell: shows the metadata of a cluster in a file as a tree of directories and files.

With a command it runs that command and ends. Without one it reads commands from a terminal. Unlike Apache
Kafka's command it also takes the folder of the metadata log, and it does not lock the files of a running
node, because it only reads them.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gralha.cli.arguments import ProgramParser
from gralha.cli.program import run

if TYPE_CHECKING:
    from gralha.cli.metadata_commands import Shell

_PROMPT = ">> "


def _parser() -> ProgramParser:
    parser = ProgramParser(
        prog="kafka-metadata-shell",
        description="The metadata shell.",
        examples=["kafka-metadata-shell --snapshot /data/__cluster_metadata-0"],
    )
    parser.add_argument(
        "--snapshot",
        "-s",
        required=True,
        metavar="FILE",
        help="a snapshot (*.checkpoint) or a segment (*.log) of the metadata log, or the folder "
        "__cluster_metadata-0",
    )
    parser.add_argument(
        "command", nargs="*", help="the command to run, with its arguments: ls, cat, find or tree"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    if not options.command:
        print("Loading...", flush=True)
    shell = open_shell(Path(options.snapshot), interactive=not options.command)
    if options.command:
        shell.run(options.command)
        return 0
    print("Starting...")
    _read_commands(shell)
    return 0


def open_shell(path: Path, *, interactive: bool) -> Shell:
    """A shell on the metadata of a file. It tells which records it cannot show."""
    from gralha.cli.metadata_commands import Shell
    from gralha.cli.metadata_file import read_metadata
    from gralha.cli.metadata_tree import tree_of

    metadata = read_metadata(path)
    for kind, count in sorted(metadata.skipped.items()):
        print(f"{count} records of the type {kind} are not shown", file=sys.stderr)
    return Shell(
        tree_of(metadata),
        interactive=interactive,
        screen_width=shutil.get_terminal_size().columns if interactive else None,
    )


def _read_commands(shell: Shell) -> None:
    """Runs commands from standard input until it ends. Ctrl-C drops a line."""
    _complete_with_tab(shell)
    print("[ Kafka Metadata Shell ]")
    while not shell.closed:
        try:
            line = input(_PROMPT)
            if line.strip():
                shell.history.append(line)
            shell.run(_words(line))
        except KeyboardInterrupt:
            print()
        except EOFError:
            print()
            return


def _words(line: str) -> list[str]:
    """The words of a line. Quotation marks join words; a line with an open one is not run."""
    try:
        return shlex.split(line)
    except ValueError as error:
        print(f"{line}: {error}")
        return []


def _complete_with_tab(shell: Shell) -> None:
    """Makes the Tab key complete commands and paths, if this Python can do that."""
    try:
        import readline
    except ImportError:
        return

    def complete(_text: str, state: int) -> str | None:
        candidates = completions(shell, readline.get_line_buffer()[: readline.get_endidx()])
        return candidates[state] if state < len(candidates) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")


def completions(shell: Shell, line: str) -> list[str]:
    """What the last word of a line can become."""
    from gralha.cli.metadata_commands import COMMANDS
    from gralha.cli.metadata_paths import complete_path

    first, space, rest = line.lstrip().partition(" ")
    if not space:
        return [f"{name} " for name in COMMANDS if name.startswith(first)]
    if first == "man":
        return [name for name in COMMANDS if name.startswith(rest.lstrip())]
    return complete_path(shell.root, shell.working_directory, rest.rpartition(" ")[2])
