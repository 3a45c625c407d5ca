"""Parses command lines as Kafka's commands do.

`ProgramParser` is argparse with our habits: an option must be written in full, an unknown one gets "did you
mean", and a wrong call ends with one line and exit code 1. `CommandParser` is for Kafka's flat commands. An
option that takes one value may not be given twice. The checks between options (`require`, `exclude`,
`require_one_of`) use Kafka's words. For argparse all options are optional: required options are checked after
`--help` and `--version`.
"""

import argparse
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

from gralha import __version__
from gralha.cli.bootstrap import ADDRESS_OF_UP, default_in_help, is_gralha, servers_without_option
from gralha.cli.program import EXIT_FAILED, CommandError

_HELP_COLUMNS_MAX: Final = 110
# The help of an option without which the command does not run begins with this.
REQUIRED: Final = "REQUIRED: "
_LONG_DASHES: Final = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212")
# In an example, a name that `gralha` replaces: `kafka-topics` is `gralha topics` there.
_KAFKAS_NAME: Final = re.compile(r"(?:^|(?<=\$\())kafka-")
_EXAMPLE_SERVER: Final = f" --bootstrap-server {ADDRESS_OF_UP}"
_SERVER_OPTIONS: Final = frozenset(
    ("--bootstrap-server", "-b", "--bootstrap-controller", "-C", "--broker-list", "--help", "-h", "--version")
)


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


class ParserFound(BaseException):
    """Ends a command that was started for its parser (`parser_of`). It passes all handlers of errors."""

    def __init__(self, parser: "ProgramParser") -> None:
        super().__init__()
        self.parser = parser


class ProgramParser(argparse.ArgumentParser):
    """The options of a program. A wrong call ends as with Kafka's commands."""

    # True while `parser_of` runs a command.
    is_wanted = False
    # False for a command that finds the default servers itself.
    may_add_servers = True

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*arguments, **{"allow_abbrev": False, **more})
        self.prog = as_typed(self.prog)
        self.examples = [as_typed(example) for example in examples]
        self._words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{self.in_words(message)} (see {self.prog} --help)")

    def format_usage(self) -> str:
        self._show_default_servers()
        return super().format_usage()

    def format_help(self) -> str:
        self._show_default_servers()
        text = super().format_help()
        if self.examples:
            title = "example" if len(self.examples) == 1 else "examples"
            text += f"\n{title}:\n" + "".join(f"  {example}\n" for example in self.examples)
        return text

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parses the arguments. An argument that nothing takes is an error here, also of a subcommand."""
        self.stop_if_wanted()
        words = list(sys.argv[1:] if args is None else args)
        self._check_options(words)
        self._words = words
        options, left = super().parse_known_args(self._default_servers(words) + words, namespace)
        if left:
            self.error(self._about_argument(left[0], words))
        return options, []

    def stop_if_wanted(self) -> None:
        """Ends the command if `parser_of` has started it."""
        if ProgramParser.is_wanted:
            raise ParserFound(self)

    def commands(self) -> "dict[str, ProgramParser]":
        """The parsers of the subcommands, by their names."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def options(self) -> Iterator[argparse.Action]:
        """The options, without subcommands and other arguments."""
        return (action for action in self._actions if action.option_strings)

    def _check_options(self, words: Sequence[str]) -> None:
        """Fails at the first option that does not exist. Options after a subcommand are of its own parser."""
        known = self._option_string_actions
        commands = self.commands()
        for place, word in enumerate(words):
            if word == "--":
                return
            if word in commands:
                self._check_places(word, commands[word], words[place + 1 :])
                return
            name = word.partition("=")[0]
            if name.startswith(_LONG_DASHES):
                plain = "--" + name.lstrip("-" + "".join(_LONG_DASHES))
                self.error(f"{name} begins with a long dash, as in printed text: type {plain}")
            if name.startswith("-") and name not in known:
                self._check_owner(name, words[place + 1 :])
            if name.startswith("--") and name not in known:
                self.error(self._about_option(name))
            if name.startswith("-") and f"-{name}" in known:
                self.error(f"{name} is not a recognized option. Did you mean -{name}?")

    def _check_owner(self, name: str, words: Sequence[str]) -> None:
        """Fails if the option is one of a subcommand: of the given one, or of any if none is given."""
        commands = self.commands()
        given = [word for word in words if word in commands][:1]
        owners = [one for one in given or commands if name in commands[one]._option_string_actions]
        if owners and given:
            self.error(f"{name} must come after {owners[0]}: {self.prog} {owners[0]} {name}")
        if owners:
            named = ", ".join(owners)
            self.error(
                f"{name} is an option of {named}. The command comes first: {self.prog} {owners[0]} {name}"
            )

    def _check_places(self, command: str, parser: "ProgramParser", words: Sequence[str]) -> None:
        """Fails at an option of this parser that was given after the subcommand."""
        for word in words:
            name = word.partition("=")[0]
            if name in self._option_string_actions and name not in parser._option_string_actions:
                self.error(f"{name} must come before {command}: {self.prog} {name} ... {command}")

    def _default_servers(self, words: Sequence[str]) -> list[str]:
        """The option --bootstrap-server for a command line that names no cluster, if there is a default."""
        servers = servers_without_option() if self.may_add_servers else None
        if servers is None or "--bootstrap-server" not in self._option_string_actions:
            return []
        names = {word.partition("=")[0] for word in words}
        return [] if names & _SERVER_OPTIONS else ["--bootstrap-server", servers]

    def _show_default_servers(self) -> None:
        """Shows --bootstrap-server as optional, with its default, if there is one."""
        action = self._option_string_actions.get("--bootstrap-server")
        default = default_in_help()
        if action is None or default is None or "(default" in (action.help or ""):
            return
        action.help = _escape(f"{(action.help or '').removeprefix(REQUIRED)} {default}")
        action.required = False
        for group in self._mutually_exclusive_groups:
            if action in group._group_actions:
                group.required = False

    def _about_option(self, name: str) -> str:
        from gralha.cli.suggestions import about_option

        return f"{name} is not a recognized option{about_option(name, self._option_string_actions)}"

    def _about_argument(self, word: str, words: Sequence[str]) -> str:
        if f"--{word}" in self._option_string_actions:
            return f"'{word}' is not an option. Did you mean --{word}?"
        from gralha.cli.suggestions import option_for

        option = option_for(word, self._option_string_actions, words)
        return f"'{word}' is one argument too many" + (f". Did you mean {option} {word}?" if option else "")

    def in_words(self, message: str) -> str:
        """A message of argparse in words that help a person."""
        from gralha.cli.suggestions import did_you_mean

        commands = self.commands()
        file = next((word for word in self._words if word.endswith(".properties")), None)
        if file and message == "the following arguments are required: --config":
            return f"'{file}' is one argument too many. Did you mean --config {file}?"
        if commands and message.startswith("the following arguments are required: command"):
            return f"Which command? Give one of: {', '.join(commands)}"
        if commands and (wrong := re.search(r"invalid choice: '(.*?)'", message)):
            meant = did_you_mean(wrong[1], commands) or f" Give one of: {', '.join(commands)}"
            return f"{self.prog} has no command '{wrong[1]}'.{meant}"
        message = re.sub(
            r"^argument ([^:]+): expected (?:one|at least one) argument$", r"\1 needs a value", message
        )
        message = re.sub(r"invalid int value: ('.*')$", r"\1 is not a whole number", message)
        message = re.sub(r"invalid float value: ('.*')$", r"\1 is not a number", message)
        return message.removeprefix("argument ")


