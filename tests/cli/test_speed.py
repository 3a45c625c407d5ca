"""Commands answer at once: what they import, and what they cost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(sys.executable).parent
CPU_SECONDS_MAX = 0.4
ADMIN_MODULES = ("topics", "configs", "get_offsets", "delete_records", "log_dirs", "broker_api_versions")


@pytest.mark.parametrize("module", [*ADMIN_MODULES, "main", "console_producer", "console_consumer"])
def test_a_module_leaves_heavy_imports_to_those_who_need_them(module: str) -> None:
    program = (
        f"import sys, gralha.cli.{module}\n"
        "heavy = {'confluent_kafka', 'asyncio', 'gralha.broker', 'dataclasses', 'gralha.client.admin'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (result.stdout, result.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["kafka-topics", "--list"],
        ["kafka-topics", "--describe"],
        ["kafka-configs", "--describe", "--entity-type", "brokers"],
        ["kafka-get-offsets"],
        ["kafka-log-dirs", "--describe"],
        ["kafka-broker-api-versions"],
        ["kafka-console-consumer", "--include", "none", "--timeout-ms", "0"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_command_costs_little(bootstrap: str, arguments: list[str]) -> None:
    """Processor time, not the clock: the machine may be busy with other tests."""
    name, *options = arguments
    with open(os.devnull, "wb") as nowhere:
        command = subprocess.Popen(
            [SCRIPTS / name, "--bootstrap-server", bootstrap, *options], stdout=nowhere, stderr=nowhere
        )
        _, status, usage = os.wait4(command.pid, 0)
    command.returncode = os.waitstatus_to_exitcode(status)
    assert command.returncode in (0, 1)
    assert usage.ru_utime + usage.ru_stime < CPU_SECONDS_MAX


def test_admin_commands_never_load_librdkafka(bootstrap: str) -> None:
    program = (
        "import sys\n"
        "from gralha.cli import topics\n"
        f"code = topics.main(['--bootstrap-server', {bootstrap!r}, '--describe'])\n"
        "sys.exit(code or ('confluent_kafka' in sys.modules) * 9)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (result.returncode, result.stderr) == (0, "")
