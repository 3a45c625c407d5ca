"""Kafka's quickstart: `kafka-server-start.sh FILE`, and `kafka-server-stop.sh`."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from gralha.cli import storage
from gralha.cli.server_start import main as start
from gralha.cli.server_stop import RunningNode, is_wanted, node_of
from gralha.testing.process import ServerProcess, free_ports
from tests.apache.kafka import CLUSTER_ID
from tests.client.live import eventually
from tests.docs.pages import ROOT, blocks, commands
from tests.pipelines.terminal import Terminal

SCRIPTS = Path(sys.executable).parent
PATIENCE_S = 60.0
# No other node of this machine has it, so no other one is stopped.
NODE_ID = 987_654_321


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A file like the one in Kafka's quickstart."""
    broker, controller = free_ports(2)
    lines = {
        "process.roles": "broker,controller",
        "node.id": NODE_ID,
        "controller.quorum.bootstrap.servers": f"localhost:{controller}",
        "listeners": f"PLAINTEXT://localhost:{broker},CONTROLLER://localhost:{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": tmp_path / "kraft-combined-logs",
        "offsets.topic.replication.factor": 1,
    }
    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return file


def test_the_lines_of_kafkas_quickstart(tmp_path: Path, config: Path) -> None:
    page = blocks(ROOT / "docs" / "COMING_FROM_KAFKA.md")
    (block,) = [one for one in page if "kafka-server-start.sh" in one.text]
    cluster_id, formatting, starting = [command.text for command in commands(block)]
    path = f'export PATH="{SCRIPTS}:$PATH"'
    script = "\n".join([path, cluster_id, formatting, f"exec {starting} --override num.partitions=3"])
    with Terminal(["bash", "-c", script], cwd=tmp_path, columns=80) as terminal:
        port = terminal.wait_for(rf"ready: node {NODE_ID} serves localhost:(\d+)")[1]
        server = ["--bootstrap-server", f"localhost:{port}"]
        create = [str(SCRIPTS / "kafka-topics.sh"), *server, "--create", "--topic", "quickstart-events"]
        subprocess.run(create, check=True, timeout=PATIENCE_S)
        describe = [str(SCRIPTS / "kafka-topics.sh"), *server, "--describe", "--topic", "quickstart-events"]
        described = subprocess.run(describe, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        assert "PartitionCount: 3" in described.stdout

        stop = [str(SCRIPTS / "kafka-server-stop.sh"), "--node-id", str(NODE_ID)]
        stopped = subprocess.run(stop, capture_output=True, text=True, timeout=PATIENCE_S)
        said = f"Stopping process {terminal.program.pid}, which runs config/server.properties\n"
        assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, said, "")
        assert terminal.end() == 0
    assert (tmp_path / "kraft-combined-logs" / ".kafka_cleanshutdown").exists()
    nothing = subprocess.run(stop, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (nothing.returncode, nothing.stderr) == (1, "No kafka server to stop\n")


def test_a_node_of_gralha_server_is_stopped_by_its_id(tmp_path: Path, config: Path) -> None:
    node_id = NODE_ID + 1
    text = config.read_text()
    config.write_text(text.replace(f"node.id={NODE_ID}", f"node.id={node_id}"))
    assert storage.main(["format", "--standalone", "-t", CLUSTER_ID, "-c", str(config)]) == 0
    command = [sys.executable, "-m", "gralha", "server", "--config", str(config)]
    process = ServerProcess(command, tmp_path / "log")
    try:
        (port,) = re.findall(r"PLAINTEXT://localhost:(\d+)", text)
        process.wait_ready(int(port))
        stop = [str(SCRIPTS / "kafka-server-stop"), "--node-id", str(node_id), "--process-role", "broker"]
        stopped = subprocess.run(stop, capture_output=True, text=True, timeout=PATIENCE_S)
        assert (stopped.returncode, stopped.stderr) == (0, "")
        assert stopped.stdout == f"Stopping process {process.pid}, which runs {config}\n"
        assert eventually(lambda: not process.alive, PATIENCE_S)
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("/venv/bin/python /venv/bin/gralha server --config a.properties", "a.properties"),
        ("python3.11 -m gralha server --config=/etc/a.properties --override node.id=3", "/etc/a.properties"),
        ("python -X dev -m gralha.cli.main server --config a", "a"),
        ("/venv/bin/python /venv/bin/kafka-server-start.sh config/a.properties", "config/a.properties"),
        ("/venv/bin/python /venv/bin/kafka-server-start --override a=b a.properties", "a.properties"),
        ("/venv/bin/python /venv/bin/gralha up --brokers 3", None),
        ("/venv/bin/python /venv/bin/gralha server --help", None),
        ("grep kafka-server-start server.properties", None),
        ("vi gralha server --config a", None),
        ("", None),
    ],
)
def test_the_nodes_among_all_processes(line: str, file: str | None) -> None:
    found = node_of(7, line.split(), Path("/work"))
    assert (found and found.file) == file


def test_which_nodes_are_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("node.id=1\nprocess.roles=broker,controller\n")
    (tmp_path / "b").write_text("node.id=2\nprocess.roles=controller\n")
    nodes = {
        "1": RunningNode(1, "a", {}, tmp_path),
        "2": RunningNode(2, "b", {}, tmp_path),
        "3": RunningNode(3, "b", {"node.id": "3", "process.roles": "broker"}, tmp_path),
        "gone": RunningNode(4, "c", {}, tmp_path),
    }

    def chosen(node_id: int | None, role: str | None) -> list[str]:
        options = Namespace(node_id=node_id, process_role=role)
        return [name for name, node in nodes.items() if is_wanted(node, options)]

    assert chosen(None, None) == ["1", "2", "3", "gone"]
    assert chosen(None, "broker") == ["1", "3"]
    assert chosen(None, "controller") == ["1", "2"]
    assert chosen(2, "broker") == ["2"]


def test_a_node_does_not_go_into_the_background(capsys: pytest.CaptureFixture[str]) -> None:
    assert start(["-daemon", "config/server.properties"]) == 1
    assert capsys.readouterr().err.startswith("-daemon is not possible: use a service manager, or type ")