def parser_of(main: Callable[[list[str]], int]) -> ProgramParser | None:
    """The parser of a command: starts it and stops it before it parses. None if it has none."""
    ProgramParser.is_wanted = True
    try:
        main(["--help"])
    except ParserFound as found:
        return found.parser
    finally:
        ProgramParser.is_wanted = False
    return None


class CommandParser(ProgramParser):
    """The options of one command."""

    def __init__(self, command: str, description: str, examples: Sequence[str] = ()) -> None:
        super().__init__(
            prog=command,
            description=description,
            examples=[f"{command} {example}" for example in examples],
            add_help=False,
            formatter_class=_formatter,
        )
        self.add_argument("-h", "--help", action="store_true", help="show this text and exit")
        self.flag("version", "show the version and exit")

    def format_usage(self) -> str:
        self._show_default_servers()
        return f"usage: {self._usage()}\n"

    def format_help(self) -> str:
        self._show_default_servers()
        self.usage = self._usage()
        return super().format_help()

    def _usage(self) -> str:
        """The required options and [OPTIONS]: all options would be too many to read."""
        required = [
            action.option_strings[0] + (f" {action.metavar}" if action.metavar else "")
            for action in self.options()
            if (action.help or "").startswith(REQUIRED)
        ]
        words = " ".join([self.prog, *required, "[OPTIONS]"])
        return _escape("\n       ".join(textwrap.wrap(words, _columns() - 7, break_on_hyphens=False)))

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
        default = more.get("default")
        if default is not None and "(default" not in help_text:
            help_text += f" (default: {default})"
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
        self.stop_if_wanted()
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


def as_typed(text: str) -> str:
    """The name of a command, or an example, in the form that a person types who has typed `gralha ...`."""
    if not is_gralha():
        return text
    replaced = _KAFKAS_NAME.sub("gralha ", text)
    return replaced if replaced == text else replaced.replace(_EXAMPLE_SERVER, "")


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


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=38, width=_columns() - 2)


def _columns() -> int:
    return min(shutil.get_terminal_size().columns, _HELP_COLUMNS_MAX)


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
