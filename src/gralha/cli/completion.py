"""`gralha completion bash|zsh|fish`: prints a script that completes gralha and the kafka-* commands.

The script is made from the parsers of the commands (`parser_of`), so it has all their options. It is static:
a key press starts no program.
"""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from gralha.cli.arguments import ProgramParser, parser_of
from gralha.cli.completion_scripts import SCRIPTS
from gralha.cli.program import run


class Option(NamedTuple):
    """An option: its names, its help, and the name of its value. A flag has none."""

    names: list[str]
    help_text: str
    value: str | None
    choices: list[str]


class Command(NamedTuple):
    """A command as it is typed, such as `kafka-storage format`, its options and its subcommands."""

    name: str
    help_text: str
    options: list[Option]
    commands: dict[str, str]


def main(arguments: list[str] | None = None) -> int:
    return run(_main, arguments)


def _main(arguments: list[str]) -> int:
    parser = ProgramParser(
        prog="gralha completion",
        description="Print a script that completes gralha and the kafka-* commands in your shell.",
        examples=(
            "source <(gralha completion bash)        # or this line in ~/.bashrc",
            "source <(gralha completion zsh)         # or this line in ~/.zshrc",
            "gralha completion fish | source         # or in ~/.config/fish/config.fish",
        ),
    )
    parser.add_argument("shell", choices=list(SCRIPTS), help="the shell that you use")
    shell = parser.parse_args(arguments).shell
    print(SCRIPTS[shell](list(commands())), end="")
    return 0


def commands() -> Iterator[Command]:
    """All commands: gralha, its programs, and Kafka's commands, each followed by its subcommands."""
    from gralha.cli.main import KAFKA_COMMANDS, PROGRAMS, command_main

    programs = {name: text for name, (_, text) in PROGRAMS.items()}
    kafka = {name: text for name, (_, text) in KAFKA_COMMANDS.items()}
    yield Command("gralha", "", [Option(["-h", "--help"], "show the commands", None, [])], programs | kafka)
    typed = {f"gralha {name}": name for name in programs} | {f"kafka-{name}": name for name in kafka}
    for line, name in typed.items():
        parser = parser_of(command_main(name))
        if parser is not None:
            yield from _of_parser(line, (programs | kafka)[name], parser)


def _of_parser(name: str, help_text: str, parser: ProgramParser) -> Iterator[Command]:
    subcommands = parser.commands()
    helps = {command: _help_of(parser, command) for command in subcommands}
    yield Command(name, help_text, [_option(action) for action in parser.options()], helps or _words(parser))
    for command, of_command in subcommands.items():
        yield from _of_parser(f"{name} {command}", helps[command], of_command)


def _help_of(parser: ProgramParser, command: str) -> str:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                if choice.dest == command:
                    return choice.help or ""
    return ""


def _words(parser: ProgramParser) -> dict[str, str]:
    """The choices of an argument that is no option, such as the shell of this command."""
    return {
        str(choice): ""
        for action in parser._actions
        if not action.option_strings and action.choices
        for choice in action.choices
    }


def _option(action: argparse.Action) -> Option:
    value = None
    if action.nargs != 0:
        value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    choices = [str(choice) for choice in action.choices or ()]
    text = (action.help or "").replace("%%", "%")
    if action.help is argparse.SUPPRESS:
        text = ""
    return Option(list(action.option_strings), " ".join(text.split()), value, choices)
