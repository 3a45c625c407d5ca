"""kafka-groups: which groups it lists, and how."""

import re
from collections.abc import Callable

import pytest

from gralha.cli.groups import listing, parse_options, passes
from gralha.cli.program import CommandError
from gralha.client.group_values import GroupListing
from tests.apache.kafka import run_tool
from tests.cli.commands import Run
from tests.cli.group_members import commit, create_topic, members

GROUPS = [
    GroupListing("simple", "", "Empty", "Classic"),
    GroupListing("old", "consumer", "Stable", "Classic"),
    GroupListing("new", "consumer", "Stable", "Consumer"),
    GroupListing("connect-cluster", "connect", "Stable", "Classic"),
    GroupListing("shared", "share", "Stable", "Share"),
    GroupListing("wordcount", "streams", "Stable", "Streams"),
]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], ["simple", "old", "new", "connect-cluster", "shared", "wordcount"]),
        (["--consumer"], ["simple", "old", "new"]),
        (["--share"], ["shared"]),
        (["--streams"], ["wordcount"]),
        (["--group-type", "classic"], ["simple", "old", "connect-cluster"]),
        (["--group-type", "Classic", "--protocol", "consumer"], ["old"]),
        (["--protocol", "connect"], ["connect-cluster"]),
    ],
)
def test_which_groups_are_chosen(arguments: list[str], names: list[str]) -> None:
    options = parse_options(["--bootstrap-server", "b:1", "--list", *arguments])
    assert [group.group_id for group in GROUPS if passes(group, options)] == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--consumer"], "Command must include exactly one action: --list."),
        (["--list", "--group-type", "odd"], "--group-type must be a valid group type."),
        (["--list", "--share", "--streams"], 'Option "[share]" can\'t be used with option "[streams]"'),
        (["--list", "--consumer", "--protocol", "x"], 'Option "[consumer]" can\'t be used with option'),
    ],
)
def test_wrong_calls(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_options(["--bootstrap-server", "b:1", *arguments])


def test_the_table_is_as_wide_as_its_longest_text() -> None:
    assert listing(GROUPS[:2]) == (
        "GROUP                TYPE                 PROTOCOL            \n"
        "simple               Classic                                   \n"
        "old                  Classic              consumer             \n"
    )
    assert "a-group-of-more-than-twenty consumer" in listing(
        [GroupListing("a-group-of-more-than-twenty", "", "", "consumer")]
    )


def test_the_same_groups_as_apache_kafka_lists(
    run: Run, bootstrap: str, new_name: Callable[[str], str]
) -> None:
    topic, group = new_name("groups"), new_name("group")
    create_topic(bootstrap, topic, partitions=1, records=1)
    commit(bootstrap, group, topic, [1])
    with members(bootstrap, f"{group}-live", [topic], [{}]):
        theirs = run_tool("kafka-groups", "--bootstrap-server", bootstrap, "--list").stdout
        ours = run("groups", "--list")
        assert f"{group}-live " in ours.out
        assert sorted(ours.out.splitlines()) == sorted(theirs.splitlines())
        assert ours.out.splitlines()[0].split() == ["GROUP", "TYPE", "PROTOCOL"]
