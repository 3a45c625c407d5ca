"""`gralha server` and `gralha up` that do not start: one line, exit code 1."""

import socket
import sys
from pathlib import Path

import pytest

from gralha.cli import server, up
from gralha.cli.installed import installed_command

MINIMAL = "process.roles=broker,controller\nnode.id=1\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "the following arguments are required: --config (see gralha server --help)"),
        (["--config"], "--config needs a value (see gralha server --help)"),
        (["--config", "/none"], "Cannot read the properties file /none: No such file or directory"),
    ],
)
def test_wrong_calls_of_the_server(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert server.main(arguments) == 1
    assert capsys.readouterr() == ("", f"{line}\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--prt", "1"], "--prt is not a recognized option. Did you mean --port? (see gralha up --help)"),
        (
            ["--port", "99999"],
            "--port: 99999 is not a port: give a number from 0 to 65535 (see gralha up --help)",
        ),
        (["--data", "/a,b"], "--data /a,b: the path of the data folder must not have a comma"),
    ],
)
def test_wrong_calls_of_up(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert up.main(arguments) == 1
    assert capsys.readouterr() == ("", f"{line}\n")


def test_settings_in_latin_1_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text(MINIMAL + "# café\nnum.partitions=0\n", encoding="latin-1")
    assert server.main(["--config", str(file)]) == 1
    assert capsys.readouterr() == ("", f"{file} line 4: num.partitions=0: Value must be at least 1\n")


def test_an_override_is_named_when_it_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text(MINIMAL)
    assert server.main(["--config", str(file), "--override", "num.partitions=0"]) == 1
    assert capsys.readouterr().err == "--override: num.partitions=0: Value must be at least 1\n"


def test_a_port_that_is_taken_is_one_plain_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert up.main(["--data", str(tmp_path), "--port", str(port)]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(f"Cannot listen on localhost:{port}: ")
    assert output.err.count("\n") == 1


def test_the_hint_of_up_names_a_command_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    command = scripts / "kafka-topics"
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed_command("kafka-topics") == f"{scripts}/python -m gralha.cli.main topics"
    assert installed_command("gralha") == f"{scripts}/python -m gralha.cli.main"
    command.touch(mode=0o755)
    assert installed_command("kafka-topics") == str(command)
    monkeypatch.chdir(tmp_path)
    assert installed_command("kafka-topics") == ".venv/bin/kafka-topics"
    monkeypatch.setenv("PATH", str(scripts))
    assert installed_command("kafka-topics") == "kafka-topics"
