"""The data folder of `gralha up`: checks the number of brokers, and that all folders are of one cluster.

    DIR/broker-1/               the data of a broker and its controller
    DIR/broker-1.properties     its settings if there are several brokers, written at each start
    DIR/broker-1.log            its log if there are several brokers

The voters are fixed when the folders are created. With other voters on the same folders, one broker could
decide alone what three must agree on, and the next start would find two histories. The ports may change at
each start: the voters stay the same.
"""

import os
import re
import shlex
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Final

from gralha.cli.installed import installed_command
from gralha.cli.program import CommandError
from gralha.cli.text_file import read_text
from gralha.cli.up_settings import VOTERS
from gralha.protocol.properties import parse_properties

FIRST_PROPERTIES: Final = "broker-1.properties"
_BROKER_FOLDER: Final = re.compile(r"broker-(\d+)")


def default_data_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "gralha"


def folder_for(brokers: int) -> Path:
    """The default data folder. Three brokers must not use the data of a single broker."""
    folder = default_data_folder()
    return folder if brokers == 1 else folder / f"{brokers}-brokers"


def data_folder(text: str) -> Path:
    """The folder of --data. An empty name, such as that of an unset variable, is not the current folder."""
    if not text:
        raise ArgumentTypeError("the name of the folder is empty")
    return Path(text)


def check_place(data: Path) -> None:
    """Raises CommandError if there can be no data folder at this path."""
    if "," in str(data):
        raise CommandError(f"--data {data}: the path of the data folder must not have a comma")
    there = next(path for path in (data, *data.parents) if path.exists())
    if not there.is_dir():
        raise CommandError(f"--data {data}: {there} is a file. Name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CommandError(f"--data {data}: you may not write in {there}. Name another folder")


def check_number(data: Path, brokers: int) -> None:
    """Raises CommandError if the folder was created for another number of brokers."""
    earlier = max([0, *_broker_folders(data), *_voters(data)])
    if earlier not in (0, brokers):
        command = f"{installed_command('gralha')} up --brokers {earlier} --data {shlex.quote(str(data))}"
        raise CommandError(
            f"{data} has the data of {_count(earlier)}, and {_count(brokers)} cannot use it. Run "
            f"{command}, or name another folder with --data."
        )


def prepare(data: Path, brokers: int) -> None:
    """Formats empty folders for one cluster. Raises CommandError if that is not possible."""
    from gralha.broker.offline import prepare_cluster
    from gralha.metadata.formatting import FormatError

    # From the last to the first: if this stops half-way, the next start still finds the number of brokers.
    numbers = range(brokers, 0, -1)
    try:
        prepare_cluster({number: str(data / f"broker-{number}") for number in numbers})
    except FormatError as error:
        raise CommandError(f"--data {data}: {error}") from None


def _broker_folders(data: Path) -> list[int]:
    names = [_BROKER_FOLDER.fullmatch(path.name) for path in data.glob("broker-*") if path.is_dir()]
    return [int(name[1]) for name in names if name]


def earlier_settings(data: Path) -> dict[str, str] | None:
    """The settings of the last start of several brokers. None if the folder is new."""
    file = data / FIRST_PROPERTIES
    if not file.exists():
        return {} if _broker_folders(data) else None
    try:
        return {one.name: one.value for one in parse_properties(read_text(str(file), "the settings"))}
    except ValueError as error:
        raise _not_ours(file, error) from None


def _voters(data: Path) -> list[int]:
    """The voters in the settings of the last start, because the folder of a broker may be lost."""
    settings = earlier_settings(data) or {}
    try:
        return [int(voter.partition("@")[0]) for voter in settings.get(VOTERS, "").split(",") if voter]
    except ValueError as error:
        raise _not_ours(data / FIRST_PROPERTIES, error) from None


def _not_ours(file: Path, error: ValueError) -> CommandError:
    return CommandError(f"{file} does not name the voters ({error}): remove it if gralha up did not write it")


def _count(brokers: int) -> str:
    return "one broker" if brokers == 1 else f"{brokers} brokers"
