"""The scripts of `gralha completion` complete lines in bash, zsh and fish, and have all options."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gralha.cli.completion import commands
from gralha.cli.completion_scripts import SCRIPTS
from gralha.cli.main import main
from tests.pipelines.terminal import Terminal

# A typed line, and its last word after the tabulator key.
LINES = [
    ("gralha top", "topics"),
    ("gralha topics --cre", "--create"),
    ("kafka-topics --unav", "--unavailable-partitions"),
    ("kafka-topics.sh --unav", "--unavailable-partitions"),
    ("gralha kafka-topics.sh --unav", "--unavailable-partitions"),
    ("gralha storage form", "format"),
    ("kafka-storage format --clu", "--cluster-id"),
    ("kafka-features --bootstrap-server b:1 down", "downgrade"),
    ("gralha pipeline pl", "plan"),
    ("gralha up --brok", "--brokers"),
    ("gralha spark up --work", "--workers"),
    ("gralha completion z", "zsh"),
]
ZSH_SESSION = """
PS1='' RPS1=''
unset zle_bracketed_paste
autoload -Uz compinit && compinit -u -D
source completion
show_line() { zle -I; print -r -- "<$BUFFER>"; BUFFER= }
zle -N show_line
bindkey '^X' show_line
print session ready
"""
TABULATOR_AND_SHOW = b"\t\x18"


def script(shell: str) -> str:
    return SCRIPTS[shell](list(commands()))


BASH_COMPLETE = """
source <(cat)
complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _gralha; echo "${COMPREPLY[*]}"; }
complete_line %s
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [*LINES, ("bin/kafka-topics.sh --unav", "--unavailable-partitions"), ("kafka-topics --topic ''", "")],
)
def test_bash_completes_a_line(line: str, expected: str) -> None:
    done = subprocess.run(
        ["bash", "-c", BASH_COMPLETE % line],
        input=script("bash"),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")


def test_zsh_completes_lines_that_a_person_types(tmp_path: Path) -> None:
    (tmp_path / "completion").write_text(script("zsh"))
    (tmp_path / "session").write_text(ZSH_SESSION)
    completed = []
    home = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "TERM": "dumb"}
    with Terminal(["zsh", "-f", "-i"], cwd=tmp_path, environment=home) as terminal:
        terminal.press(b"source session\n")
        terminal.wait_for(r"\nsession ready")
        for line, _ in LINES:
            terminal.press(line.encode() + TABULATOR_AND_SHOW)
            completed.append(terminal.wait_for(rf"<({re.escape(line)}[^<]*)>\s")[1].split()[-1])
        terminal.press(b"exit\n")
        assert terminal.end() == 0
    assert completed == [expected for _, expected in LINES]


@pytest.mark.parametrize(
    ("line", "expected"),
    # The words of another command are not offered.
    [*LINES, ("gralha spark up --brok", ""), ("gralha topics --topic configs --entity", "")],
)
def test_fish_completes_a_line(line: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "completion").write_text(script("fish"))
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source completion; complete -C '{line}'"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.stderr == ""
    offered = [one.partition("\t") for one in done.stdout.splitlines()]
    assert [word for word, _, _ in offered] == ([expected] if expected else [])
    # An option comes with its help.
    assert all(text for word, _, text in offered if word.startswith("--"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_have_every_option_of_every_command(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for command in commands():
        assert command.name.split()[-1] in text
        for option in command.options:
            for name in option.names:
                assert (name if shell != "fish" else name.lstrip("-")) in text


def test_another_shell_is_refused_with_those_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 1
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err
