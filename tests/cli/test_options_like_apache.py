"""Each command has all the options of Apache Kafka's, except those that are listed here with the reason.

The options are read from the help of both commands. One Java process prints all help of Apache Kafka.
"""

from __future__ import annotations

import re
import subprocess
from importlib import import_module

import pytest

from tests.apache.kafka import DRIVER_CLASSES, TOOL_FLAGS, TOOLS, java_command

SUBCOMMANDS = {
    "kafka-cluster": ("cluster-id", "unregister", "list-endpoints"),
    "kafka-features": (
        *("describe", "upgrade", "downgrade", "disable"),
        *("version-mapping", "feature-dependencies"),
    ),
    "kafka-metadata-quorum": ("describe", "add-controller", "remove-controller"),
    "kafka-storage": ("info", "format", "version-mapping", "feature-dependencies", "random-uuid"),
    "kafka-transactions": (
        *("list", "describe", "describe-producers", "abort", "find-hanging"),
        "forceTerminateTransaction",
    ),
}
# What Gralha lacks, and why.
GAPS = {
    "kafka-dump-log": {"--remote-log-metadata-decoder": "Gralha has no tiered storage"},
    "kafka-storage format": {},
}
LINES = [
    " ".join(words)
    for tool in sorted(TOOLS)
    for words in [(tool,), *((tool, subcommand) for subcommand in SUBCOMMANDS.get(tool, ()))]
]


@pytest.fixture(scope="module")
def apache_help() -> dict[str, str]:
    """The help of all commands of Apache Kafka."""
    flags = [*TOOL_FLAGS, "-Djava.security.manager=allow"]
    calls = [[TOOLS[line.split()[0]], *line.split()[1:], "--help"] for line in LINES]
    done = subprocess.run(
        java_command("HelpOfTools", flags, DRIVER_CLASSES),
        input="".join(" ".join(call) + "\n" for call in calls),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    texts = done.stdout.split("\n\0\n")
    return dict(zip(LINES, texts[:-1], strict=True))


def options_in(text: str) -> set[str]:
    """The options that a help text describes, each at the beginning of a line."""
    heads = re.findall(r"^ {0,2}(-\S.*)", text, re.MULTILINE)
    names = {
        name
        for head in heads
        for name in re.findall(r"(?:^|, | )(--?[a-z][\w.-]*)", head.split("   ")[0], re.I)
    }
    return names - {"-h", "--help", "--version"}


def refused_in(text: str) -> set[str]:
    """The options that are described as not supported: they are accepted only to say so."""
    entries = re.split(r"^(?= {0,2}-\S)", text, flags=re.MULTILINE)
    return {name for entry in entries if "not supported" in entry for name in options_in(entry)}


@pytest.mark.parametrize("line", LINES)
def test_no_option_is_missing(
    line: str, apache_help: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    tool, *subcommand = line.split()
    module = import_module(f"gralha.cli.{tool.removeprefix('kafka-').replace('-', '_')}")
    with pytest.raises(SystemExit, match="0"):
        module.main([*subcommand, "--help"])
    theirs = options_in(apache_help[line])
    text = capsys.readouterr().out
    ours = options_in(text) - refused_in(text)
    assert theirs - ours == set(GAPS.get(line, {}))


def test_an_option_that_is_not_supported_counts_as_missing() -> None:
    text = (
        "options:\n  --all           show all\n  --far, -f HOST  another\n            place: not supported\n"
    )
    assert options_in(text) == {"--all", "--far", "-f"}
    assert refused_in(text) == {"--far", "-f"}


def test_the_help_of_apache_kafka_is_understood(apache_help: dict[str, str]) -> None:
    assert {"--replica-assignment", "--bootstrap-server"} <= options_in(apache_help["kafka-topics"])
    assert options_in(apache_help["kafka-storage info"]) == {"--config", "-c"}
    assert len(options_in(apache_help["kafka-producer-perf-test"])) >= 16
