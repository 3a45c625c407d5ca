"""Text files for commands: UTF-8, and Latin-1 as Java writes it."""

from pathlib import Path

import pytest

from gralha.cli.program import CommandError
from gralha.cli.properties import load_properties
from gralha.cli.text_file import read_text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_file_is_read_in_either_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text("café=crème\n", encoding=encoding)
    assert read_text(str(file), "the file") == "café=crème\n"
    assert load_properties(str(file)) == {"café": "crème"}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"^Cannot read the offsets file .*/none: No such file or directory$"
    ):
        read_text(str(tmp_path / "none"), "the offsets file")


def test_a_malformed_escape(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("name=\\u00zz\n")
    with pytest.raises(CommandError, match=r"^Cannot read the properties file .*: malformed"):
        load_properties(str(file))
