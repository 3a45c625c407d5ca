"""The data folder of `gralha up`: for how many brokers it was made, and that all of it is of one cluster.

    DIR/broker-1/               what a broker keeps, and its controller
    DIR/broker-1.properties     the settings of one among several, written anew at each start
    DIR/broker-1.log            what one among several says

Who votes is settled when the folders are made. With other voters on the same folders, one broker could decide
alone what three have to agree on, and the next start would find two histories. Ports may change from start to
start: the voters are the same, at other addresses.
"""

import os
import re
import shlex
from pathlib import Path
from typing import Final

from gralha.cli.installed import installed_command
from gralha.cli.program import CommandError
from gralha.cli.text_file import read_text
from gralha.protocol.properties import parse_properties

VOTERS: Final = "controller.quorum.voters"
_BROKER_FOLDER: Final = re.compile(r"broker-(\d+)")


def default_data_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "gralha"


def folder_for(brokers: int) -> Path:
    """Where data is kept if nobody says: a cluster of three must not meet the data of one broker."""
    folder = default_data_folder()
    return folder if brokers == 1 else folder / f"{brokers}-brokers"


def check_number(data: Path, brokers: int) -> None:
    """CommandError if the folder was made for another number of brokers."""
    earlier = max([0, *_broker_folders(data), *_voters(data)])
    if earlier not in (0, brokers):
        command = f"{installed_command('gralha')} up --brokers {earlier} --data {shlex.quote(str(data))}"
        raise CommandError(
            f"{data} holds the data of {_count(earlier)}, and {_count(brokers)} cannot take it over. Type "
            f"{command}, or name another folder with --data."
        )


def prepare(data: Path, brokers: int) -> None:
    """Make one cluster's folders of those that are empty; CommandError if that cannot be."""
    from gralha.broker.offline import prepare_cluster
    from gralha.metadata.formatting import FormatError

    # From the last to the first: should this end half-way, the next start can tell how many there were.
    numbers = range(brokers, 0, -1)
    try:
        prepare_cluster({number: str(data / f"broker-{number}") for number in numbers})
    except FormatError as error:
        raise CommandError(str(error)) from None


def _broker_folders(data: Path) -> list[int]:
    names = [_BROKER_FOLDER.fullmatch(path.name) for path in data.glob("broker-*") if path.is_dir()]
    return [int(name[1]) for name in names if name]


def _voters(data: Path) -> list[int]:
    """Those that the settings of the last start name: a broker's folder may be lost since."""
    file = data / "broker-1.properties"
    if not file.exists():
        return []
    try:
        settings = {one.name: one.value for one in parse_properties(read_text(str(file), "the settings"))}
        return [int(voter.partition("@")[0]) for voter in settings.get(VOTERS, "").split(",") if voter]
    except ValueError as error:
        raise CommandError(
            f"{file} does not say who votes ({error}): remove it if it is not by gralha up"
        ) from None


def _count(brokers: int) -> str:
    return "one broker" if brokers == 1 else f"{brokers} brokers"
