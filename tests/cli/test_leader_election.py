"""kafka-leader-election without a cluster: its options, its file, what it prints."""

import json
import re

import pytest

from gralha.cli.leader_election import parse_options, parse_partitions, show
from gralha.cli.program import CommandError
from gralha.client.values import TopicPartition
from gralha.protocol.errors import ErrorCode, error_for
from tests.cli.commands import written

SERVER = ["--bootstrap-server", "localhost:9092"]
PREFERRED = ["--election-type", "preferred"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--all-topic-partitions"], "Missing required option(s): bootstrap-server, election-type"),
        ([*SERVER, "--all-topic-partitions"], "Missing required option(s): election-type"),
        ([*SERVER, "--election-type", "any", "--all-topic-partitions"], "any is not one of preferred"),
        (
            [*SERVER, *PREFERRED],
            (
                "One and only one of the following options is required: topic, all-topic-partitions, "
                "path-to-json-file"
            ),
        ),
        ([*SERVER, *PREFERRED, "--topic", "t", "--all-topic-partitions"], "One and only one"),
        ([*SERVER, *PREFERRED, "--topic", "t"], "Missing required option(s): partition"),
        (
            [*SERVER, *PREFERRED, "--all-topic-partitions", "--partition", "0"],
            "Option partition is only allowed if topic is used",
        ),
        (
            [*SERVER, *PREFERRED, "--all-topic-partitions", "--admin.config", "a", "--command-config", "b"],
            'Option "[admin.config]" can\'t be used with option "[command-config]"',
        ),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_options(arguments)


def test_options_that_go_together() -> None:
    options = parse_options([*SERVER, *PREFERRED, "--topic", "t", "--partition", "0"])
    assert (options.election_type, options.topic, options.partition) == ("PREFERRED", "t", 0)


def test_the_file_of_partitions() -> None:
    entries = [{"topic": "t", "partition": 1}, {"topic": "s", "partition": 0}]
    assert parse_partitions(json.dumps({"partitions": entries})) == [
        TopicPartition("t", 1),
        TopicPartition("s", 0),
    ]
    for text, message in (
        ("", "Replica election data is empty"),
        ("{}", 'Replica election data is missing "partitions" field'),
        (json.dumps({"partitions": entries * 2}), "duplicate partitions: [s-0, t-1]"),
        ('{"partitions": [{"topic": "t"}]}', 'it needs "topic" and "partition"'),
        ('{"partitions": [7]}', 'it needs "topic" and "partition"'),
    ):
        with pytest.raises(CommandError, match=re.escape(message)):
            parse_partitions(text)


def test_what_became_of_partitions(capfd: pytest.CaptureFixture[str]) -> None:
    first, second, third = (TopicPartition("t", number) for number in range(3))
    needless = error_for(ErrorCode.ELECTION_NOT_NEEDED)
    assert show("PREFERRED", {second: None, first: None, third: needless}) == 0
    assert written(capfd).out == (
        "Successfully completed leader election (PREFERRED) for partitions t-0, t-1\n"
        "Valid replica already elected for partitions t-2\n"
    )
    failed = error_for(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "It is away")
    with pytest.raises(CommandError, match=re.escape("1 replica(s) could not be elected")):
        show("UNCLEAN", {first: failed})
    assert written(capfd).out == (
        "Error completing leader election (UNCLEAN) for partition: t-0: It is away\n"
    )
