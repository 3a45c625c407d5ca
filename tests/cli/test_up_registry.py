"""The Schema Registry beside `gralha up`."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from gralha.testing.process import free_ports

GRALHA = str(Path(sys.executable).parent / "gralha")
PATIENCE_S = 30


def registered(url: str, subject: str) -> int:
    request = urllib.request.Request(
        f"{url}/subjects/{subject}/versions",
        json.dumps({"schema": '"string"'}).encode(),
        {"content-type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request) as answer:
        return int(json.load(answer)["id"])


@pytest.mark.parametrize("brokers", [1, 3])
def test_it_starts_and_stops_with_the_brokers(tmp_path: Path, brokers: int) -> None:
    first, registry_port = free_ports(2)
    port = first if brokers == 1 else 15_000 + first % 15_000 // 2
    options = ["--brokers", str(brokers), "--port", str(port), "--registry-port", str(registry_port)]
    line = [GRALHA, "up", "--data", str(tmp_path), *options]
    for subject in ("first", "second"):
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            table = [program.stdout.readline() for _ in range(2 * brokers + 4)]
            try:
                url = f"http://localhost:{registry_port}"
                assert f"  registry  {url}\n" in table
                assert table[-1].startswith("Ctrl-C stops it.")
                assert registered(url, subject) == 1, "the schema of the first start is still there"
            finally:
                program.send_signal(signal.SIGINT)
                output, errors = program.communicate(timeout=PATIENCE_S)
            assert (program.returncode, output, errors) == (0, "", "")


def test_a_port_that_is_taken_ends_only_the_registry(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    line = [GRALHA, "up", "--data", str(tmp_path), "--port", str(port), "--registry-port", str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        table = [program.stdout.readline() for _ in range(5)]
        assert table[0] == "Gralha is up\n"
        assert not any(row.startswith("  registry") for row in table)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE_S)
    assert f"The registry did not start: The registry cannot listen on localhost:{port}" in errors
