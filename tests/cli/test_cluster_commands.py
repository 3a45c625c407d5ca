"""The commands of a cluster on three brokers, beside Apache Kafka's own where their output is the same.

An Apache command costs a second or two of Java's start, so there are few of them.
"""

import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.values import ConfigResource, NewTopic, ResourceType, TopicDescription
from tests.apache.kafka import run_tool
from tests.cli.commands import Outcome, written
from tests.client.live import eventually

Command = Callable[..., Outcome]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs one of our commands."""

    def run(name: str, *arguments: str) -> Outcome:
        module = import_module(f"gralha.cli.{name.removeprefix('kafka-').replace('-', '_')}")
        code = module.main(list(arguments))
        return Outcome(code, *written(capfd))

    return run


@pytest.fixture
def admin(three_brokers: str) -> Iterator[Admin]:
    with Admin(Cluster(three_brokers)) as admin:
        yield admin


@pytest.fixture
def topic(admin: Admin, new_name: Callable[[str], str]) -> str:
    """A topic with two partitions, on brokers 1 and 2, and on 2 and 3."""
    name = new_name("moving")
    assert admin.create_topics([NewTopic(name, assignments={0: [1, 2], 1: [2, 3]})]) == {name: None}
    assert eventually(lambda: isinstance(admin.describe_topics([name])[name], TopicDescription))
    return name


def replicas(admin: Admin, topic: str) -> list[list[int]]:
    described = admin.describe_topics([topic])[topic]
    assert isinstance(described, TopicDescription)
    return [partition.replicas for partition in described.partitions]


def leaders(admin: Admin, topic: str) -> list[int | None]:
    described = admin.describe_topics([topic])[topic]
    assert isinstance(described, TopicDescription)
    return [partition.leader for partition in described.partitions]


def plan_file(folder: Path, topic: str, targets: dict[int, list[int]]) -> str:
    path = folder / "plan.json"
    entries = [
        {"topic": topic, "partition": partition, "replicas": brokers}
        for partition, brokers in targets.items()
    ]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def without_counters(text: str) -> str:
    """Replaces values that change between two commands."""
    text = re.sub(r"(HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs): +\d+", r"\1", text)
    text = re.sub(r"\d{2,} *\t\d+ *\t\d{12,} *\t\d{12,} *\t", "offset lag times ", text)
    return re.sub(r"Epoch: \d+\n", "Epoch\n", text)


SAME_OUTPUT = (
    ("kafka-metadata-quorum", "{server}", "describe", "--status"),
    ("kafka-metadata-quorum", "{controller}", "describe", "--replication"),
    ("kafka-features", "{server}", "describe"),
    ("kafka-cluster", "list-endpoints", "{server}"),
    ("kafka-cluster", "list-endpoints", "{controller}"),
    ("kafka-reassign-partitions", "{controller}", "--list"),
)


@pytest.mark.parametrize("line", SAME_OUTPUT, ids=" ".join)
def test_the_same_output(command: Command, admin: Admin, three_brokers: str, line: tuple[str, ...]) -> None:
    endpoints = [endpoint for found in admin.describe_quorum().endpoints.values() for endpoint in found]
    controllers = ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in endpoints)
    places = {
        "{server}": ["--bootstrap-server", three_brokers],
        "{controller}": ["--bootstrap-controller", controllers],
    }
    name, *words = line
    arguments = [argument for word in words for argument in places.get(word, [word])]
    theirs = run_tool(name, *arguments)
    ours = command(name, *arguments)
    assert (ours.code, ours.err) == (0, "")
    assert without_counters(ours.out) == without_counters(theirs.stdout)


def test_the_quorum_has_three_voters(command: Command, three_brokers: str) -> None:
    server = ["--bootstrap-server", three_brokers]
    outcome = command("kafka-metadata-quorum", *server, "describe", "--replication", "--human-readable")
    header, *rows = outcome.out.splitlines()
    assert header.startswith("NodeId\t")
    assert sorted(row.split("\t")[0].strip() for row in rows) == ["1", "2", "3"]
    assert [row.split("\t")[6].strip() for row in rows] == ["Leader", "Follower", "Follower"]
    assert all(row.count(" ms ago") == 2 for row in rows)


def test_a_cluster_has_an_id(command: Command, admin: Admin, three_brokers: str) -> None:
    expected = f"Cluster ID: {admin.describe_cluster().cluster_id}\n"
    assert command("kafka-cluster", "cluster-id", "-b", three_brokers) == Outcome(0, expected, "")


def test_a_broker_that_is_not_there_cannot_be_forgotten(command: Command, three_brokers: str) -> None:
    outcome = command("kafka-cluster", "unregister", "-b", three_brokers, "--id", "77")
    assert (outcome.code, outcome.out) == (1, "")
    assert "77" in outcome.err


def test_a_move_that_is_waited_for_ends_with_its_state(
    command: Command, admin: Admin, three_brokers: str, topic: str, tmp_path: Path
) -> None:
    server = ["--bootstrap-server", three_brokers]
    plan = plan_file(tmp_path, topic, {0: [3, 2], 1: [2, 3]})
    done = command(
        "kafka-reassign-partitions",
        *[*server, "--execute", "--reassignment-json-file", plan, "--throttle", "100000000", "--wait"],
    )
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert "2 of 2 partitions have moved" in lines
    assert lines[lines.index("Status of partition reassignment:") + 1 :] == [
        f"Reassignment of partition {topic}-0 is completed.",
        f"Reassignment of partition {topic}-1 is completed.",
        "",
        "Clearing broker-level throttles on brokers 1,2,3",
        f"Clearing topic-level throttles on topic {topic}",
    ]
    assert replicas(admin, topic) == [[3, 2], [2, 3]]
    verify = [*server, "--verify", "--reassignment-json-file", plan, "--watch", "0.1"]
    assert command("kafka-reassign-partitions", *verify).code == 0


def test_partitions_move_to_other_brokers_and_back(
    command: Command, admin: Admin, three_brokers: str, topic: str, tmp_path: Path
) -> None:
    server = ["--bootstrap-server", three_brokers]
    plan = plan_file(tmp_path, topic, {0: [3, 2], 1: [2, 3]})
    execute = [*server, "--execute", "--reassignment-json-file", plan]
    verify = [*server, "--verify", "--reassignment-json-file", plan]
    started = command("kafka-reassign-partitions", *execute, "--throttle", "100000000")
    assert (started.code, started.err) == (0, "")
    assert started.out.splitlines()[0] == "Current partition replica assignment"
    assert started.out.splitlines()[-3:] == [
        (
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the "
            "throttle is removed."
        ),
        "The inter-broker throttle limit was set to 100000000 B/s",
        f"Successfully started partition reassignments for {topic}-0,{topic}-1",
    ]
    assert throttles(admin, topic) == {
        "leader.replication.throttled.replicas": "0:1,0:2,1:2,1:3",
        "follower.replication.throttled.replicas": "0:3",
    }
    expected = (
        "Status of partition reassignment:\n"
        f"Reassignment of partition {topic}-0 is completed.\n"
        f"Reassignment of partition {topic}-1 is completed.\n\n"
        "Clearing broker-level throttles on brokers 1,2,3\n"
        f"Clearing topic-level throttles on topic {topic}\n"
    )
    assert eventually(lambda: command("kafka-reassign-partitions", *verify).out == expected)
    assert replicas(admin, topic) == [[3, 2], [2, 3]]
    assert eventually(lambda: throttles(admin, topic) == {})
    assert run_tool("kafka-reassign-partitions", *verify).stdout == expected

    # The output of --execute restores everything, folders included.
    rollback = tmp_path / "rollback.json"
    rollback.write_text(started.out.splitlines()[2])
    back = command(
        "kafka-reassign-partitions", *server, "--execute", "--reassignment-json-file", str(rollback)
    )
    assert (back.code, back.err) == (0, "")
    assert eventually(lambda: replicas(admin, topic) == [[1, 2], [2, 3]])


def throttles(admin: Admin, topic: str) -> dict[str, str | None]:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource]
    assert isinstance(entries, list)
    return {entry.name: entry.value for entry in entries if "throttled" in entry.name and entry.value}


def test_nothing_to_cancel(command: Command, three_brokers: str, topic: str, tmp_path: Path) -> None:
    plan = plan_file(tmp_path, topic, {0: [3, 2]})
    arguments = ["--bootstrap-server", three_brokers, "--cancel", "--reassignment-json-file", plan]
    assert command("kafka-reassign-partitions", *arguments, "--preserve-throttles") == Outcome(
        0,
        "None of the specified partition reassignments are active.\n"
        "None of the specified partition moves are active.",
        "",
    )


@pytest.mark.parametrize(
    ("targets", "options", "message"),
    [
        ({0: [1, 9]}, [], "Error: Unknown broker id 9"),
        ({7: [1, 2]}, [], "Error: Unable to find partition: {topic}-7"),
        (
            {0: [1, 2, 3]},
            ["--disallow-replication-factor-change"],
            "Error reassigning partition(s):\n{topic}-0: The replication factor is changed from 2 to 3",
        ),
    ],
)
def test_moves_that_are_refused(
    command: Command,
    three_brokers: str,
    topic: str,
    tmp_path: Path,
    targets: dict[int, list[int]],
    options: list[str],
    message: str,
) -> None:
    plan = plan_file(tmp_path, topic, targets)
    server = ["--bootstrap-server", three_brokers, *options]
    outcome = command("kafka-reassign-partitions", *server, "--execute", "--reassignment-json-file", plan)
    assert (outcome.code, outcome.err) == (1, message.replace("{topic}", topic) + "\n")


def brokers_with_logs(admin: Admin, topic: str) -> list[int]:
    """A broker id for each replica that has its log."""
    return [
        broker_id
        for broker_id in (1, 2, 3)
        for folder in admin.describe_log_dirs(broker_id)
        for replica in folder.replicas
        if replica.partition.topic == topic
    ]


def test_a_proposal(command: Command, admin: Admin, three_brokers: str, topic: str, tmp_path: Path) -> None:
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    server = ["--bootstrap-server", three_brokers]
    files = ["--topics-to-move-json-file", str(topics), "--broker-list", "1,3"]
    # A follower creates its log a moment after the topic was created.
    assert eventually(lambda: sorted(brokers_with_logs(admin, topic)) == [1, 2, 2, 3])
    outcome = command("kafka-reassign-partitions", *server, "--generate", *files)
    title, current, empty, proposed_title, proposed = outcome.out.splitlines()
    assert (title, empty) == ("Current partition replica assignment", "")
    assert proposed_title == "Proposed partition reassignment configuration"
    assert [entry["replicas"] for entry in json.loads(current)["partitions"]] == [[1, 2], [2, 3]]
    assert "any" not in current
    entries = json.loads(proposed)["partitions"]
    assert [sorted(entry["replicas"]) for entry in entries] == [[1, 3], [1, 3]]
    assert entries[0]["replicas"] != entries[1]["replicas"]
    assert entries[0]["log_dirs"] == ["any", "any"]


def test_preferred_leaders_are_elected(
    command: Command, admin: Admin, three_brokers: str, topic: str, tmp_path: Path
) -> None:
    server = ["--bootstrap-server", three_brokers]
    elect = [*server, "--election-type", "preferred"]
    # The same replicas in another order: nothing is copied, and the leader stays.
    plan = plan_file(tmp_path, topic, {0: [2, 1]})
    command("kafka-reassign-partitions", *server, "--execute", "--reassignment-json-file", plan)
    assert eventually(lambda: replicas(admin, topic) == [[2, 1], [2, 3]])
    assert leaders(admin, topic)[0] == 1
    partitions = tmp_path / "partitions.json"
    entries = [{"topic": topic, "partition": number} for number in (1, 0)]
    partitions.write_text(json.dumps({"partitions": entries}))
    outcome = command("kafka-leader-election", *elect, "--path-to-json-file", str(partitions))
    assert outcome == Outcome(
        0,
        f"Successfully completed leader election (PREFERRED) for partitions {topic}-0\n"
        f"Valid replica already elected for partitions {topic}-1\n",
        "",
    )
    assert eventually(lambda: leaders(admin, topic) == [2, 2])
    assert command("kafka-leader-election", *elect, "--all-topic-partitions").code == 0
    missing = command("kafka-leader-election", *elect, "--topic", topic, "--partition", "9")
    assert (missing.code, missing.err) == (1, "1 replica(s) could not be elected\n")
    assert missing.out.startswith(f"Error completing leader election (PREFERRED) for partition: {topic}-9: ")


LACKING = "The cluster does not have share.version and streams.version. Only the other features are changed."


def test_a_feature_that_nobody_knows_is_refused(command: Command, three_brokers: str) -> None:
    server = ["--bootstrap-server", three_brokers]
    outcome = command("kafka-features", *server, "upgrade", "--feature", "no.such.version=1", "--dry-run")
    assert (outcome.code, outcome.err) == (1, "1 out of 1 operation(s) failed.\n")
    assert outcome.out.startswith("Can not upgrade no.such.version to 1. ")
    two = ["--feature", "no.such.version=1", "--feature", "group.version=1"]
    outcome = command("kafka-features", *server, "upgrade", *two, "--dry-run")
    assert (outcome.code, outcome.err) == (1, "2 out of 2 operation(s) failed.\n")
    assert outcome.out.startswith("Can not upgrade any of group.version, no.such.version. ")
    outcome = command("kafka-features", *server, "upgrade", "--release-version", "4.2")
    assert (outcome.code, outcome.out) == (1, "")
    assert "release 4.2: metadata.version=4.2-IV1 (only 4.3-IV0). Nothing was changed." in outcome.err
    assert "WARN" not in outcome.err
    # Features that the cluster does not have are left out.
    release = command("kafka-features", *server, "upgrade", "--release-version", "4.3", "--dry-run")
    upgraded = [
        "eligible.leader.replicas.version can be upgraded to 1.",
        "group.version can be upgraded to 1.",
        "kraft.version can be upgraded to 1.",
        "metadata.version can be upgraded to 30.",
        "transaction.version can be upgraded to 2.",
    ]
    assert release == Outcome(0, "".join(f"{line}\n" for line in upgraded), f"WARN {LACKING}\n")
    same = command("kafka-features", *server, "upgrade", "--feature", "group.version=1", "--dry-run")
    assert same == Outcome(0, "group.version can be upgraded to 1.\n", "")
