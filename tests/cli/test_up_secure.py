"""`gralha up --secure`: one command makes a secured cluster and runs it, again and again."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from gralha.cli import secure, up
from tests.cli.test_secure import Secured, blocks_of, consume, produce, run_line
from tests.cli.test_up_brokers import first_port

PATIENCE_S = 60
pytestmark = pytest.mark.timeout(240)


@contextmanager
def running(data: Path, *options: str) -> Iterator[Secured]:
    """The cluster, and the blocks that the command printed when it was ready. Ctrl-C ends it."""
    line = [sys.executable, "-m", "gralha.cli.main", "up", "--secure", "--data", str(data), *options]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            printed = ""
            while not printed.endswith("Ctrl-C stops it.\n"):
                line_read = program.stdout.readline()
                assert line_read, program.communicate()[1]
                printed += line_read
            yield Secured(data, blocks_of(printed))
        finally:
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate(timeout=PATIENCE_S)
        assert (program.returncode, errors) == (0, "")


def test_the_cluster_is_created_once_and_starts_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, "--port", str(first_port()), "--metrics-port", "0") as cluster:
        app = cluster.librdkafka("app")
        assert produce(app, "app.orders") is None
        refused = produce(cluster.librdkafka("admin"), "private") or produce(app, "private")
        assert refused is not None
        assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert "app.orders" in run_line(cluster.blocks["Use it:"]).splitlines()
    files = {path: path.read_bytes() for path in data.iterdir() if path.suffix in (".pem", ".sh", ".key")}
    with running(data, "--metrics-port", "0") as cluster:
        assert consume(cluster.librdkafka("app"), "app.orders") == b"one"
    assert files == {path: path.read_bytes() for path in files}
    assert (data / "broker-1.properties").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--brokers", "3"], "has a secured cluster: run gralha up --secure --data"),
        ([], "has a secured cluster: run gralha up --secure --data"),
        (["--secure", "--brokers", "2"], "--brokers is not that of the cluster"),
        (["--secure", "--port", "9999"], "--port is not that of the cluster"),
        (["--secure", "--host", "example.org"], "--host is not that of the cluster"),
        (["--secure", "--override", "num.partitions=3"], "--secure takes no other settings"),
    ],
)
def test_a_secured_folder_is_not_used_in_another_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    assert secure.main([str(tmp_path)]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert up.main(["--data", str(tmp_path), *arguments]) == 1
    assert error in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_settings_without_an_address_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert secure.main([str(tmp_path)]) == 0
    (tmp_path / "broker-1.properties").write_text("node.id=1\n")
    capsys.readouterr()
    assert up.main(["--secure", "--data", str(tmp_path)]) == 1
    assert "advertised.listeners must have SASL_SSL://HOST:PORT" in capsys.readouterr().err


def test_the_data_of_a_cluster_without_security_is_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broker-1").mkdir()
    assert up.main(["--secure", "--data", str(tmp_path)]) == 1
    assert "is not empty" in capsys.readouterr().err
