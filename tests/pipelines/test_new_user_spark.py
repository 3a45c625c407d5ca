"""What a new user meets with pipelines: real processes in a terminal of 80 columns. Each test starts Spark.

tests/cli/test_new_user.py has the other lines of the list.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_up_brokers import PORT_STEP, children_of, first_port, wait_until
from tests.pipelines import topics
from tests.pipelines.terminal import CTRL_C, Terminal, gralha
from tests.pipelines.test_cli_spark import QUICK

pytestmark = pytest.mark.timeout(400)
SCRIPTS = Path(sys.executable).parent
PATIENCE_S = 60.0

COPY = """
from gralha.pipelines import from_topic, pipeline, to_topic

@pipeline(inputs={"sales": from_topic("sales", schema="amount DOUBLE")}, output=to_topic("copy"))
def copied(sales):
    return sales
"""
TWO_PROBLEMS = """
from pyspark.sql import functions as F
from gralha.pipelines import from_topic, pipeline, to_topic

SALES = from_topic("{sales}", schema="product STRING NOT NULL, amount DOUBLE")

@pipeline(inputs={{"sales": SALES}}, output=to_topic("{copy}"))
def misspelt(sales):
    return sales.where(F.col("amuont") > 5)

@pipeline(inputs={{"sales": from_topic("{sales}x")}}, output=to_topic("{copy}"))
def missing(sales):
    return sales
"""


def output_of(line: str, lines: str = "") -> str:
    name, *words = line.split()
    done = subprocess.run(
        [str(SCRIPTS / name), *words], input=lines, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_killed_broker_of_three_takes_no_partition_away(tmp_path: Path) -> None:
    """Line 1: topics of `gralha up --brokers 3`, and those that a pipeline creates, have three replicas."""
    port = first_port()
    brokers = f"--bootstrap-server localhost:{port},localhost:{port + PORT_STEP}"
    file = tmp_path / "pipelines.py"
    file.write_text(COPY)
    up = gralha("up", "--brokers", "3", "--data", str(tmp_path / "data"), "--port", str(port))
    with Terminal(up, cwd=tmp_path, columns=80) as terminal:
        terminal.wait_for(r"Ctrl-C stops it\. Try:")
        output_of(f"kafka-topics {brokers} --create --topic sales --partitions 3")
        output_of(f"kafka-console-producer {brokers} --topic sales", '{"amount": 1}\n')
        words = ["pipeline", "run", str(file), *brokers.split(), *QUICK, "--available-now"]
        with Terminal(gralha(*words), cwd=tmp_path, columns=80) as run:
            assert run.end() == 0, run.screen
        for topic in ("sales", "copy"):
            described = output_of(f"kafka-topics {brokers} --describe --topic {topic}")
            assert "ReplicationFactor: 3\tConfigs: min.insync.replicas=2" in described
        os.kill(children_of(terminal.program.pid)[1], signal.SIGKILL)
        terminal.wait_for(
            r"Broker 2 ended by SIGKILL \(its log: [^)]+\)\.[^`]*`[^`]+`[^`]*The others continue\."
        )
        unavailable = f"kafka-topics {brokers} --describe --unavailable-partitions"
        wait_until(lambda: output_of(unavailable) == "")
        output_of(f"kafka-console-producer {brokers} --topic copy", '{"amount": 2}\n')
        read = output_of(f"kafka-console-consumer {brokers} --topic copy --from-beginning --max-messages 2")
        assert sorted(read.splitlines()) == ['{"amount": 2}', '{"amount":1.0}']
        terminal.press(CTRL_C)
        assert terminal.end() == 0


def test_each_problem_of_a_run_is_one_line(
    tmp_path: Path, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    """Lines 2 and 7: one sentence for a misspelt column, and each command to copy is whole."""
    sales, copy = new_name("sales"), new_name("copy")
    topics.create(bootstrap, sales)
    file = tmp_path / "pipelines.py"
    file.write_text(TWO_PROBLEMS.format(sales=sales, copy=copy))
    run = gralha("pipeline", "run", str(file), "--bootstrap-server", bootstrap, *QUICK)
    with Terminal(run, cwd=tmp_path, columns=80, environment={"NO_COLOR": "1"}) as terminal:
        assert terminal.end() == 1
        screen = terminal.screen
    assert "QueryContextLogger" not in screen
    assert "Traceback" not in screen
    said = re.findall(r"^.*(?:amuont|There is no topic).*$", screen, re.MULTILINE)
    assert len(said) == 2, screen
    column = "There is no column amuont. Did you mean amount? The columns are amount, product."
    assert said[0] == f"Cannot start: pipelines.py:9: pipeline misspelt: {column}"
    topic = f"There is no topic {sales}x on {bootstrap}. Did you mean {sales}? Create it with: "
    assert topic in said[1]
    # The command at the end of the line can be pasted.
    command = shlex.split(said[1].partition("Create it with: ")[2])
    done = subprocess.run([str(SCRIPTS / command[0]), *command[1:]], capture_output=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, f"Created topic {sales}x.\n".encode())


def test_a_new_project_is_tested_planned_and_run_as_init_says(
    tmp_path: Path, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    """Each command of the answer of `gralha pipeline init`, typed in its order, and pytest."""
    name = new_name("shop")
    server = {"GRALHA_BOOTSTRAP_SERVERS": bootstrap, "PATH": f"{SCRIPTS}:{os.environ['PATH']}"}

    def typed(line: str, folder: Path) -> str:
        """A line in a shell, in its own terminal. Returns the screen."""
        with Terminal(["bash", "-c", line], cwd=folder, columns=80, environment=server) as terminal:
            assert terminal.end() == 0, terminal.screen
            return terminal.screen

    written = typed(f"gralha pipeline init {name}", tmp_path)
    steps = [line.strip().partition("   ")[0] for line in written.partition("Next:\n")[2].splitlines()]
    enter, test, up, produce, run, consume = steps
    assert (enter, up) == (f"cd {name}", "gralha up")
    project = tmp_path / name
    assert "2 tests, all passed" in typed(test, project)
    typed(produce, project)
    planned = typed(run.replace(" run ", " plan "), project)
    assert f"{name}.sales" in planned
    assert "starts fresh" in planned
    typed(f"{run} {shlex.join(QUICK)} --available-now", project)
    assert '"product":"tea"' in typed(f"{consume} --max-messages 3", project)
    assert "1 passed" in typed("python -m pytest -q -p no:cacheprovider", project)
