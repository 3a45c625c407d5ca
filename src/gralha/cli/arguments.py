"""Parses command lines as Kafka's commands do.

`CommandParser` is argparse with Kafka's habits. A wrong call ends with one line and exit code 1. An option
that takes one value may not be given twice. The checks between options (`require`, `exclude`,
`require_one_of`) use Kafka's words. For argparse all options are optional: required options are checked after
`--help` and `--version`.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from gralha import __version__
from gralha.cli.program import EXIT_FAILED, CommandError


class StoreOnce(argparse.Action):
    """Stores a value and refuses a second one, which would silently replace the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        seen: set[str] = getattr(namespace, "_seen", set())
        if self.dest in seen:
            raise CommandError(
                f"Found multiple arguments for option {_name(self.option_strings)}, give only one"
            )
        namespace._seen = seen | {self.dest}
        setattr(namespace, self.dest, values)


class ProgramParser(argparse.ArgumentParser):
    """The options of one of our own programs. A wrong call ends as with Kafka's commands."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see {self.prog} --help)")


class CommandParser(ProgramParser):
    """The options of one command."""

    def __init__(self, command: str, description: str) -> None:
        super().__init__(
            prog=command,
            description=description,
            add_help=False,
            formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=38, width=110),
            usage=argparse.SUPPRESS,
        )
        self.flag("help", "show this text and exit")
        self.flag("version", "show the version and exit")

    def flag(self, name: str, help_text: str) -> None:
        """Adds an option without a value: `args.name` is True or False."""
        self.add_argument(f"--{name}", dest=destination(name), action="store_true", help=_escape(help_text))

    def value(
        self,
        name: str,
        help_text: str,
        *,
        kind: Callable[[str], Any] = str,
        metavar: str = "VALUE",
        **more: Any,
    ) -> None:
        """Adds an option with one value: `args.name` is the value, or `default` if it was not given."""
        self.add_argument(
            f"--{name}",
            dest=more.pop("dest", destination(name)),
            action=StoreOnce,
            type=kind,
            metavar=metavar,
            help=_escape(help_text),
            **more,
        )

    def values(self, *names: str, help_text: str, metavar: str = "NAME=VALUE") -> None:
        """Adds an option that may be given many times, under any of its names: `args.name` is a list."""
        for name in names:
            self.add_argument(
                f"--{name}",
                dest=destination(names[0]),
                action="append",
                default=[],
                metavar=metavar,
                help=_escape(help_text if name == names[0] else f"old name of --{names[0]}"),
            )

    def parse(self, arguments: Sequence[str], *required: str) -> argparse.Namespace:
        """Parses the arguments. Shows the help or the version first if that was asked for."""
        if not arguments:
            self.print_help(sys.stderr)
            raise SystemExit(EXIT_FAILED)
        options = self.parse_args(arguments)
        if options.help:
            self.print_help()
            raise SystemExit(0)
        if options.version:
            print(f"{__version__} (Gralha)")
            raise SystemExit(0)
        self.require(options, *required)
        return options

    def require(self, options: argparse.Namespace, *names: str) -> None:
        """Fails unless each of these options was given."""
        for name in names:
            if not given(options, name):
                self.error(f'Missing required argument "[{name}]"')

    def require_one_of(self, options: argparse.Namespace, *names: str) -> None:
        """Fails unless exactly one of these options was given."""
        if sum(given(options, name) for name in names) != 1:
            listed = ", ".join(f"[{name}]" for name in names)
            self.error(f"Exactly one of the following arguments is required: {listed}")

    def exclude(self, options: argparse.Namespace, name: str, others: Sequence[str]) -> None:
        """Fails if this option and one of the others were given."""
        if not given(options, name):
            return
        for other in others:
            if given(options, other):
                self.error(f'Option "[{name}]" can\'t be used with option "[{other}]"')


def given(options: argparse.Namespace, name: str) -> bool:
    """Returns True if an option without a default was given."""
    value = getattr(options, destination(name))
    # 0 is a given value, although 0 == False.
    return value is not None and value is not False and value != []


def destination(name: str) -> str:
    """The attribute that has an option's value."""
    return name.replace("-", "_").replace(".", "_")


def _name(option_strings: Sequence[str]) -> str:
    return option_strings[0].lstrip("-")


def _escape(help_text: str) -> str:
    return help_text.replace("%", "%%")


def positive_int(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not greater than zero")
    return number


def port_number(text: str) -> int:
    """A TCP port. With 0 the operating system chooses one."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: give a number from 0 to 65535")
    return int(text)
