"""The command line of kafka-consumer-groups, without a broker."""

import re
from argparse import Namespace

import pytest

from gralha.cli.consumer_groups_options import NamedTopic, parse_options
from gralha.cli.program import CommandError

RESET = ["--reset-offsets", "--group", "g", "--dry-run"]


def parse(*arguments: str) -> Namespace:
    return parse_options(["--bootstrap-server", "b:1", *arguments])


def test_groups_and_topics_may_be_given_many_times() -> None:
    options = parse("--delete-offsets", "--group", "g", "--topic", "t", "--topic", "u:0,12")
    assert options.group == ["g"]
    assert options.topic == [NamedTopic("t"), NamedTopic("u", [0, 12])]


def test_states_and_types_are_shown_or_chosen() -> None:
    shown = parse("--list", "--state", "--type")
    assert (shown.state, shown.states, shown.type, shown.types) == ("", [], "", [])
    chosen = parse("--list", "--state", "stable, EMPTY", "--type", "consumer")
    assert (chosen.states, chosen.types) == (["Stable", "Empty"], ["Consumer"])
    neither = parse("--list")
    assert (neither.state, neither.type, neither.states, neither.types) == (None, None, [], [])


def test_a_regular_expression_is_checked_without_a_broker() -> None:
    assert parse_options(["--validate-regex", "a.*"]).validate_regex == "a.*"


def test_zero_is_an_offset_and_a_distance() -> None:
    assert parse(*RESET, "--topic", "t", "--to-offset", "0").to_offset == 0
    assert parse(*RESET, "--topic", "t", "--shift-by", "-3").shift_by == -3
    assert parse(*RESET, "--topic", "t", "--by-duration", "PT0S").by_duration == 0
    with pytest.raises(CommandError, match=r'Option "\[to-offset\]" can\'t be used with option'):
        parse(*RESET, "--topic", "t", "--to-offset", "0", "--to-latest")


def test_without_execute_a_reset_says_that_it_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    parse("--reset-offsets", "--group", "g", "--all-topics", "--to-latest")
    assert capsys.readouterr().err.startswith(
        "WARN: No action will be performed as the --execute option is missing."
    )
    parse(*RESET, "--all-topics", "--to-latest")
    parse("--reset-offsets", "--group", "g", "--all-topics", "--to-latest", "--execute")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--group", "g"], "Command must include exactly one action: --list, --describe, --delete"),
        (["--list", "--delete", "--all-groups"], "Command must include exactly one action"),
        (["--describe"], "Option [describe] takes one of these options: [group], [all-groups]"),
        (["--delete"], "Option [delete] takes one of these options: [group], [all-groups]"),
        (
            ["--describe", "--group", "g", "--members", "--offsets"],
            "Option [describe] takes at most one of these options: [members], [offsets], [state]",
        ),
        (
            ["--describe", "--group", "g", "--state", "stable"],
            "Option [describe] does not take a value for [state]",
        ),
        (["--list", "--members"], "Option(s) [members] are unavailable given other options"),
        (["--describe", "--all-groups", "--type"], "Option(s) [type] are unavailable given other options"),
        (["--list", "--group", "g"], 'Option "[group]" can\'t be used with option "[list]"'),
        (
            ["--describe", "--group", "g", "--all-groups"],
            'Option "[group]" can\'t be used with option "[all-groups]"',
        ),
        (["--describe", "--group", "g", "--topic", "t"], 'Option "[topic]" can\'t be used with option'),
        (["--delete", "--group", "g", "--topic", "t"], "does not support topic-specific offset deletion"),
        (
            ["--delete-offsets", "--group", "g"],
            "Option [delete-offsets] takes the following options: [group], [topic]",
        ),
        (
            ["--delete-offsets", "--group", "g", "--group", "h", "--topic", "t"],
            "Found multiple arguments for option group, give only one",
        ),
        ([*RESET, "--execute"], "Option [reset-offsets] only accepts one of [execute] and [dry-run]"),
        ([*RESET, "--topic", "t"], "Option '[reset-offsets]' requires one of the following scenarios"),
        ([*RESET, "--to-latest"], "One of the reset scopes should be defined: --all-topics, --topic."),
        ([*RESET, "--to-latest", "--topic", "t:1:2"], "Invalid topic arg 't:1:2', expected topic name and"),
        ([*RESET, "--to-latest", "--topic", "t:"], "Invalid topic arg 't:', expected topic name and"),
        ([*RESET, "--to-latest", "--topic", "t:1,x"], "Invalid partition 'x' specified in topic arg 't:1,x'"),
        ([*RESET, "--topic", "t", "--by-duration", "5D"], "'5D' is not a duration: write PnDTnHnMnS"),
        (
            ["--list", "--state", "asleep"],
            "Invalid state list 'asleep'. Valid states are: PreparingRebalance",
        ),
        (["--list", "--type", "share"], "Invalid types list 'share'. Valid types are: Classic, Consumer"),
        (["--list", "--timeout", "0"], "0 is not greater than zero"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse(*arguments)


def test_a_broker_is_required() -> None:
    with pytest.raises(CommandError, match=re.escape('Missing required argument "[bootstrap-server]"')):
        parse_options(["--list"])
