from argparse import Namespace

import pytest

from gralha.cli.get_offsets import parse_filter, parse_rule, parse_time
from gralha.cli.program import CommandError


def options(**given: object) -> Namespace:
    none = {"topic": None, "partitions": None, "topic_partitions": None, "exclude_internal_topics": False}
    return Namespace(**{**none, **given})


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [("latest", -1), ("-1", -1), ("earliest", -2), ("max-timestamp", -3), ("1700", 1700)],
)
def test_times(text: str, timestamp: int) -> None:
    assert parse_time(text) == timestamp


def test_a_wrong_time() -> None:
    with pytest.raises(CommandError, match=r"Malformed time argument yesterday\. Please use -1 or latest"):
        parse_time("yesterday")


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ("t:1", [("t", 1)]),
        ("t:1-3", [("t", 1), ("t", 2)]),
        ("t:2-", [("t", 2), ("t", 3)]),
        ("t:-1", [("t", 0)]),
        (":3", [("t", 3), ("u", 3)]),
        ("u", [("u", 0), ("u", 1), ("u", 2), ("u", 3)]),
    ],
)
def test_rules(rule: str, allowed: list[tuple[str, int]]) -> None:
    allows = parse_rule(rule)
    everything = [(topic, partition) for topic in "tu" for partition in range(4)]
    assert [item for item in everything if allows(*item)] == allowed


def test_a_wrong_rule() -> None:
    with pytest.raises(CommandError, match="Invalid rule specification: t:x"):
        parse_rule("t:x")


def test_topics_and_partitions() -> None:
    allows = parse_filter(options(topic="t.*", partitions="0,2"))
    assert allows("topic", 2)
    assert not allows("topic", 1)
    assert not allows("other", 0)


def test_internal_topics_are_left_out_on_demand() -> None:
    assert parse_filter(options())("__consumer_offsets", 0)
    assert not parse_filter(options(exclude_internal_topics=True))("__consumer_offsets", 0)


def test_partitions_are_numbers() -> None:
    with pytest.raises(CommandError, match=r"--partitions expects a comma separated list .* received: one"):
        parse_filter(options(partitions="one"))


def test_one_way_to_choose_excludes_the_other() -> None:
    with pytest.raises(CommandError, match="--topic-partitions cannot be used with --topic or --partitions"):
        parse_filter(options(topic="t", topic_partitions="t:1"))
