"""`--watch`, and colours: what a person sees on a terminal of 80 columns, and what a pipe gets."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gralha.cli.program import CommandError
from gralha.cli.watching import show_until
from gralha.client.errors import ConnectionFailedError
from gralha.testing import GralhaCluster
from tests.cli.commands import Run
from tests.client.live import eventually
from tests.pipelines.terminal import CTRL_C, Terminal

PLAIN = {"NO_COLOR": "", "TERM": "xterm"}
YELLOW, RED = "\x1b[33m", "\x1b[31m"


def kafka(name: str, *arguments: str) -> list[str]:
    return [str(Path(sys.executable).parent / f"kafka-{name}"), *arguments]


@pytest.fixture
def lagging(run: Run, bootstrap: str, new_name: Callable[[str], str]) -> str:
    """A topic with one record that the group of the same name has not read."""
    name = new_name("watched")
    assert run("topics", "--create", "--topic", name).code == 0
    producer = kafka("console-producer", "--bootstrap-server", bootstrap, "--topic", name)
    subprocess.run(producer, input=b"one\n", check=True, timeout=30)
    reset = ["--reset-offsets", "--group", name, "--topic", name, "--to-earliest", "--execute"]
    assert run("consumer-groups", *reset).code == 0
    return name


def test_a_watched_group_is_drawn_in_place_until_ctrl_c(
    run: Run, bootstrap: str, lagging: str, tmp_path: Path
) -> None:
    line = kafka("consumer-groups", "--bootstrap-server", bootstrap, "--describe", "--group", lagging)
    with Terminal([*line, "--watch", "0.2"], cwd=tmp_path, columns=80, environment=PLAIN) as terminal:
        terminal.wait_for(r"every 0\.2 s, Ctrl-C ends")
        terminal.wait_for(rf"{lagging} +{lagging} +0 +0 +1 +1 ")
        assert YELLOW in terminal.written
        reset = ["--reset-offsets", "--group", lagging, "--topic", lagging, "--to-latest", "--execute"]
        assert run("consumer-groups", *reset).code == 0
        terminal.wait_for(rf"{lagging} +{lagging} +0 +1 +1 +0 ")
        assert terminal.written.count("\x1b[H") >= 2
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert "Traceback" not in terminal.screen


def test_a_person_sees_lag_and_failures_in_colour_and_a_pipe_does_not(
    bootstrap: str, lagging: str, tmp_path: Path
) -> None:
    line = kafka("consumer-groups", "--bootstrap-server", bootstrap, "--describe", "--group", lagging)
    wrong = kafka("topics", "--bootstrap-server", bootstrap, "--describe", "--topic", "no-such-topic")
    piped = subprocess.run(line, capture_output=True, timeout=30)
    failed = subprocess.run(wrong, capture_output=True, timeout=30)
    assert b"\x1b[" not in piped.stdout + piped.stderr + failed.stdout + failed.stderr
    for command, colour, text in ((line, YELLOW, lagging), (wrong, RED, "no-such-topic")):
        for environment, is_coloured in (
            (PLAIN, True),
            ({"NO_COLOR": "1"}, False),
            ({"TERM": "dumb"}, False),
        ):
            with Terminal(command, cwd=tmp_path, columns=80, environment=environment) as terminal:
                terminal.end()
                assert text in terminal.screen
                assert (colour in terminal.written) == is_coloured


def test_partitions_with_lost_replicas_have_a_colour(
    three_brokers: str, new_name: Callable[[str], str], tmp_path: Path
) -> None:
    server = ["--bootstrap-server", three_brokers]
    name = new_name("healthy")
    create = kafka("topics", *server, "--create", "--topic", name, "--replication-factor", "3")
    subprocess.run(create, check=True, capture_output=True, timeout=30)
    describe = kafka("topics", *server, "--describe", "--topic", name)
    assert eventually(
        lambda: subprocess.run(describe, capture_output=True, timeout=30).stdout.count(b"Isr: ") == 1
    )
    with Terminal(describe, cwd=tmp_path, columns=80, environment=PLAIN) as terminal:
        assert terminal.end() == 0
        assert re.search(r"Partition: 0\s", terminal.screen)
        assert RED not in terminal.written


def test_a_person_who_waits_for_new_records_is_told_about_earlier_ones(
    bootstrap: str, lagging: str, tmp_path: Path
) -> None:
    line = kafka("console-consumer", "--bootstrap-server", bootstrap, "--topic", lagging)
    hint = "Waiting for new records. --from-beginning shows earlier ones, too."
    with Terminal(line, cwd=tmp_path, columns=80, environment=PLAIN) as terminal:
        terminal.wait_for(hint)
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    all_records = [*line, "--from-beginning", "--max-messages", "1"]
    with Terminal(all_records, cwd=tmp_path, columns=80, environment=PLAIN) as terminal:
        assert terminal.end() == 0
        assert "one" in terminal.screen.splitlines()
        assert hint not in terminal.screen
    piped = subprocess.run([*line, "--timeout-ms", "1"], capture_output=True, text=True, timeout=30)
    assert (piped.stdout, piped.stderr) == ("", "Processed a total of 0 messages\n")


def test_a_lost_replica_is_yellow_and_a_partition_without_a_leader_red(tmp_path: Path) -> None:
    with GralhaCluster(brokers=3) as cluster:
        server = ["--bootstrap-server", cluster.bootstrap]
        for name, assignment in (("copied", "1:2:3"), ("single", "3")):
            create = kafka("topics", *server, "--create", "--topic", name, "--replica-assignment", assignment)
            subprocess.run(create, check=True, capture_output=True, timeout=60)
        describe = kafka("topics", *server, "--describe")
        cluster.kill(3)
        lost = rb"copied\tPartition: 0\tLeader: [12]\tReplicas: 1,2,3\tIsr: (1,2|2,1)\t"
        assert eventually(
            lambda: (
                re.search(lost, subprocess.run(describe, capture_output=True, timeout=60).stdout) is not None
            ),
            timeout_s=60,
        )
        with Terminal(describe, cwd=tmp_path, columns=80, environment=PLAIN) as terminal:
            assert terminal.end() == 0
            lines = [line for line in terminal.written.splitlines() if "Partition: 0" in line]
    colours = {topic: YELLOW in line for line in lines for topic in ("copied", "single") if topic in line}
    assert colours == {"copied": True, "single": False}
    (single,) = [line for line in lines if "single" in line]
    assert single.lstrip().startswith(RED)


def test_watched_groups_of_all_types(bootstrap: str, lagging: str, run: Run, tmp_path: Path) -> None:
    line = kafka("groups", "--bootstrap-server", bootstrap, "--list", "--watch", "0.2")
    # The broker has the groups of all other tests, too, and the screen must have room for them.
    with Terminal(line, cwd=tmp_path, columns=80, rows=1000, environment=PLAIN) as terminal:
        terminal.wait_for(rf"{lagging} +Classic ")
        reset = ["--reset-offsets", "--group", f"{lagging}-2", "--topic", lagging, "--to-latest", "--execute"]
        assert run("consumer-groups", *reset).code == 0
        terminal.wait_for(rf"{lagging}-2 +Classic ")
        terminal.press(CTRL_C)
        assert terminal.end() == 0


def test_in_a_pipe_every_round_is_appended(bootstrap: str) -> None:
    line = kafka("topics", "--bootstrap-server", bootstrap, "--list", "--json", "--watch", "0.1")
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        rounds = [program.stdout.readline() for _ in range(2)]
        program.send_signal(2)
        assert program.wait(30) == 0
    assert all(one.startswith('{"version": 1, "topics": [') for one in rounds)


def test_an_error_of_the_first_round_ends_and_a_later_one_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails() -> bool:
        raise ConnectionFailedError("No broker listens")

    with pytest.raises(ConnectionFailedError):
        show_until(fails, 1.0, lambda _seconds: None)
    rounds = iter(["first", ConnectionFailedError("No broker listens"), "third"])

    def show() -> bool:
        found = next(rounds)
        if isinstance(found, Exception):
            raise found
        sys.stdout.write(f"{found}\n")
        return found == "third"

    show_until(show, 1.0, lambda _seconds: None)
    assert capsys.readouterr().out == "first\n\nNo broker listens\nthird\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--create", "--topic", "t", "--watch"], 'Option "[watch]" can\'t be used with option "[create]"'),
        (["--list", "--watch", "0"], "--watch: 0 is not possible: give a number of seconds, from 0.1 on"),
        (["--list", "--watch", "often"], "--watch: often is not possible"),
    ],
)
def test_wrong_ways_to_watch(arguments: list[str], complaint: str) -> None:
    from gralha.cli.topics_options import parse_options

    with pytest.raises(CommandError) as refused:
        parse_options(["--bootstrap-server", "b:1", *arguments])
    assert str(refused.value).startswith(complaint)
