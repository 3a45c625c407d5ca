import re

import pytest

from gralha.cli.program import CommandError
from gralha.cli.topics_options import check_numbers, parse_assignments, parse_configs, parse_options

SERVER = ["--bootstrap-server", "localhost:9092"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t"], "exactly one action"),
        (["--list", "--create"], "exactly one action"),
        (["--create"], 'Missing required argument "[topic]"'),
        (["--alter", "--topic", "t"], 'Missing required argument "[partitions]"'),
        (["--list", "--partitions", "1"], 'Option "[partitions]" can\'t be used with option "[list]"'),
        (
            ["--delete", "--topic", "t", "--config", "a=b"],
            'Option "[config]" can\'t be used with option "[delete]"',
        ),
        (["--create", "--topic", "t", "--if-exists"], '"[if-exists]" can\'t be used with option "[create]"'),
        (
            ["--create", "--topic", "t", "--replica-assignment", "1", "--partitions", "1"],
            'Option "[replica-assignment]" can\'t be used with option "[partitions]"',
        ),
        (
            ["--describe", "--topics-with-overrides", "--unavailable-partitions"],
            'Option "[topics-with-overrides]" can\'t be used with option "[unavailable-partitions]"',
        ),
        (
            ["--alter", "--topic", "t", "--partitions", "2", "--config", "a=b"],
            "kafka-configs tool can be used",
        ),
        (["--describe", "--if-exists"], "--topic or --topic-id is required"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_options([*SERVER, *arguments])


def test_the_cluster_must_be_named() -> None:
    with pytest.raises(CommandError, match="--bootstrap-server must be specified"):
        parse_options(["--list"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--partitions", "0"], "The partitions must be greater than 0"),
        (["--replication-factor", "0"], "The replication factor must be between 1 and 32767 inclusive"),
        (["--replication-factor", "32768"], "The replication factor must be between 1 and 32767 inclusive"),
    ],
)
def test_numbers_have_limits(arguments: list[str], message: str) -> None:
    options = parse_options([*SERVER, "--create", "--topic", "t", *arguments])
    with pytest.raises(CommandError, match=message):
        check_numbers(options)


def test_configs() -> None:
    assert parse_configs(["retention.ms = 5", "cleanup.policy=compact"]) == {
        "retention.ms": "5",
        "cleanup.policy": "compact",
    }
    for wrong in ("retention.ms", "a=b=c", "a="):
        with pytest.raises(CommandError, match='must be in the format "key=val"'):
            parse_configs([wrong])


def test_assignments() -> None:
    assert parse_assignments("1:2, 2:3") == [[1, 2], [2, 3]]
    with pytest.raises(CommandError, match="may not contain duplicate entries: 1"):
        parse_assignments("1:1")
    with pytest.raises(CommandError, match=r"Partition 1 has different replication factor: \[1, 2\]"):
        parse_assignments("1,1:2")
    with pytest.raises(CommandError, match="'x' is not a replica assignment"):
        parse_assignments("x")
