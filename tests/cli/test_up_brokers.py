"""`gralha up --brokers 3`: the lines of many a Kafka tutorial work as they stand, but for the first port."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gralha.testing.process import free_ports

SCRIPTS = Path(sys.executable).parent
PORT_STEP = 10_000
PATIENCE_S = 60
MEMORY_LIMIT_BYTES = 300_000_000
pytestmark = pytest.mark.timeout(240)


def first_port() -> int:
    """Three brokers take p, p + 10000 and p + 20000, and for their controllers the ports after these."""
    while True:
        (port,) = free_ports(1)
        wanted = [port + step + next_one for step in (0, PORT_STEP, 2 * PORT_STEP) for next_one in (0, 1)]
        if wanted[-1] < 60_000 and all(map(is_free, wanted)):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def refused(*arguments: str) -> str:
    """The one line that a program which does not start leaves."""
    line = [str(SCRIPTS / "gralha"), "up", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    return done.stderr


@contextmanager
def up(data: Path, port: int) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """The running program, and the six lines that it prints when all three are ready."""
    line = [str(SCRIPTS / "gralha"), "up", "--brokers", "3", "--data", str(data), "--port", str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            yield program, [program.stdout.readline() for _ in range(6)]
        finally:
            if program.poll() is None:
                program.send_signal(signal.SIGTERM)  # and not SIGKILL: it has children to stop
                program.communicate(timeout=PATIENCE_S)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def private_bytes(pid: int) -> int:
    """Memory that would be free without the process: pages shared with others count in part."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))


def run(line: str, lines: str = "") -> str:
    name, *arguments = line.split()
    done = subprocess.run(
        [str(SCRIPTS / name), *arguments], input=lines, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_lines_of_a_tutorial(tmp_path: Path) -> None:
    port = first_port()
    second = f"localhost:{port + PORT_STEP}"
    with up(tmp_path, port) as (program, table):
        assert table[:5] == [
            "Gralha is up\n",
            f"  broker 1  localhost:{port}\n",
            f"  broker 2  localhost:{port + PORT_STEP}\n",
            f"  broker 3  localhost:{port + 2 * PORT_STEP}\n",
            f"  data      {tmp_path}\n",
        ]
        server = f"--bootstrap-server {second}"
        run(f"kafka-topics --create {server} --replication-factor 3 --partitions 3 --topic meutopico")
        described = run(f"kafka-topics --describe {server} --topic meutopico").splitlines()
        assert len(described) == 4
        assert "PartitionCount: 3" in described[0]
        assert "ReplicationFactor: 3" in described[0]
        run(f"kafka-console-producer --broker-list {second} --topic meutopico", "um\ndois\ntres\n")
        consumer = f"kafka-console-consumer {server} --topic meutopico --from-beginning --group a"
        # Nobody presses Ctrl-C here.
        assert sorted(run(f"{consumer} --max-messages 3").splitlines()) == ["dois", "tres", "um"]
        table = run(f"kafka-consumer-groups --group a {server} --describe").splitlines()
        rows = [row.split() for row in table if row.startswith("a ")]
        # Lines without keys may all have gone to one partition.
        assert sum(int(row[3]) for row in rows if row[3] != "-") == 3
        brokers = children_of(program.pid)
        assert len(brokers) == 3
        used_bytes = sum(map(private_bytes, [program.pid, *brokers]))
        assert used_bytes < MEMORY_LIMIT_BYTES
        program.send_signal(signal.SIGINT)
        output, errors = program.communicate(timeout=PATIENCE_S)
        assert (program.returncode, output, errors) == (0, "", "")
        for broker in brokers:
            with pytest.raises(ProcessLookupError):
                os.kill(broker, 0)
    for number in (1, 2, 3):
        assert (tmp_path / f"broker-{number}" / ".kafka_cleanshutdown").exists()


def test_ports_may_change_between_two_starts_and_the_number_of_brokers_may_not(tmp_path: Path) -> None:
    port = first_port()
    with up(tmp_path, port) as (_, table):
        assert table[0] == "Gralha is up\n"
        run(f"kafka-topics --create --bootstrap-server localhost:{port} --topic t --replication-factor 3")
        # Settings of brokers that run stay as they are.
        other = ["--brokers", "3", "--data", str(tmp_path), "--port", str(port + 2)]
        assert "broker-3 is in use by another broker" in refused(*other)
        assert f"localhost:{port}\n" in (tmp_path / "broker-1.properties").read_text()
    for brokers in ("1", "2", "5"):
        complaint = refused("--brokers", brokers, "--data", str(tmp_path), "--port", str(port))
        assert f"gralha up --brokers 3 --data {tmp_path}, or name another folder" in complaint
    port = first_port()
    with up(tmp_path, port) as (_, table):
        assert table[1] == f"  broker 1  localhost:{port}\n"
        assert run(f"kafka-topics --list --bootstrap-server localhost:{port}") == "t\n"
