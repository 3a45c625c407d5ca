"""`gralha up` as a person runs it: a table when it is ready, a clean stop with Ctrl-C, data that stays."""

import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gralha.testing.process import free_ports

SCRIPTS = Path(sys.executable).parent
GRALHA = str(SCRIPTS / "gralha")
CLEAN_SHUTDOWN_MARK = Path("broker-1", ".kafka_cleanshutdown")
PATIENCE_S = 30


@contextmanager
def up(data: Path, port: int, *options: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """The running program, and the five lines that it prints when it is ready."""
    line = [GRALHA, "up", "--no-registry", "--data", str(data), "--port", str(port), *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            yield program, [program.stdout.readline() for _ in range(5)]
        finally:
            program.kill()


def stop(program: "subprocess.Popen[str]", number: int) -> tuple[int, str, str]:
    """The exit code, and everything that was printed after the table."""
    program.send_signal(number)
    output, errors = program.communicate(timeout=PATIENCE_S)
    return program.returncode, output, errors


def run(name: str, *arguments: str, lines: str = "") -> str:
    done = subprocess.run(
        [str(SCRIPTS / name), *arguments], input=lines, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*arguments: str) -> str:
    """The error line of a program that does not start."""
    done = subprocess.run([GRALHA, "up", *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    return done.stderr


def test_a_table_shows_where_everything_is(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with up(tmp_path, port) as (_, table):
        assert table[:2] == ["Gralha is up\n", f"  broker    localhost:{port}\n"]
        label, url = table[2].split()
        assert label == "metrics"
        with urllib.request.urlopen(url) as answer:
            assert b'gralha_node_info{node_id="1"' in answer.read()
        assert table[3] == f"  data      {tmp_path}\n"
        stops, _, hint = table[4].partition(" Try: ")
        assert stops == "Ctrl-C stops it."
        tried = subprocess.run(shlex.split(hint), capture_output=True, text=True, timeout=PATIENCE_S)
        assert (tried.returncode, tried.stdout.strip(), tried.stderr) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well_and_the_data_stays(tmp_path: Path, number: int) -> None:
    (port,) = free_ports(1)
    server = ["--bootstrap-server", f"localhost:{port}"]
    with up(tmp_path, port) as (program, _):
        assert not (tmp_path / CLEAN_SHUTDOWN_MARK).exists()
        run("kafka-topics", *server, "--create", "--topic", "kept")
        run("kafka-console-producer", *server, "--topic", "kept", lines="one\ntwo\n")
        assert stop(program, number) == (0, "", "")
    assert (tmp_path / CLEAN_SHUTDOWN_MARK).exists()
    with up(tmp_path, port) as (program, table):
        assert table[0] == "Gralha is up\n"
        # A crash later on must not look like a clean shutdown.
        assert not (tmp_path / CLEAN_SHUTDOWN_MARK).exists()
        kept = run(
            "kafka-console-consumer", *server, "--topic", "kept", "--from-beginning", "--max-messages", "2"
        )
        assert sorted(kept.splitlines()) == ["one", "two"]
        assert stop(program, number) == (0, "", "")


def test_data_has_a_place_of_its_own_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    line = [GRALHA, "up", "--no-registry", "--port", "0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        table = [program.stdout.readline() for _ in range(5)]
        program.kill()
    assert table[3] == f"  data      {tmp_path}/gralha\n"
    assert (tmp_path / "gralha" / "broker-1" / "meta.properties").exists()


@pytest.mark.parametrize("port", ["99999", "-1", "x"])
def test_what_is_no_port_is_one_clear_line(tmp_path: Path, port: str) -> None:
    assert f"{port} is not a port" in refused("--data", str(tmp_path), f"--port={port}")


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        complaint = refused("--data", str(tmp_path), "--port", port)
    assert complaint.startswith(f"Cannot listen on localhost:{port}: ")
    assert complaint.endswith(" Stop the program that uses the port, or choose another one with --port.\n")


def test_a_metrics_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        complaint = refused("--data", str(tmp_path), "--port", "0", "--metrics-port", port)
    assert complaint.startswith(f"Cannot listen on localhost:{port}: ")
    assert complaint.endswith(
        " Stop the program that uses the port, or choose another one with --metrics-port.\n"
    )


def test_an_address_of_another_machine_is_one_clear_line(tmp_path: Path) -> None:
    line = [GRALHA, "up", "--data", str(tmp_path), "--port", "0", "--host", "192.0.2.1"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (1, "")
    warning, complaint = done.stderr.splitlines()
    assert warning.startswith("WARN ANYBODY who reaches 192.0.2.1:0 can read and write everything: ")
    assert complaint.startswith("Cannot listen on 192.0.2.1:0: ")
    assert complaint.endswith(" Use an address of this machine with --host.")


def test_data_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with up(tmp_path, 0):
        complaint = refused("--data", str(tmp_path), "--port", "0")
    folder = tmp_path / "broker-1"
    what_to_do = "Stop that one, or choose another folder with --data."
    assert complaint == f"{folder} is in use by another broker. {what_to_do}\n"


def test_settings_of_kafka_can_be_overridden(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    options = ["--override", "num.partitions=4", "--no-auto-create", "--host", "127.0.0.1", "--verbose"]
    with up(tmp_path, port, *options) as (program, table):
        assert table[1] == f"  broker    127.0.0.1:{port}\n"
        server = ["--bootstrap-server", f"127.0.0.1:{port}"]
        run("kafka-topics", *server, "--create", "--topic", "four")
        assert "PartitionCount: 4" in run("kafka-topics", *server, "--describe", "--topic", "four")
        line = [str(SCRIPTS / "kafka-console-producer"), *server, "--topic", "misspelt"]
        done = subprocess.run(line, input="x\n", capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 1
        assert "misspelt" in done.stderr
        assert run("kafka-topics", *server, "--list") == "four\n"
        code, output, log = stop(program, signal.SIGINT)
        assert (code, output) == (0, "")
        assert "INFO " in log


def test_a_wrong_setting_is_one_clear_line(tmp_path: Path) -> None:
    complaint = refused("--data", str(tmp_path), "--port", "0", "--override", "num.partitions=many")
    assert complaint.startswith("--override: num.partitions")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--data", ""], "--data: the name of the folder is empty (see gralha up --help)"),
        (["--data", __file__], f"--data {__file__}: {__file__} is a file. Name a folder"),
        (
            ["--brokers", "3", "--port", "60000"],
            "--port 60000: 3 brokers need a port from 1 to 45534, because",
        ),
        (["--broker", "3"], "--broker is not a recognized option. Did you mean --brokers?"),
        (["brokers", "3"], "'brokers' is not an option. Did you mean --brokers?"),
        (
            ["--override", "num.partitons=3"],
            "--override num.partitons: there is no such setting. Did you mean",
        ),
    ],
)
def test_mistakes_with_the_options_are_one_line_about_them(arguments: list[str], complaint: str) -> None:
    assert refused(*arguments).startswith(complaint)


def test_help_has_an_example_and_the_defaults() -> None:
    for flag in ("--help", "-h"):
        done = subprocess.run([GRALHA, "up", flag], capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0
        assert done.stdout.startswith("usage: gralha up ")
        assert "gralha up --brokers 3 " in done.stdout
        for default in ("(default 1)", "default 9092", "default localhost"):
            assert default in " ".join(done.stdout.split())
