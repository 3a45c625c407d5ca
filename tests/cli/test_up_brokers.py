"""`gralha up --brokers 3`: the commands of many Kafka tutorials work unchanged, except for the first port."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gralha.cli.up_brokers import how_ended, last_words
from gralha.testing.process import ServerProcess, free_ports
from tests.pipelines.terminal import CTRL_C, Terminal

SCRIPTS = Path(sys.executable).parent
PORT_STEP = 10_000
PATIENCE_S = 60
MEMORY_LIMIT_BYTES = 300_000_000
pytestmark = pytest.mark.timeout(240)


def first_port() -> int:
    """Three brokers use p, p + 10000 and p + 20000. Their controllers use the ports after these."""
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
    """The error line of a program that does not start."""
    line = [str(SCRIPTS / "gralha"), "up", "--no-registry", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    return done.stderr


@contextmanager
def up(data: Path, port: int, *options: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """The running program, and the nine lines that it prints when all three are ready."""
    line = [
        str(SCRIPTS / "gralha"),
        "up",
        "--no-registry",
        "--brokers",
        "3",
        "--data",
        str(data),
        "--port",
        str(port),
        *options,
    ]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            yield program, [program.stdout.readline() for _ in range(9)]
        finally:
            if program.poll() is None:
                program.send_signal(signal.SIGTERM)  # not SIGKILL: it has to stop its children
                program.communicate(timeout=PATIENCE_S)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def private_bytes(pid: int) -> int:
    """The memory that would be free without the process. Shared pages count in part."""
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
        assert table[:4] == [
            "Gralha is up\n",
            f"  broker 1  localhost:{port}\n",
            f"  broker 2  localhost:{port + PORT_STEP}\n",
            f"  broker 3  localhost:{port + 2 * PORT_STEP}\n",
        ]
        assert [line.split()[:2] for line in table[4:7]] == [["metrics", str(number)] for number in (1, 2, 3)]
        for number, line in enumerate(table[4:7], start=1):
            with urllib.request.urlopen(line.split()[2]) as answer:
                assert f'gralha_node_info{{node_id="{number}"'.encode() in answer.read()
        assert table[7] == f"  data      {tmp_path}\n"
        server = f"--bootstrap-server {second}"
        run(f"kafka-topics --create {server} --replication-factor 3 --partitions 3 --topic meutopico")
        described = run(f"kafka-topics --describe {server} --topic meutopico").splitlines()
        assert len(described) == 4
        assert "PartitionCount: 3" in described[0]
        assert "ReplicationFactor: 3" in described[0]
        run(f"kafka-console-producer --broker-list {second} --topic meutopico", "um\ndois\ntres\n")
        consumer = f"kafka-console-consumer {server} --topic meutopico --from-beginning --group a"
        # Ctrl-C would not reach these processes.
        assert sorted(run(f"{consumer} --max-messages 3").splitlines()) == ["dois", "tres", "um"]
        table = run(f"kafka-consumer-groups --group a {server} --describe").splitlines()
        rows = [row.split() for row in table if row.startswith("a ")]
        # Lines without keys may all be in one partition.
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
        # The settings of running brokers do not change.
        other = ["--brokers", "3", "--data", str(tmp_path), "--port", str(port + 2)]
        assert "broker-3 is in use by another broker" in refused(*other)
        assert f"PLAINTEXT://localhost:{port}," in (tmp_path / "broker-1.properties").read_text()
    for brokers in ("1", "2", "5"):
        complaint = refused("--brokers", brokers, "--data", str(tmp_path))
        assert f"gralha up --brokers 3 --data {tmp_path}, or name another folder" in complaint
    port = first_port()
    with up(tmp_path, port) as (_, table):
        assert table[1] == f"  broker 1  localhost:{port}\n"
        assert run(f"kafka-topics --list --bootstrap-server localhost:{port}") == "t\n"


def test_the_others_go_on_when_one_is_killed_and_it_can_be_started_again(tmp_path: Path) -> None:
    port = first_port()
    server = f"--bootstrap-server localhost:{port}"
    with up(tmp_path, port) as (program, _):
        assert program.stderr is not None
        brokers = children_of(program.pid)
        run(f"kafka-topics --create {server} --topic t --partitions 6")
        described = run(f"kafka-topics --describe {server} --topic t")
        assert "ReplicationFactor: 3\tConfigs: min.insync.replicas=2" in described
        os.kill(brokers[1], signal.SIGKILL)
        line = program.stderr.readline()
        assert line.startswith(f"Broker 2 ended by SIGKILL (its log: {tmp_path}/broker-2.log). ")
        assert line.endswith(" The others continue.\n")
        run(f"kafka-console-producer {server} --topic t", "one\n")
        wait_until(lambda: run(f"kafka-topics --describe {server} --unavailable-partitions") == "")
        (command,) = re.findall("`(.*)`", line)
        again = ServerProcess(shlex.split(command), tmp_path / "again.log")
        try:
            again.wait_ready(port + PORT_STEP, brokers=3)
            for broker in (brokers[0], brokers[2]):
                os.kill(broker, signal.SIGKILL)
            _, errors = program.communicate(timeout=PATIENCE_S)
        finally:
            again.kill()
        assert program.returncode == 1
        assert errors.splitlines()[-1].startswith("No broker is left.")


def test_a_broker_that_does_not_start_ends_all_with_its_reason(tmp_path: Path) -> None:
    port = first_port()
    with socket.create_server(("127.0.0.1", port + PORT_STEP)):
        complaint = refused("--brokers", "3", "--data", str(tmp_path), "--port", str(port))
    assert complaint.startswith(f"Broker 2 ended: Cannot listen on localhost:{port + PORT_STEP}: ")
    assert "choose another one with --port." in complaint


def test_the_logs_of_all_brokers_can_be_watched(tmp_path: Path) -> None:
    with up(tmp_path, first_port(), "--verbose") as (program, _):
        assert program.stderr is not None
        seen: set[str] = set()
        while seen != {"1", "2", "3"}:
            seen.add(program.stderr.readline().partition(" | ")[0])


@pytest.fixture
def heeds_signals() -> Iterator[None]:
    """Programs inherit ignored signals: SIGHUP under `nohup`, SIGINT in the background of a shell."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("heeds_signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_ends_brokers_that_do_not_stop(tmp_path: Path, number: int) -> None:
    with up(tmp_path, first_port()) as (program, _):
        brokers = children_of(program.pid)
        os.kill(brokers[0], signal.SIGSTOP)

        def ended_by_signal() -> bool:
            program.send_signal(number)
            return program.poll() is not None

        wait_until(ended_by_signal)
        _, errors = program.communicate(timeout=PATIENCE_S)
        assert program.returncode == (130 if number == signal.SIGINT else 143)
        # The other two may have stopped before the second signal.
        assert re.search(r"Killed broker 1(, 2)?(, 3)? before it had stopped\. ", errors)
        assert not any(map(is_running, brokers))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_no_broker_outlives_a_killed_command(tmp_path: Path) -> None:
    with up(tmp_path, first_port()) as (program, _):
        brokers = children_of(program.pid)
        program.kill()
        program.communicate(timeout=PATIENCE_S)
        wait_until(lambda: not any(map(is_running, brokers)))


