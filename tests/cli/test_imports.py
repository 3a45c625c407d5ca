"""Commands start quickly, because they import little. `make bench` measures it."""

import subprocess
import sys

import pytest

ADMIN_MODULES = (
    *("topics", "configs", "get_offsets", "delete_records", "log_dirs", "broker_api_versions"),
    *("consumer_groups", "groups", "cluster", "features", "leader_election", "metadata_quorum"),
    *("reassign_partitions", "metadata_shell", "streams_application_reset", "transactions"),
)
CLIENT_MODULES = (
    "console_producer",
    "console_consumer",
    "verifiable_producer",
    "verifiable_consumer",
    "e2e_latency",
)


@pytest.mark.parametrize("module", [*ADMIN_MODULES, *CLIENT_MODULES, "main"])
def test_a_module_leaves_heavy_imports_to_those_who_need_them(module: str) -> None:
    program = (
        f"import sys, gralha.cli.{module}\n"
        "heavy = {'confluent_kafka', 'asyncio', 'gralha.broker', 'dataclasses', 'gralha.client.admin'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_admin_commands_never_load_librdkafka(bootstrap: str) -> None:
    program = (
        "import sys\n"
        "from gralha.cli import topics\n"
        f"code = topics.main(['--bootstrap-server', {bootstrap!r}, '--describe'])\n"
        "sys.exit(code or ('confluent_kafka' in sys.modules) * 9)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (result.returncode, result.stderr) == (0, "")
