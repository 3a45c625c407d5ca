"""`gralha pipeline` without Spark: errors are one sentence, at once; status and stop."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gralha.cli import pipeline_run
from gralha.cli.pipeline import main
from gralha.pipelines import CannotStartError
from gralha.pipelines.progress import Progress
from gralha.pipelines.state_files import FAILED, RESTARTING, RUNNING, STOPPED, State, StateFile
from gralha.testing.process import free_ports
from tests.cli.commands import written

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
        def __init__(self, *_arguments: object) -> None: ...
        def __enter__(self) -> None: ...
        def __exit__(self, *_exception: object) -> None: ...

    def run(*_arguments: object, **_more: object) -> None:
        raise CannotStartError(["There is no topic sales."])

    monkeypatch.setattr(pipeline_run, "spark_session", NoSession)
    monkeypatch.setattr(pipeline_run, "run", run)
    checkpoints = ["--checkpoints", str(tmp_path / "checkpoints")]
    assert main(["run", str(file), "--bootstrap-server", bootstrap, *checkpoints]) == 1
    assert written(capfd).err == "There is no topic sales.\n"
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
    running = StateFile(tmp_path, "totals")
    running.hold(State("totals", "x.py", "local[2]", "b:1", condition=RUNNING, progress=progress, restarts=2))
    failed = State("anomalies", "x.py", "local[2]", "b:1", condition=FAILED, message="The topic is gone.")
    StateFile(tmp_path, "anomalies").write(failed)
    header, first, second, message = shown(line, capfd).splitlines()
    assert header.split() == [
        *("PIPELINE", "STATE", "SINCE", "BATCH", "IN/S", "DONE/S", "LAG"),
        *("STATE-ROWS", "STATE-SIZE", "RESTARTS"),
    ]
    assert first.split()[:2] == ["anomalies", "failed"]
    assert second.split()[4:] == ["7", "50", "800", "12", "0", "0", "B", "2"]
    assert message == "anomalies: The topic is gone."
    lines = shown([*line, "--json", "totals"], capfd).splitlines()
    assert [json.loads(one)["progress"]["lag"] for one in lines] == [12]
    assert "known are anomalies, totals" in said([*line, "total"], capfd)
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


def test_the_commands_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    out = written(capfd).out
    assert all(name in out for name in ("run", "plan", "status", "stop", "test"))
