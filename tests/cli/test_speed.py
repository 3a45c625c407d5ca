"""Commands answer at once: what they import, and what they cost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.partition_files import data_batches

SCRIPTS = Path(sys.executable).parent
CPU_SECONDS_MAX = 0.4
ADMIN_MODULES = (
    *("topics", "configs", "get_offsets", "delete_records", "log_dirs", "broker_api_versions"),
    *("consumer_groups", "groups", "cluster", "features", "leader_election", "metadata_quorum"),
    "reassign_partitions",
)


@pytest.mark.parametrize("module", [*ADMIN_MODULES, "main", "console_producer", "console_consumer"])
def test_a_module_leaves_heavy_imports_to_those_who_need_them(module: str) -> None:
    program = (
        f"import sys, gralha.cli.{module}\n"
        "heavy = {'confluent_kafka', 'asyncio', 'gralha.broker', 'dataclasses', 'gralha.client.admin'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (result.stdout, result.stderr) == ("[]\n", "")


@pytest.fixture(scope="module")
def topic(bootstrap: str) -> str:
    """A topic with one record in it."""
    name = f"speed-{os.getpid()}"
    server = ["--bootstrap-server", bootstrap, "--topic", name]
    subprocess.run([SCRIPTS / "kafka-topics", *server, "--create"], check=True, timeout=30)
    producer = [SCRIPTS / "kafka-console-producer", *server]
    subprocess.run(producer, input=b"a record\n", check=True, timeout=30)
    return name


def cpu_seconds(folder: Path, line: list[str | Path], typed: bytes = b"") -> tuple[float, bytes]:
    """What a command costs and prints; it must succeed.

    Processor time, not the clock: the machine may be busy with other tests.
    """
    (folder / "in").write_bytes(typed)
    with (
        (folder / "in").open("rb") as stdin,
        (folder / "out").open("wb") as stdout,
        (folder / "errors").open("wb") as stderr,
    ):
        command = subprocess.Popen(line, stdin=stdin, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(command.pid, 0)
    command.returncode = os.waitstatus_to_exitcode(status)
    assert command.returncode == 0, (folder / "errors").read_text()
    return usage.ru_utime + usage.ru_stime, (folder / "out").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["kafka-topics", "--list"], b"{topic}\n"),
        (["kafka-topics", "--describe"], b"Topic: {topic}\t"),
        (["kafka-configs", "--describe", "--entity-type", "brokers"], b"configs for broker"),
        (["kafka-get-offsets"], b"{topic}:0:"),
        (["kafka-log-dirs", "--describe"], b'"partition":"{topic}-0"'),
        (["kafka-broker-api-versions"], b"Produce(0): "),
        (["kafka-consumer-groups", "--list", "--state"], b"GROUP  "),
        (["kafka-groups", "--list"], b"GROUP  "),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_an_admin_command_costs_little(
    bootstrap: str, topic: str, tmp_path: Path, arguments: list[str], shown: bytes
) -> None:
    name, *options = arguments
    seconds, output = cpu_seconds(tmp_path, [SCRIPTS / name, "--bootstrap-server", bootstrap, *options])
    assert shown.replace(b"{topic}", topic.encode()) in output
    assert seconds < CPU_SECONDS_MAX


def test_a_record_costs_little(bootstrap: str, topic: str, tmp_path: Path) -> None:
    server = ["--bootstrap-server", bootstrap, "--topic", topic]
    seconds, output = cpu_seconds(
        tmp_path, [SCRIPTS / "kafka-console-consumer", *server, "--from-beginning", "--max-messages", "1"]
    )
    assert output == b"a record\n"
    assert seconds < CPU_SECONDS_MAX
    seconds, _ = cpu_seconds(tmp_path, [SCRIPTS / "kafka-console-producer", *server], b"another record\n")
    assert seconds < CPU_SECONDS_MAX


def test_a_command_without_a_broker_costs_little(tmp_path: Path) -> None:
    seconds, output = cpu_seconds(tmp_path, [SCRIPTS / "kafka-storage", "random-uuid"])
    assert len(output.strip()) == 22
    assert seconds < CPU_SECONDS_MAX
    file = tmp_path / f"{0:020d}.log"
    file.write_bytes(b"".join(data_batches()))
    line = [SCRIPTS / "kafka-dump-log", "--print-data-log", "--files", file]
    seconds, output = cpu_seconds(tmp_path, line)
    assert b"| offset: 0 " in output
    assert seconds < CPU_SECONDS_MAX


def test_admin_commands_never_load_librdkafka(bootstrap: str) -> None:
    program = (
        "import sys\n"
        "from gralha.cli import topics\n"
        f"code = topics.main(['--bootstrap-server', {bootstrap!r}, '--describe'])\n"
        "sys.exit(code or ('confluent_kafka' in sys.modules) * 9)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (result.returncode, result.stderr) == (0, "")
