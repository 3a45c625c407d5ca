"""kafka-server-stop: stops the nodes that run on this machine, as Kafka's script does.

A node is a process of `gralha server` or `kafka-server-start`. It gets SIGTERM, and stops cleanly. The
command does not wait for that. `gralha up` is stopped with Ctrl-C where it runs.
"""

import os
import shlex
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from gralha.cli.arguments import ProgramParser
from gralha.cli.program import EXIT_FAILED, CommandError, run
from gralha.cli.properties import load_properties

_PROC: Final = Path("/proc")
_PROGRAMS: Final = ("gralha", "gralha.cli.main")
_STARTERS: Final = ("kafka-server-start", "kafka-server-start.sh")


class RunningNode(NamedTuple):
    """A process that runs a node. Its file is relative to its folder."""

    pid: int
    file: str
    overrides: dict[str, str]
    folder: Path

    def settings(self) -> dict[str, str]:
        """The settings of the node. Without a readable file only those of the command line."""
        try:
            found = load_properties(str(self.folder / self.file))
        except CommandError:
            found = {}
        return {**found, **self.overrides}


def main(arguments: Sequence[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    parser = ProgramParser(
        prog="kafka-server-stop",
        description="Stop the nodes that `gralha server` and `kafka-server-start` run on this machine.",
        examples=("kafka-server-stop", "kafka-server-stop --node-id 3"),
    )
    parser.add_argument("--process-role", choices=("broker", "controller"), help="only nodes with this role")
    parser.add_argument("--node-id", type=int, metavar="ID", help="only this node, whatever its role")
    options = parser.parse_args(arguments)
    nodes = [node for node in running_nodes() if is_wanted(node, options)]
    if not nodes:
        print("No kafka server to stop", file=sys.stderr)
        return EXIT_FAILED
    for node in nodes:
        _stop(node)
    return 0


def is_wanted(node: RunningNode, options: Namespace) -> bool:
    """Returns True if the options select the node. As in Kafka, an id counts more than a role."""
    if options.node_id is None and options.process_role is None:
        return True
    settings = node.settings()
    if options.node_id is not None:
        return settings.get("node.id", "").strip() == str(options.node_id)
    roles = [role.strip() for role in settings.get("process.roles", "").split(",")]
    return options.process_role in roles


def _stop(node: RunningNode) -> None:
    try:
        os.kill(node.pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has just ended
    except PermissionError:
        raise CommandError(f"Process {node.pid} runs {node.file} as another user, who can stop it") from None
    print(f"Stopping process {node.pid}, which runs {node.file}")


def running_nodes() -> Iterator[RunningNode]:
    """All nodes on this machine."""
    for pid, words, folder in _processes():
        found = node_of(pid, words, folder)
        if found is not None:
            yield found


def node_of(pid: int, words: Sequence[str], folder: Path) -> RunningNode | None:
    """The node that a command line runs. None for all other programs."""
    rest = list(words)
    if rest and os.path.basename(rest[0]).startswith("python"):
        rest.pop(0)
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option in ("-X", "-W"):
                rest[:1] = []
            if option == "-m":
                break
    program = os.path.basename(rest.pop(0)) if rest else ""
    if program in _STARTERS:
        return _node(pid, rest, folder)
    if program in _PROGRAMS and rest[:1] == ["server"]:
        return _node(pid, rest[1:], folder)
    return None


def _node(pid: int, words: list[str], folder: Path) -> RunningNode | None:
    """The file and the overrides in the words after the command."""
    files: list[str] = []
    overrides: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        option, has_value, value = word.partition("=")
        if option not in ("--config", "--override"):
            if not word.startswith("-"):
                files.append(word)
            continue
        value = value if has_value else next(rest, "")
        if option == "--config":
            files.append(value)
        else:
            name, _, setting = value.partition("=")
            overrides[name] = setting
    return RunningNode(pid, files[0], overrides, folder) if files else None


def _processes() -> Iterator[tuple[int, list[str], Path]]:
    """The processes of this machine: id, command line, working folder."""
    if not _PROC.is_dir():
        yield from _listed_processes()
        return
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
            folder = (entry / "cwd").readlink() if words else Path()
        except OSError:
            continue  # it has ended, or belongs to somebody else
        yield int(entry.name), words, folder


def _listed_processes() -> Iterator[tuple[int, list[str], Path]]:
    """The same on systems without /proc. The working folder is not known there."""
    listed = subprocess.run(
        ["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        pid, _, command = line.strip().partition(" ")
        try:
            yield int(pid), shlex.split(command), Path()
        except ValueError:
            continue  # a quotation mark that is a part of a name
