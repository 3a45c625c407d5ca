"""kafka-e2e-latency: Kafka's output, and each record checked when it comes back."""

import random
import re
from collections.abc import Callable

import pytest

from gralha.cli.e2e_latency import SentRecord, check, main, make_record, parse_options, summary_lines
from gralha.cli.program import CommandError
from tests.apache.kafka import run_tool
from tests.cli.commands import written

NAMED = ["--bootstrap-server", "b:1", "--topic", "t", "--num-records", "5"]
NAMED += ["--producer-acks", "all", "--record-size", "8"]


def without_times(output: str) -> str:
    return re.sub(r"(?<=[ \t])\d+(\.\d+)?(E-?\d+)?", "N", output)


def test_the_output_is_that_of_apache_kafka(
    bootstrap: str, new_name: Callable[[str], str], capfd: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--record-key-size", "4", "--num-headers", "2", "--record-header-key-size", "3"]
    options = ["--bootstrap-server", bootstrap, "--num-records", "3", "--producer-acks", "all"]
    options += ["--record-size", "100", *sizes, "--record-header-size", "-1"]
    name = new_name("latency")
    theirs = run_tool("kafka-e2e-latency", "--topic", f"{name}-theirs", *options).stdout
    assert main(["--topic", f"{name}-ours", *options]) == 0
    ours = written(capfd).out
    assert without_times(ours) == without_times(theirs.replace("-theirs", "-ours"))
    assert main([bootstrap, f"{name}-ours", "2", "1", "10"]) == 0
    again = written(capfd).out
    assert again.startswith("WARNING: Positional argument usage is deprecated")
    assert "does not exist" not in again


def test_the_percentiles() -> None:
    latencies = [number * 1_000_000 + 999_999 for number in range(1000)]
    assert summary_lines(latencies) == [
        "Avg latency: 500.5000 ms",
        "Percentiles: 50th = 500, 99th = 990, 99.9th = 999",
    ]
    assert summary_lines([1_500_000])[1] == "Percentiles: 50th = 1, 99th = 1, 99.9th = 1"


def test_a_record_has_the_sizes_that_were_asked_for() -> None:
    options = parse_options([*NAMED, "--num-headers", "2", "--record-header-key-size", "3"])
    record = make_record(options, random.Random(1))
    assert (record.key, len(record.value), len(set(record.value))) == (None, 8, 1)
    assert [(len(name), value) for name, value in record.headers] == [(3, b""), (3, b"")]


def test_another_record_is_noticed() -> None:
    sent = SentRecord(b"k", b"v", [("h", None)])
    check(sent, [sent])
    for received, message in (
        ([sent._replace(value=b"w")], r"The message value read \[w\] did not match the message value sent"),
        (
            [sent._replace(key=None)],
            r"The message key read \[null\] did not match the message key sent \[k\]",
        ),
        ([sent._replace(headers=[])], "The message headers read did not match"),
        ([sent, sent], r"Only one result was expected during this test. We found \[2\]"),
    ):
        with pytest.raises(CommandError, match=message):
            check(sent, received)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["b:1", "t", "5"], "Expected 5 or 6 positional arguments, but got 3. Usage: bootstrap-server topic"),
        (NAMED[:-2], 'Missing required argument "[record-size]"'),
        ([*NAMED[:7], "0", "--record-size", "1"], "Invalid value for --producer-acks."),
        ([*NAMED, "--num-headers", "-1"], "Value for --num-headers must be a non-negative integer."),
        ([*NAMED, "--record-header-size", "-2"], "non-negative integer or -1 for null header value."),
        (["b:1", "t", "0", "1", "1"], "Value for --num-records must be a positive integer."),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
