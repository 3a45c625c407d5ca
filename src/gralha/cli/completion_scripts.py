"""The text of the completion scripts: one function for each shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gralha.cli.completion import Command, Option

_HEAD: Final = "# Completes gralha and the kafka-* commands. Made by `gralha completion {}`.\n"

# Finds the command of the current line, such as `kafka-storage format`, in an array of words.
_BASH_FUNCTION: Final = """\
_gralha_words() {
  case "$1" in
%s  esac
}

_gralha() {
  local current="${COMP_WORDS[COMP_CWORD]}"
  local name="${COMP_WORDS[0]##*/}"
  local next=1 words
  name="${name%%.sh}"
  if [[ $name == gralha && $COMP_CWORD -gt 1 ]]; then
    words="${COMP_WORDS[1]%%.sh}"
    next=2
    if [[ -n "$(_gralha_words "kafka-${words#kafka-}")" ]]; then
      name="kafka-${words#kafka-}"
    else
      name="gralha $words"
    fi
  fi
  while (( next < COMP_CWORD )); do
    if [[ -n "$(_gralha_words "$name ${COMP_WORDS[next]}")" ]]; then
      name="$name ${COMP_WORDS[next]}"
    fi
    (( next++ ))
  done
  COMPREPLY=( $(compgen -W "$(_gralha_words "$name" "${COMP_WORDS[COMP_CWORD-1]}")" -- "$current") )
}

complete -o default -F _gralha %s
"""

_ZSH_FUNCTION: Final = """\
_gralha() {
  local name="${${words[1]:t}%%.sh}"
  local -i next=2
  if [[ $name == gralha && $CURRENT -gt 2 ]]; then
    local command="${${words[2]%%.sh}#kafka-}"
    next=3
    if (( ${_gralha_names[(Ie)kafka-$command]} )); then name="kafka-$command"; else name="gralha $command"; fi
  fi
  local -i used=$(( next - 1 ))
  while (( next < CURRENT )); do
    if (( ${_gralha_names[(Ie)$name ${words[next]}]} )); then
      name="$name ${words[next]}"
      used=next
    fi
    (( next++ ))
  done
  shift $(( used - 1 )) words
  (( CURRENT -= used - 1 ))
  case "$name" in
%s  esac
}

typeset -ga _gralha_names=(%s)
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _gralha %s
"""

_FISH_FUNCTION: Final = """\
function __gralha_has_first
    test (count (commandline -opc)) -gt 1
end

function __gralha_first
    set -l words (commandline -opc)
    contains -- "$words[2]" $argv
end
"""


def bash(commands: Sequence[Command]) -> str:
    """The script for bash. Where there is nothing to complete, bash completes names of files."""
    cases = ""
    for command in commands:
        words = [*command.commands, *(name for option in command.options for name in option.names)]
        cases += f'    "{command.name}")\n'
        chosen = [option for option in command.options if option.value is not None]
        if chosen:
            cases += '      case "$2" in\n'
            for option in chosen:
                cases += f"        {'|'.join(option.names)}) echo '{' '.join(option.choices)}'; return ;;\n"
            cases += "      esac\n"
        cases += f"      echo '{' '.join(words)}' ;;\n"
    return _HEAD.format("bash") + _BASH_FUNCTION % (cases, " ".join(_typed(commands)))


def zsh(commands: Sequence[Command]) -> str:
    """The script for zsh, with the help of each option."""
    cases = ""
    for command in commands:
        cases += f"    {_quoted(command.name)})\n"
        specs = [_zsh_option(option) for option in command.options]
        if command.commands:
            pairs = " ".join(_quoted(f"{name}:{_zsh_text(text)}") for name, text in command.commands.items())
            cases += f"      local -a commands=({pairs})\n"
            specs.append("'1: :{_describe command commands}'")
        specs.append("'*: :_files'")
        cases += "      _arguments " + " \\\n        ".join(specs) + " ;;\n"
    names = " ".join(_quoted(command.name) for command in commands)
    return _HEAD.format("zsh") + _ZSH_FUNCTION % (cases, names, " ".join(_typed(commands)))


def _zsh_option(option: Option) -> str:
    names = "{" + ",".join(option.names) + "}" if len(option.names) > 1 else option.names[0]
    value = ""
    if option.value is not None:
        what = f"({' '.join(option.choices)})" if option.choices else "_files"
        value = f":{_zsh_text(option.value)}:{what}"
    return "'*'" + names + _quoted(f"[{_zsh_text(option.help_text)}]{value}")


def _zsh_text(text: str) -> str:
    """A text without the characters that divide the parts of a specification."""
    for character in "\\[]:":
        text = text.replace(character, "\\" + character)
    return text


def fish(commands: Sequence[Command]) -> str:
    """The script for fish, with the help of each option."""
    lines = [_HEAD.format("fish") + _FISH_FUNCTION]
    lines += [f"complete -c {name} -w {name[:-3]}" for name in _typed(commands) if name.endswith(".sh")]
    for command in commands:
        for program, condition in _fish_places(command):
            begin = f"complete -c {program}"
            if condition:
                begin += f" -n {_quoted(condition)}"
            for name, text in command.commands.items():
                lines.append(f"{begin} -f -a {_quoted(name)} -d {_quoted(text)}")
            lines += [f"{begin} {_fish_option(option)}" for option in command.options]
    return "\n".join(lines) + "\n"


def _fish_places(command: Command) -> Iterator[tuple[str, str]]:
    """The program that completes the command, and the condition: the words that must be on its line."""
    program, *words = command.name.split()
    if program != "gralha":
        yield program, _fish_condition([], words, command)
        name = program.removeprefix("kafka-")
        yield "gralha", _fish_condition([f"__gralha_first {name} {program} {program}.sh"], words, command)
    elif words:
        yield program, _fish_condition([f"__gralha_first {words[0]}"], words[1:], command)
    else:
        yield program, "not __gralha_has_first"


def _fish_condition(conditions: Sequence[str], words: Sequence[str], command: Command) -> str:
    seen = [f"__fish_seen_subcommand_from {word}" for word in words]
    if command.commands:
        seen.append(f"not __fish_seen_subcommand_from {' '.join(command.commands)}")
    return "; and ".join([*conditions, *seen])


def _fish_option(option: Option) -> str:
    parts = []
    for name in option.names:
        parts.append(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}")
    if option.choices:
        parts.append(f"-x -a {_quoted(' '.join(option.choices))}")
    elif option.value is not None:
        parts.append("-r")
    return " ".join([*parts, f"-d {_quoted(option.help_text)}"])


def _typed(commands: Sequence[Command]) -> list[str]:
    """The programs that the scripts complete, also under the names with `.sh` of Apache Kafka."""
    programs = list(dict.fromkeys(command.name.split()[0] for command in commands))
    return programs + [f"{name}.sh" for name in programs if name != "gralha"]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS: Final[Mapping[str, Callable[[Sequence[Command]], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