def test_how_a_broker_ended_in_words(tmp_path: Path) -> None:
    assert [how_ended(code) for code in (0, 1, -15, -64)] == [
        "with exit code 0",
        "with exit code 1",
        "by SIGTERM",
        "by SIGRTMAX",
    ]
    assert how_ended(-40) == "by signal 40"
    log = tmp_path / "log"
    log.write_text("an earlier process\n")
    assert last_words(log, log.stat().st_size) == "the log is empty"
    assert last_words(log, 0) == "an earlier process"


def test_a_broker_that_is_left_without_a_quorum_stops_well(tmp_path: Path) -> None:
    with up(tmp_path, first_port()) as (program, _):
        for broker in children_of(program.pid)[:2]:
            os.kill(broker, signal.SIGKILL)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE_S)
        assert program.returncode == 0
        assert "Killed" not in errors
    assert (tmp_path / "broker-3" / ".kafka_cleanshutdown").exists()


def test_a_person_sees_which_broker_stops(tmp_path: Path) -> None:
    line = [
        str(SCRIPTS / "gralha"),
        "up",
        "--no-registry",
        "--brokers",
        "3",
        "--data",
        str(tmp_path),
        "--port",
        str(first_port()),
    ]
    with Terminal(line, cwd=tmp_path, columns=80) as terminal:
        terminal.wait_for(r"Ctrl-C stops it\. Try:")
        terminal.press(CTRL_C)
        for number in (1, 2, 3):
            terminal.wait_for(rf"Stopping broker {number} \({number} of 3\) \.\.\. 0 s")
        assert terminal.end() == 0
        assert terminal.written.endswith("\r\x1b[K")
