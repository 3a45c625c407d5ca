"""kafka-reassign-partitions without a cluster: options, files, throttles, proposals and texts."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gralha.cli.program import CommandError
from gralha.cli.reassign_partitions import list_text
from gralha.cli.reassign_partitions_options import parse_options
from gralha.cli.reassignment_file import (
    Replica,
    Target,
    parse_brokers,
    parse_plan,
    parse_plan_to_execute,
    parse_topics,
    plan_text,
)
from gralha.cli.reassignment_proposal import propose, racks_of
from gralha.cli.reassignment_throttles import Move, moves_of, topic_throttles
from gralha.cli.replica_moves import Folders, state_text
from gralha.client.reassignment_calls import Reassignment
from gralha.client.values import ClusterNode, TopicPartition
from gralha.protocol.errors import InvalidReplicationFactorError

SERVER = ["--bootstrap-server", "localhost:9092"]
CONTROLLER = ["--bootstrap-controller", "localhost:9093"]
PLAN_FILE = ["--reassignment-json-file", "f"]
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SERVER, *PLAN_FILE], "exactly one action: --generate, --execute, --verify, --cancel, --list"),
        ([*SERVER, "--list", "--cancel"], "exactly one action"),
        (["--list"], "Please specify either --bootstrap-server or --bootstrap-controller"),
        ([*SERVER, *CONTROLLER, "--list"], "don't specify both"),
        ([*SERVER, "--execute"], 'Missing required argument "[reassignment-json-file]"'),
        ([*SERVER, "--generate", "--broker-list", "1"], '"[topics-to-move-json-file]"'),
        (
            [*CONTROLLER, "--verify", *PLAN_FILE],
            'Option "[bootstrap-controller]" can\'t be used with action "[verify]"',
        ),
        ([*SERVER, "--list", *PLAN_FILE], '"[reassignment-json-file]" can\'t be used with action "[list]"'),
        (
            [*SERVER, "--verify", *PLAN_FILE, "--throttle", "0"],
            '"[throttle]" can\'t be used with action "[verify]"',
        ),
        (
            [*SERVER, "--execute", *PLAN_FILE, "--preserve-throttles"],
            '"[preserve-throttles]" can\'t be used with action "[execute]"',
        ),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_options(arguments)


def test_options_that_go_together() -> None:
    assert parse_options([*CONTROLLER, "--cancel", *PLAN_FILE, "--timeout", "5"]).timeout == 5
    assert parse_options([*SERVER, "--execute", *PLAN_FILE, "--throttle", "9", "--additional"]).throttle == 9


def entry(partition: int, replicas: list[int], **more: object) -> dict[str, object]:
    return {"topic": "t", "partition": partition, "replicas": replicas, **more}


def document(*entries: dict[str, object], **more: object) -> str:
    return json.dumps({"partitions": entries, **more})


def test_a_plan() -> None:
    plan = parse_plan(document(entry(0, [1, 2], log_dirs=["any", "/b"]), entry(1, [3]), version=1))
    assert plan.targets == [Target(FIRST, [1, 2]), Target(SECOND, [3])]
    assert plan.folders == {Replica(2, FIRST): "/b"}
    assert plan_text(plan.replicas(), plan.folders) == (
        '{"version":1,"partitions":['
        '{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","/b"]},'
        '{"topic":"t","partition":1,"replicas":[3],"log_dirs":["any"]}]}'
    )
    assert str(Replica(2, FIRST)) == "t-0-2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "The input string is not a valid JSON"),
        ("[]", "The input string is not a valid JSON"),
        (document(version=2), "Not supported version field value 2"),
        (document(), "Partition reassignment list cannot be empty"),
        (document(entry(0, [])), "Partition replica list cannot be empty"),
        (document(entry(0, [1]), entry(0, [2])), "contains duplicate topic partitions: t-0"),
        (
            document(entry(0, [1, 1]), entry(1, [2, 3, 2])),
            "duplicate entries: t-0 contains multiple entries for 1. t-1 contains multiple entries for 2",
        ),
        (
            document(entry(0, [1], log_dirs=["/a", "/b"])),
            "Size of replicas list [1] is different from size of log dirs list [/a, /b] for partition t-0",
        ),
        (document({"topic": "t", "partition": 0}), '"replicas" is missing or wrong'),
        (document(entry(0, ["1"])), '"replicas" is wrong'),  # type: ignore[list-item]
        (document({"topic": "t", "partition": True, "replicas": [1]}), '"partition" is missing or wrong'),
        ('{"partitions": {}}', '"partitions" is not a list of objects'),
    ],
)
def test_plans_that_cannot_be_carried_out(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=re.escape(message)):
        parse_plan_to_execute(text)


def test_topics_and_brokers_to_use() -> None:
    assert parse_topics('{"topics": [{"topic": "b"}, {"topic": "a"}], "version": 1}') == ["b", "a"]
    with pytest.raises(CommandError, match=re.escape("topics to reassign contains duplicate entries: [a]")):
        parse_topics('{"topics": [{"topic": "a"}, {"topic": "a"}]}')
    assert parse_brokers("3,1") == [3, 1]
    with pytest.raises(CommandError, match=re.escape("Broker list contains duplicate entries: [3]")):
        parse_brokers("3,3")
    with pytest.raises(CommandError, match="expects broker ids"):
        parse_brokers("3,x")


def test_what_is_moving() -> None:
    assert list_text({}) == "No partition reassignments found."
    moving = {
        SECOND: Reassignment([1, 2, 3], [3], [1]),
        FIRST: Reassignment([1, 2], [], [2]),
    }
    assert list_text(moving) == (
        "Current partition reassignments:\n"
        "t-0: replicas: 1,2. removing: 2.\n"
        "t-1: replicas: 1,2,3. adding: 3. removing: 1."
    )


def test_throttles_of_moves_that_go_on_and_begin() -> None:
    other = TopicPartition("u", 0)
    moving = {
        SECOND: Reassignment([1, 2, 10], [10], [1]),
        other: Reassignment([4, 5], [5], [4]),
    }
    # The second partition moves again before it has arrived: its sources are still the old replicas.
    moves = moves_of(moving, {FIRST: [2, 3], SECOND: [2, 9]}, {FIRST: [1, 2], SECOND: [1, 2, 10]})
    assert moves == {FIRST: Move({1, 2}, {3}), SECOND: Move({1, 2}, {9}), other: Move({4}, {5})}
    assert topic_throttles(moves) == {
        "t": {
            "leader.replication.throttled.replicas": "0:1,0:2,1:1,1:2",
            "follower.replication.throttled.replicas": "0:3,1:9",
        },
        "u": {
            "leader.replication.throttled.replicas": "0:4",
            "follower.replication.throttled.replicas": "0:5",
        },
    }


@pytest.mark.parametrize(
    ("folders", "text"),
    [
        (Folders(), "Partition t-0 is not found in any live log dir on broker 2."),
        (Folders("/a"), "Partition t-0 on broker 2 is not being moved from log dir /a to /b."),
        (Folders("/b"), "Reassignment of replica t-0-2 completed successfully."),
        (Folders("/a", "/b"), "Reassignment of replica t-0-2 is still in progress."),
        (Folders("/a", "/c"), "Partition t-0 on broker 2 is being moved to log dir /c instead of /b."),
    ],
)
def test_moves_between_folders(folders: Folders, text: str) -> None:
    assert state_text(Replica(2, FIRST), folders, "/b").startswith(text)


def test_racks_of_all_brokers_or_none() -> None:
    nodes = [ClusterNode(1, "a", 1, "x"), ClusterNode(2, "a", 2)]
    assert racks_of(nodes, rack_aware=False) == {1: None, 2: None}
    assert racks_of(nodes[:1], rack_aware=True) == {1: "x"}
    with pytest.raises(CommandError, match="Not all brokers have rack information"):
        racks_of(nodes, rack_aware=True)


@given(
    brokers=st.lists(st.integers(0, 20), min_size=1, max_size=6, unique=True),
    partitions=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
def test_a_proposal_uses_the_named_brokers_evenly(brokers: list[int], partitions: int, seed: int) -> None:
    factor = min(2, len(brokers))
    current = {TopicPartition("t", number): list(range(100, 100 + factor)) for number in range(partitions)}
    proposed = propose(current, dict.fromkeys(brokers), random.Random(seed))
    assert list(proposed) == list(current)
    leaders = [replicas[0] for replicas in proposed.values()]
    for replicas in proposed.values():
        assert len(set(replicas)) == factor
        assert set(replicas) <= set(brokers)
    counts = [leaders.count(broker) for broker in brokers]
    assert max(counts) - min(counts) <= 1


def test_a_proposal_needs_enough_brokers() -> None:
    with pytest.raises(InvalidReplicationFactorError, match="only 1 broker"):
        propose({FIRST: [1, 2]}, {7: None})
