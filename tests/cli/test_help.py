"""Each command explains itself: a usage line, an example, the defaults."""

import argparse
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gralha.cli.arguments import ProgramParser, parser_of
from gralha.cli.main import KAFKA_COMMANDS, PROGRAMS, command_main, main

ROOT = Path(__file__).parents[2]
# Its subcommands have their own examples.
# Two names of one subcommand.
SAME = {"forceTerminateTransaction": ["force-terminate"]}
ALL = [name for name in [*PROGRAMS, *KAFKA_COMMANDS] if name not in ("pipeline", "schema")]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(name: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, flag])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: ")
    assert "\nexample" in text
    explained = text.partition("\noptions:")[2].partition("\nexample")[0]
    helps = [line for line in explained.splitlines() if line.startswith("      ")]
    assert max(map(len, helps), default=0) <= 80


def parsers(name: str) -> dict[str, ProgramParser]:
    """The parsers of a command and of its subcommands, by the line that a person types."""
    parser = parser_of(command_main(name))
    assert parser is not None
    return {name: parser} | {f"{name} {command}": one for command, one in parser.commands().items()}


@pytest.mark.parametrize("name", [*PROGRAMS, *KAFKA_COMMANDS])
def test_every_option_of_every_command_is_explained_and_shows_its_default(name: str) -> None:
    for line, parser in parsers(name).items():
        assert parser.examples, line
        for action in parser.options():
            where = f"{line} {action.option_strings[0]}"
            assert action.help, where
            if action.default not in (None, False, [], argparse.SUPPRESS):
                assert "default" in action.help, where


@pytest.mark.parametrize("name", KAFKA_COMMANDS)
def test_the_examples_of_a_subcommand_call_it(name: str) -> None:
    for line, parser in parsers(name).items():
        words = line.split()[1:]
        named = {name for word in words for name in (word, *SAME.get(word, ()))}
        for example in parser.examples:
            assert example.startswith(f"kafka-{name}")
            assert not named or named & set(example.split()), f"{line}: {example}"


@pytest.mark.parametrize("name", KAFKA_COMMANDS)
def test_below_gralha_the_brokers_are_optional(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for line, parser in parsers(name).items():
        if not any("--bootstrap-server" in action.option_strings for action in parser.options()):
            continue
        kafkas = help_of(command_main(name), [*line.split()[1:], "-h"], capsys)
        gralhas = help_of(main, [*line.split(), "-h"], capsys)
        with monkeypatch.context() as set_here:
            set_here.setenv("GRALHA_BOOTSTRAP_SERVERS", "b:1")
            elsewhere = help_of(command_main(name), [*line.split()[1:], "-h"], capsys)
        assert kafkas.startswith(f"usage: kafka-{line} ")
        assert gralhas.startswith(f"usage: gralha {line} ")
        assert "REQUIRED: the brokers" not in gralhas
        if name != "streams-application-reset":
            assert "(default: localhost:9092, or GRALHA_BOOTSTRAP_SERVERS if it is set)" in gralhas
            assert "(default: b:1, from GRALHA_BOOTSTRAP_SERVERS)" in elsewhere
            assert "(default: localhost:9092" not in kafkas
        usage = gralhas.partition("\n\n")[0]
        assert "--bootstrap-server" not in re.sub(r"\[[^]]*\]", "", usage)
        shown = [one for one in gralhas.partition("\nexample")[2].splitlines() if one.startswith("  ")]
        assert shown
        assert not [one for one in shown if "kafka-" in one or "--bootstrap-server" in one]


def help_of(
    command: Callable[[list[str]], int], arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> str:
    """The help text of a command, with one space between words."""
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == 0
    text = capsys.readouterr().out
    return re.sub(r"(?<=\S)\n {10,}(?=\S)|(?<=\S) {2,}(?=\S)", " ", text)


@pytest.mark.parametrize("name", ALL)
def test_the_examples_have_only_options_that_exist(name: str) -> None:
    for parser in parsers(name).values():
        known = {option for one in parsers(name).values() for option in one._option_string_actions}
        for example in parser.examples:
            words = [word for word in example.split() if word.startswith("--")]
            assert set(words) <= known


def test_gralha_itself_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("-h", "--help", "help"):
        assert main([flag]) == 0
        assert "gralha topics --create --topic orders" in capsys.readouterr().out


def test_help_and_a_name_show_the_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["help", "topics"])
    assert capsys.readouterr().out.startswith("usage: gralha topics ")


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        (["topcs"], "gralha has no command 'topcs'. Did you mean gralha topics?"),
        (["kafka-topcs"], "gralha has no command 'kafka-topcs'. Did you mean gralha kafka-topics?"),
        (["xyzzy"], "gralha has no command 'xyzzy'"),
        (
            ["--bootstrap-server", "b:1", "topics"],
            (
                "gralha has no option --bootstrap-server of its own. The command comes first: "
                "gralha COMMAND --bootstrap-server"
            ),
        ),
    ],
)
def test_a_command_that_does_not_exist(
    typed: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(typed) == 1
    assert capsys.readouterr().err == f"{complaint} (see gralha --help)\n"


def test_kafkas_commands_are_installed_under_both_of_their_names() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    for name, (module, _) in KAFKA_COMMANDS.items():
        assert scripts[f"kafka-{name}"] == scripts[f"kafka-{name}.sh"] == f"gralha.cli.{module}:main"


@pytest.mark.parametrize("name", ["topics", "kafka-topics", "kafka-topics.sh"])
def test_all_names_lead_to_the_same_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    assert capsys.readouterr().out.startswith("usage: gralha topics ")
