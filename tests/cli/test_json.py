"""`--json`: each command that prints a table prints the forms of docs/COMMANDS.md."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Run
from tests.cli.group_members import members
from tests.client.live import eventually

MANUAL = Path(__file__).parents[2] / "docs" / "COMMANDS.md"


@pytest.fixture
def topic(run: Run, new_name: Callable[[str], str]) -> str:
    name = new_name("json")
    created = run("topics", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=9000")
    assert created.code == 0
    assert eventually(lambda: name in run("topics", "--list").out.splitlines())
    return name


@pytest.fixture
def document(run: Run) -> Callable[..., Any]:
    """Runs a command with --json, and returns its one document."""

    def document(command: str, *arguments: str) -> Any:
        outcome = run(command, *arguments, "--json")
        assert (outcome.code, outcome.err, outcome.out.count("\n")) == (0, "", 1)
        found = json.loads(outcome.out)
        assert found.pop("version") == 1
        return found

    return document


def test_topics(document: Callable[..., Any], run: Run, topic: str) -> None:
    (listed,) = document("topics", "--list", "--topic", topic)["topics"]
    (described,) = document("topics", "--describe", "--topic", topic)["topics"]
    assert listed == {"topic": topic, "topicId": described["topicId"], "isInternal": False}
    assert described["configs"]["retention.ms"] == "9000"
    assert (described["partitionCount"], described["replicationFactor"]) == (2, 1)
    first, second = described["partitions"]
    leader = first["leader"]
    assert (first["partition"], second["partition"]) == (0, 1)
    assert first["replicas"] == first["isr"] == [leader]
    assert set(first) == {"partition", "leader", "replicas", "isr", "elr", "lastKnownElr"}
    healthy = ["--describe", "--topic", topic, "--under-replicated-partitions"]
    assert document("topics", *healthy) == {"topics": []}
    refused = run("topics", "--delete", "--topic", topic, "--json")
    assert refused.err.startswith('Option "[json]" can\'t be used with option "[delete]"')


def test_consumer_groups(document: Callable[..., Any], run: Run, topic: str) -> None:
    reset = ["--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest", "--execute"]
    assert run("consumer-groups", *reset).code == 0
    mine = {"group": topic, "type": "Classic", "state": "Empty"}
    assert mine in document("consumer-groups", "--list")["groups"]
    named = ["--describe", "--group", topic]
    (group,) = document("consumer-groups", *named)["groups"]
    assert (group["group"], group["state"]) == (topic, "Empty")
    row = group["offsets"][1]
    assert (row["topic"], row["partition"], row["currentOffset"]) == (topic, 1, 0)
    assert (row["logEndOffset"], row["lag"], row["consumerId"]) == (0, 0, None)
    (members,) = document("consumer-groups", *named, "--members")["groups"]
    assert members == {"group": topic, "state": "Empty", "members": []}
    (state,) = document("consumer-groups", *named, "--state")["groups"]
    assert (state["state"], state["memberCount"]) == ("Empty", 0)
    assert set(state["coordinator"]) == {"id", "host", "port"}
    assert {"group": topic, "type": "Classic", "protocol": ""} in document("groups", "--list")["groups"]


def test_changes_of_offsets(document: Callable[..., Any], run: Run, topic: str) -> None:
    reset = ["--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest"]
    offsets = [{"topic": topic, "partition": number, "newOffset": 0} for number in (0, 1)]
    planned = {"isExecuted": False, "groups": [{"group": topic, "offsets": offsets}]}
    assert document("consumer-groups", *reset, "--dry-run") == planned
    assert document("consumer-groups", *reset, "--execute") == {**planned, "isExecuted": True}
    refused = run("consumer-groups", *reset, "--dry-run", "--export", "--json")
    assert refused.err.startswith('Option "[json]" can\'t be used with option "[export]"')

    deletion = ["--delete-offsets", "--group", topic, "--topic", topic]
    deleted = [{"topic": topic, "partition": number, "error": None} for number in (0, 1)]
    assert document("consumer-groups", *deletion) == {"groups": [{"group": topic, "offsets": deleted}]}
    missing = run("consumer-groups", *deletion, "--topic", f"{topic}-x", "--json")
    (group,) = json.loads(missing.out)["groups"]
    (error,) = [one for one in group["offsets"] if one["topic"] == f"{topic}-x"]
    assert (missing.code, error["partition"]) == (1, None)
    assert "does not know this topic" in error["error"]


def test_a_group_that_is_not_reset_is_not_in_the_document_but_on_standard_error(
    run: Run, bootstrap: str, topic: str
) -> None:
    with members(bootstrap, topic, [topic], [{}]):
        reset = ["--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest", "--dry-run"]
        outcome = run("consumer-groups", *reset, "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["groups"] == [{"group": topic, "offsets": []}]
    assert "Assignments can only be reset if the group" in outcome.err


def test_folders_and_apis_of_brokers(document: Callable[..., Any], bootstrap: str, topic: str) -> None:
    (broker,) = document("log-dirs", "--describe", "--topic-list", topic)["brokers"]
    (folder,) = broker["logDirs"]
    assert [one["partition"] for one in folder["partitions"]] == [f"{topic}-0", f"{topic}-1"]
    assert folder["error"] is None
    (one,) = document("broker-api-versions")["brokers"]
    assert f"{one['host']}:{one['port']}" == bootstrap
    apis = {api["name"]: api for api in one["apis"]}
    produce = apis["Produce"]
    assert produce["apiKey"] == 0
    assert produce["minVersion"] <= produce["usableVersion"] <= produce["maxVersion"]


def test_the_state_of_moves(document: Callable[..., Any], topic: str, tmp_path: Path) -> None:
    (described,) = document("topics", "--describe", "--topic", topic)["topics"]
    (broker,) = described["partitions"][0]["replicas"]
    plan = tmp_path / "plan.json"
    moves = [
        {"topic": topic, "partition": 0, "replicas": [broker]},
        {"topic": topic, "partition": 1, "replicas": [broker, broker + 1]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    verify = ["reassign-partitions", "--verify", "--preserve-throttles"]
    found = document(*verify, "--reassignment-json-file", str(plan))
    assert found["partitions"] == [
        {
            "topic": topic,
            "partition": one["partition"],
            "isMoving": False,
            "replicas": [broker],
            "targetReplicas": one["replicas"],
        }
        for one in moves
    ]
    assert found["folders"] == []


def test_offsets_and_configs(document: Callable[..., Any], topic: str) -> None:
    assert document("get-offsets", "--topic", topic)["offsets"] == [
        {"topic": topic, "partition": 0, "offset": 0},
        {"topic": topic, "partition": 1, "offset": 0},
    ]
    (entity,) = document("configs", "--describe", "--topic", topic)["configs"]
    assert (entity["entityType"], entity["entityName"]) == ("topics", topic)
    (retention,) = entity["configs"]
    assert (retention["name"], retention["value"]) == ("retention.ms", "9000")
    assert retention["source"] == "DYNAMIC_TOPIC_CONFIG"
    assert retention["synonyms"][0]["name"] == "retention.ms"
    assert document("configs", "--describe", "--topic", "no-such-topic") == {"configs": []}


def test_the_cluster(bootstrap: str, capfd: pytest.CaptureFixture[str], document: Callable[..., Any]) -> None:
    from gralha.cli import cluster, features, metadata_quorum

    def of(main: Callable[[list[str]], int], *arguments: str) -> Any:
        assert main(list(arguments)) == 0
        return json.loads(capfd.readouterr().out)

    server = ["--bootstrap-server", bootstrap]
    found = of(features.main, *server, "describe", "--json")["features"]
    assert "metadata.version" in [feature["feature"] for feature in found]
    quorum = of(metadata_quorum.main, *server, "describe", "--json")
    assert quorum["leaderId"] in [voter["nodeId"] for voter in quorum["voters"]]
    assert of(cluster.main, "cluster-id", *server, "--json")["clusterId"] == quorum["clusterId"]
    (endpoint,) = of(cluster.main, "list-endpoints", *server, "--json")["endpoints"]
    assert f"{endpoint['host']}:{endpoint['port']}" == bootstrap
    assert document("reassign-partitions", "--list") == {"reassignments": []}


def test_the_manual_has_the_fields_of_each_form(document: Callable[..., Any], topic: str) -> None:
    text = MANUAL.read_text()
    documents = [
        document("topics", "--list"),
        document("topics", "--describe", "--topic", topic),
        document("get-offsets", "--topic", topic),
        document("configs", "--describe", "--topic", topic),
        document("log-dirs", "--describe"),
        document("broker-api-versions"),
    ]
    for found in documents:
        for name in re.findall(r'"(\w+)":', json.dumps(found).replace(topic, "")):
            assert f'"{name}"' in text
