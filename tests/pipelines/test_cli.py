"""`gralha pipeline` without Spark: errors are one sentence, at once; status and stop."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gralha.cli import pipeline_run
from gralha.cli.pipeline import main
from gralha.cli.pipeline_options import COMMANDS
from gralha.cli.pipeline_session import CommandSpark
from gralha.pipelines import CannotStartError
from gralha.pipelines.progress import Progress
from gralha.pipelines.state_files import FAILED, RESTARTING, RUNNING, STOPPED, State, StateFile
from gralha.testing.process import free_ports
from tests.cli.commands import written
from tests.pipelines.terminal import CTRL_C, Terminal, gralha

PIPELINE = """
from gralha.pipelines import from_topic, pipeline, to_topic

@pipeline(inputs={"sales": from_topic("sales")}, output=to_topic("copy"))
def copy(sales):
    return sales
"""
RUN_UNTIL_STOPPED = """
import signal, sys
from dataclasses import replace
from pathlib import Path
from gralha.pipelines.state_files import RUNNING, STOPPED, State, StateFile
signals = {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
held = []
for name in sys.argv[2:]:
    state = State(name, "sales.py", "local[2]", "localhost:9092", condition=RUNNING)
    file = StateFile(Path(sys.argv[1]), name)
    file.hold(state)
    held.append((file, state))
print("runs", flush=True)
signal.sigwait(signals)
for file, state in held:
    file.write(replace(state, condition=STOPPED))
    file.release()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pipelines.py"
    path.write_text(PIPELINE)
    return path


def said(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """The error line of a failed command."""
    assert main(arguments) == 1
    out, err = written(capfd)
    assert "Traceback" not in out + err
    assert err.count("\n") == 1, err
    return err


def shown(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    out, err = written(capfd)
    assert err == ""
    return out


@pytest.mark.parametrize("command", ["run", "plan", "test"])
def test_a_file_that_is_not_there(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert said([command, "nowhere.py"], capfd) == "There is no file nowhere.py.\n"


def test_a_file_that_is_no_python_names_the_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\nx = = 2\n")
    assert f"{broken}:2: " in said(["run", str(broken)], capfd)


@pytest.mark.parametrize("command", ["run", "plan"])
def test_an_unreachable_broker_is_said_before_spark_starts(
    command: str, file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (port,) = free_ports(1)
    checkpoints = str(tmp_path / "checkpoints")
    arguments = [command, str(file), "--bootstrap-server", f"localhost:{port}", "--checkpoints", checkpoints]
    assert f"localhost:{port}" in said(arguments, capfd)
    assert "pyspark.java_gateway" not in sys.modules or not Path(checkpoints).exists()


def test_a_pipeline_that_the_file_does_not_have(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "it has: copy" in said(["run", str(file), "--name", "copies"], capfd)


def test_a_file_without_tests_says_how_to_write_one(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "@copy.test" in said(["test", str(file)], capfd)
    assert "no test with 'x'" in said(["test", str(file), "--only", "x"], capfd)


def test_a_wrong_setting_of_spark(file: Path, bootstrap: str, capfd: pytest.CaptureFixture[str]) -> None:
    line = ["run", str(file), "--bootstrap-server", bootstrap, "--conf", "spark.driver.memory"]
    assert "NAME=VALUE" in said(line, capfd)


def test_what_cannot_start_is_told_and_kept(
    file: Path,
    tmp_path: Path,
    bootstrap: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The session is replaced, and the run finds that the topic is wrong."""

    class NoSession:
        def stop(self) -> None: ...

    def run(*_arguments: object, **_more: object) -> None:
        raise CannotStartError({"copy": ["There is no topic sales.", "And no broker."]})

    monkeypatch.setattr(CommandSpark, "_started", lambda *_arguments: NoSession())
    monkeypatch.setattr(pipeline_run, "run", run)
    checkpoints = ["--checkpoints", str(tmp_path / "checkpoints")]
    assert main(["run", str(file), "--bootstrap-server", bootstrap, *checkpoints]) == 1
    assert written(capfd).err == "Cannot start: There is no topic sales.\nCannot start: And no broker.\n"
    assert "failed" in shown(["status", *checkpoints], capfd)


def test_a_second_run_is_refused(
    file: Path, tmp_path: Path, bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    held = StateFile(tmp_path, "copy")
    held.hold(State("copy", "x.py", "local[2]", bootstrap))
    line = ["run", str(file), "--bootstrap-server", bootstrap, "--checkpoints", str(tmp_path)]
    assert f"gralha pipeline stop copy --checkpoints {tmp_path}" in said(line, capfd)
    held.release()


def test_a_port_for_metrics_that_is_taken(
    file: Path, tmp_path: Path, bootstrap: str, capfd: pytest.CaptureFixture[str]
) -> None:
    taken = bootstrap.rpartition(":")[2]
    line = ["run", str(file), "--bootstrap-server", bootstrap, "--checkpoints", str(tmp_path / "c")]
    assert f"Cannot serve metrics on localhost:{taken}" in said([*line, "--metrics-port", taken], capfd)


def test_status_is_a_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = ["status", "--checkpoints", str(tmp_path)]
    assert shown(line, capfd) == f"No pipeline has run with checkpoints in {tmp_path}.\n"
    progress = Progress("totals", 7, "", input_rows_per_second=50.0, processed_rows_per_second=800.0, lag=12)
    progress = replace(progress, dead_letters_total=1)
    running = StateFile(tmp_path, "totals")
    state = State("totals", "x.py", "local[2]", "b:1", condition=RUNNING, progress=progress, restarts=2)
    running.hold(replace(state, dead_letters_topic="totals.dead-letters"))
    failed = State("anomalies", "x.py", "local[2]", "b:1", condition=FAILED, message="The topic is gone.")
    StateFile(tmp_path, "anomalies").write(failed)
    header, first, second, message, letters, show, replay = shown(line, capfd).splitlines()
    assert header.split() == [
        *("PIPELINE", "STATE", "SINCE", "BATCH", "IN/S", "DONE/S", "LAG"),
        *("DEAD-LETTERS", "RESTARTS", "STATE-ROWS", "STATE-SIZE"),
    ]
    assert first.split()[:2] == ["anomalies", "failed"]
    assert second.split()[3:] == ["7", "50", "800", "12", "1", "2", "0", "0", "B"]
    assert message == "anomalies: The topic is gone."
    assert letters == "totals: 1 dead letter in the topic totals.dead-letters"
    assert show.endswith(
        "kafka-console-consumer --bootstrap-server b:1 --topic totals.dead-letters --from-beginning "
        "--property print.headers=true"
    )
    assert replay.endswith(
        f"gralha pipeline replay-dead-letters totals --bootstrap-server b:1 --checkpoints {tmp_path}"
    )
    lines = shown([*line, "--json", "totals"], capfd).splitlines()
    (document,) = map(json.loads, lines)
    assert (document["version"], document["progress"]["lag"]) == (1, 12)
    manual = (Path(__file__).parents[2] / "docs" / "COMMANDS.md").read_text()
    row = next(line for line in manual.splitlines() if line.startswith("| `gralha pipeline status`"))
    assert all(f'"{name}"' in row for name in [*document, *document["progress"]] if name != "version")
    assert said([*line, "total"], capfd).endswith("known are anomalies, totals. Did you mean totals?\n")
    running.release()


def test_a_pipeline_without_a_process_was_killed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    StateFile(tmp_path, "totals").write(State("totals", "x.py", "local[2]", "b:1", condition=RESTARTING))
    assert " killed " in shown(["status", "--checkpoints", str(tmp_path)], capfd)


def test_stop_ends_the_process_and_all_that_it_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = [sys.executable, "-c", RUN_UNTIL_STOPPED, str(tmp_path), "totals", "anomalies"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        stopped = shown(["stop", "totals", "--checkpoints", str(tmp_path)], capfd)
        assert sorted(stopped.splitlines()) == ["anomalies stopped.", "totals stopped."]
        assert process.wait(10) == 0
    state = StateFile(tmp_path, "totals").read()
    assert state is not None
    assert state.condition == STOPPED
    assert shown(["stop", "--checkpoints", str(tmp_path)], capfd) == "No pipeline is running.\n"


def test_stop_does_not_wait_for_ever(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = [sys.executable, "-c", RUN_UNTIL_STOPPED, str(tmp_path), "totals"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.send_signal(signal.SIGSTOP)
        line = ["stop", "--timeout", "0.2", "--checkpoints", str(tmp_path)]
        assert f"kill -9 {process.pid}" in said(line, capfd)
        process.kill()


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_commands_are_listed(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([option])
    assert ended.value.code == 0
    out = written(capfd).out
    assert all(f"    {name} " in out or f"    {name}\n" in out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_defaults(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRALHA_BOOTSTRAP_SERVERS", "kafka:9093")
    monkeypatch.setenv("COLUMNS", "200")
    helps = []
    for option in ("-h", "--help"):
        with pytest.raises(SystemExit) as ended:
            main([command, option])
        assert ended.value.code == 0
        helps.append(written(capfd).out)
    assert helps[0] == helps[1]
    assert helps[0].startswith(f"usage: gralha pipeline {command} ")
    assert f"example:\n  gralha pipeline {command}" in helps[0]
    entries = re.split(r"\n  (?=-)", helps[0])[1:]
    valued = [entry for entry in entries if re.match(r"--[a-z-]+ [A-Z]", entry)]
    assert [entry for entry in valued if "default" not in entry] == []
    assert ("--bootstrap-server" in helps[0]) == ("or kafka:9093)" in helps[0])


def test_wrong_words_get_the_right_ones(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (
        said(["stauts"], capfd)
        == "gralha pipeline has no command 'stauts'. Did you mean status? (see gralha pipeline --help)\n"
    )
    assert said(["replay"], capfd).startswith(
        "gralha pipeline has no command 'replay'. Did you mean replay-dead-letters?"
    )
    assert said(["--checkpoints", "c"], capfd).startswith("Which command? Give one of: init, run, plan,")
    with pytest.raises(SystemExit):
        main(["help", "status"])
    assert written(capfd).out.startswith("usage: gralha pipeline status ")
    assert said(["x"], capfd).startswith("gralha pipeline has no command 'x'. Give one of: init, run, plan,")
    assert "Did you mean copy?" in said(["run", str(file), "--name", "coppy"], capfd)
    assert "Did you mean" in said(["plan", str(file.with_name("pipeline.py"))], capfd)
    assert main([]) == 1
    assert written(capfd).out.startswith("usage: gralha pipeline ")


def test_options_may_stand_before_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = ["--checkpoints", str(tmp_path)]
    assert shown([*place, "status"], capfd) == shown(["status", *place], capfd)


def test_the_brokers_may_be_in_the_environment(
    file: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv("GRALHA_BOOTSTRAP_SERVERS", f"localhost:{port}")
    for command in (["run", str(file)], ["replay-dead-letters", "copy"]):
        assert f"No broker listens on localhost:{port}" in said(command, capfd)


def test_the_log_of_all_pipelines_and_of_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = ["logs", "--checkpoints", str(tmp_path)]
    assert "no pipeline has run with these checkpoints" in said(line, capfd)
    for name in ("totals", "totals-2"):
        StateFile(tmp_path, name).write(State(name, "x.py", "local[2]", "b:1"))
    entries = [
        "26/01/02 03:04:05 ERROR MicroBatchExecution: Query totals [id = 1] terminated with error\n\tat java",
        "26/01/02 03:04:06 WARN Other: something",
        "26/01/02 03:04:07 ERROR MicroBatchExecution: Query totals-2 [id = 2] terminated",
    ]
    (tmp_path / "spark.log").write_text("\n".join(entries) + "\n")
    assert shown(line, capfd) == "\n".join(entries) + "\n"
    assert shown([*line, "totals"], capfd) == entries[0] + "\n"
    assert shown([*line, "--lines", "1"], capfd) == entries[2] + "\n"
    assert "Did you mean totals?" in said([*line, "total"], capfd)


def test_the_log_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    StateFile(tmp_path, "totals").write(State("totals", "x.py", "local[2]", "b:1"))
    log = tmp_path / "spark.log"
    log.write_text("26/01/02 03:04:05 ERROR One: Query totals ends\n")
    line = gralha("pipeline", "logs", "totals", "--follow", "--checkpoints", str(tmp_path))
    with Terminal(line, cwd=tmp_path, columns=80) as terminal:
        terminal.wait_for("Query totals ends\n")
        with log.open("a") as more:
            more.write("26/01/02 03:04:06 WARN Two: about others\n26/01/02 03:04:07 WARN Three: tot")
        with log.open("a") as more:
            more.write("als again\n")
        terminal.wait_for("Three: totals again\n")
        log.rename(tmp_path / "old.log")
        log.write_text("26/01/02 03:04:08 WARN Four: totals in a new file\n")
        terminal.wait_for("Four: totals in a new file\n")
        assert "about others" not in terminal.screen
        terminal.press(CTRL_C)
        assert terminal.end() == 130


def test_status_watches_until_ctrl_c(tmp_path: Path) -> None:
    progress = Progress("totals", 7, "", input_rows=5, lag=12, dead_letters_total=3)
    failed = State("totals", "x.py", "local[2]", "b:1", condition=FAILED, message="The topic is gone.")
    file = StateFile(tmp_path, "totals")
    file.write(replace(failed, progress=progress))
    watch = gralha("pipeline", "status", "--watch", "--checkpoints", str(tmp_path))
    with Terminal(watch, cwd=tmp_path, environment={"TERM": "xterm", "NO_COLOR": ""}, columns=80) as terminal:
        terminal.wait_for(r"totals +failed ")
        # A failure, lag and dead letters have a colour, and the table fits.
        terminal.wait_for("The topic is gone")
        assert all(f"\x1b[{text}\x1b[0m" in terminal.written for text in ("31mfailed", "33m12", "33m3"))
        assert max(map(len, terminal.screen.splitlines())) < 80
        file.write(replace(failed, condition=STOPPED, message=""))
        terminal.wait_for(r"totals +stopped ")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert "Traceback" not in terminal.screen
