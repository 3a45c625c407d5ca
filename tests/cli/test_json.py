"""`--json`: each command that prints a table prints the forms of docs/COMMANDS.md."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gralha.cli import transactions
from gralha.cli.main import command_main
from gralha.client.values import TopicPartition
from tests.cli.commands import Run, written
from tests.cli.group_members import members
from tests.cli.open_transactions import begin
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


def test_levels_of_features(capfd: pytest.CaptureFixture[str]) -> None:
    from gralha.cli import features, storage

    wanted = ["--feature", "eligible.leader.replicas.version=1", "--feature", "group.version=1"]
    for main in (features.main, storage.main):
        assert main(["version-mapping", "--release-version", "4.0", "--json"]) == 0
        mapping = json.loads(capfd.readouterr().out)
        assert mapping["releaseVersion"] == "4.0"
        assert mapping["features"][0] == {"feature": "metadata.version", "level": 25}
        assert {"feature": "group.version", "level": 1} in mapping["features"]
        assert main(["feature-dependencies", *wanted, "--json"]) == 0
        first, second = json.loads(capfd.readouterr().out)["features"]
        assert first["requires"] == [{"feature": "metadata.version", "level": 23}]
        assert second == {"feature": "group.version", "level": 1, "requires": []}


def test_the_folders_of_a_node(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from gralha.cli import storage

    file, data = server_properties(tmp_path)
    info = ["info", "--config", str(file), "--json"]
    assert storage.main(info) == 1
    unformatted = json.loads(capfd.readouterr().out)
    assert unformatted["problems"] == [f"{data} does not exist"]
    assert (unformatted["logDirs"], unformatted["clusterId"], unformatted["nodeId"]) == ([], None, None)
    cluster_id = "NJEgyRHsTaKRqkQrLcCbrw"
    assert storage.main(["format", "--config", str(file), "--cluster-id", cluster_id, "--standalone"]) == 0
    capfd.readouterr()
    assert storage.main(info) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["logDirs"], found["clusterId"], found["nodeId"]) == ([str(data)], cluster_id, 7)
    assert len(found["directoryId"]) == 22
    assert found["problems"] == []


def server_properties(folder: Path) -> tuple[Path, Path]:
    """The settings of a node, and its folder, which does not exist yet."""
    file, data = folder / "server.properties", folder / "data"
    settings = {
        "process.roles": "broker,controller",
        "node.id": "7",
        "controller.quorum.bootstrap.servers": "localhost:19093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://localhost:19092,CONTROLLER://localhost:19093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file, data


def test_deleted_records(document: Callable[..., Any], run: Run, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.json"
    entries = [{"topic": topic, "partition": number, "offset": number * 99} for number in (0, 1)]
    file.write_text(json.dumps({"partitions": entries, "version": 1}))
    found = document("delete-records", "--offset-json-file", str(file))
    first, second = found["partitions"]
    assert first == {"topic": topic, "partition": 0, "lowWatermark": 0, "error": None}
    assert (second["partition"], second["lowWatermark"]) == (1, None)
    assert "offset" in second["error"]


def test_elections(document: Callable[..., Any], run: Run, topic: str) -> None:
    elect = ["leader-election", "--election-type", "preferred", "--topic"]
    assert document(*elect, topic, "--partition", "1") == {
        "electionType": "PREFERRED",
        "partitions": [{"topic": topic, "partition": 1, "isElected": False, "error": None}],
    }
    failed = run(*elect, topic, "--partition", "7", "--json")
    (row,) = json.loads(failed.out)["partitions"]
    assert (failed.code, row["partition"], row["isElected"]) == (1, 7, False)
    assert row["error"]


# --- the manual -----------------------------------------------------------------------------------------

SERVER = "--bootstrap-server {bootstrap}"
OF_A_LEVEL = "feature-dependencies --feature eligible.leader.replicas.version=1"
# Each form of the manual, and the arguments that print such a document.
FORMS = {
    "kafka-topics --list": f"{SERVER} --list",
    "kafka-topics --describe": f"{SERVER} --describe --topic {{topic}}",
    "kafka-consumer-groups --list": f"{SERVER} --list",
    "kafka-consumer-groups --describe": f"{SERVER} --describe --group {{topic}}",
    "kafka-consumer-groups --describe --members": f"{SERVER} --describe --group {{topic}} --members",
    "kafka-consumer-groups --describe --state": f"{SERVER} --describe --group {{topic}} --state",
    "kafka-consumer-groups --reset-offsets": (
        f"{SERVER} --reset-offsets --group {{topic}}-new --topic {{topic}} --to-earliest --dry-run"
    ),
    "kafka-consumer-groups --delete-offsets": (
        f"{SERVER} --delete-offsets --group {{topic}}-empty --topic {{topic}}"
    ),
    "kafka-groups --list": f"{SERVER} --list",
    "kafka-get-offsets": f"{SERVER} --topic {{topic}}",
    "kafka-configs --describe": f"{SERVER} --describe --topic {{topic}}",
    "kafka-configs --describe --entity-type users": f"{SERVER} --describe --entity-type users",
    "kafka-features describe": f"{SERVER} describe",
    "kafka-features version-mapping": "version-mapping",
    "kafka-storage version-mapping": "version-mapping",
    "kafka-features feature-dependencies": OF_A_LEVEL,
    "kafka-storage feature-dependencies": OF_A_LEVEL,
    "kafka-storage info": "info --config {properties}",
    "kafka-metadata-quorum describe": f"{SERVER} describe",
    "kafka-cluster cluster-id": f"cluster-id {SERVER}",
    "kafka-cluster list-endpoints": f"list-endpoints {SERVER}",
    "kafka-reassign-partitions --list": f"{SERVER} --list",
    "kafka-reassign-partitions --verify": (
        f"{SERVER} --verify --preserve-throttles --reassignment-json-file {{plan}}"
    ),
    "kafka-leader-election": f"{SERVER} --election-type preferred --topic {{topic}} --partition 0",
    "kafka-delete-records": f"{SERVER} --offset-json-file {{offsets}}",
    "kafka-log-dirs --describe": f"{SERVER} --describe",
    "kafka-broker-api-versions": SERVER,
    "kafka-transactions list": f"{SERVER} list",
    "kafka-transactions describe": f"{SERVER} describe --transactional-id {{topic}}",
    "kafka-transactions describe-producers": f"{SERVER} describe-producers --topic {{topic}} --partition 0",
    "kafka-transactions find-hanging": f"{SERVER} find-hanging --topic {{topic}}",
}
# Tests in tests/pipelines compare these with the manual.
OF_PIPELINES = {"gralha pipeline status", "gralha pipeline plan"}
# `test_acls.py` compares it, because it needs a broker with an authorizer.
OF_AN_AUTHORIZER = {"kafka-acls --list"}
# `test_delegation_tokens.py` compares these, because they need a listener with logins.
OF_A_LOGIN = {"kafka-delegation-tokens --create", "kafka-delegation-tokens --describe"}
# `test_schema_commands.py` compares these, because they need a registry.
OF_A_REGISTRY = {"gralha schema list", "gralha schema check", "gralha schema diff"}
COMPARED_ELSEWHERE = OF_PIPELINES | OF_AN_AUTHORIZER | OF_A_LOGIN | OF_A_REGISTRY
# There are no rows in this cluster, so the fields come from the code.
ROWS = {
    "kafka-reassign-partitions --list": ("topic", "partition", "replicas", "adding", "removing"),
    "kafka-transactions find-hanging": tuple(map(transactions.json_name, transactions.HANGING_COLUMNS)),
}


def manual() -> dict[str, str]:
    """The document of each form in the manual."""
    lines = [line for line in MANUAL.read_text().splitlines() if line.startswith("| `")]
    rows = [line.strip("| ").partition(" | ") for line in lines]
    return {name: text for names, _, text in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_form_of_the_manual_has_a_test() -> None:
    assert set(manual()) == set(FORMS) | COMPARED_ELSEWHERE


def test_the_manual_has_the_fields_of_each_form(
    bootstrap: str, run: Run, topic: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    empty = ["--group", f"{topic}-empty", "--topic", topic]
    assert run("consumer-groups", "--reset-offsets", *empty, "--to-earliest", "--execute").code == 0
    plan, offsets = tmp_path / "plan.json", tmp_path / "offsets.json"
    partition = {"topic": topic, "partition": 0}
    plan.write_text(json.dumps({"version": 1, "partitions": [{**partition, "replicas": [1]}]}))
    offsets.write_text(json.dumps({"version": 1, "partitions": [{**partition, "offset": 0}]}))
    properties, _ = server_properties(tmp_path)
    values = {"bootstrap": bootstrap, "topic": topic, "plan": plan, "offsets": offsets}
    user = ["--alter", "--entity-type", "users", "--entity-name", topic]
    for config in ("producer_byte_rate=1024", "SCRAM-SHA-512=[password=secret]"):
        assert run("configs", *user, "--add-config", config).code == 0
    producer = begin(bootstrap, topic, [TopicPartition(topic, 0)])
    complaints = []
    with members(bootstrap, topic, [topic], [{}]):
        for form, text in manual().items():
            if form in COMPARED_ELSEWHERE:
                continue
            name, *_ = form.split()
            arguments = FORMS[form].format(**values, properties=properties).split()
            code = command_main(name)([*arguments, "--json"])
            out, err = written(capfd)
            assert code == 0 or form == "kafka-storage info", f"{form}: {err}"
            names = {*re.findall(r'"(\w+)":', out.replace(topic, "")), *ROWS.get(form, ())} - {"version"}
            assert names, form
            complaints += [f"{form}: {name}" for name in names if f'"{name}"' not in text]
    producer.abort_transaction(30)
    for name in ("producer_byte_rate", "SCRAM-SHA-512"):
        assert run("configs", *user, "--delete-config", name).code == 0
    assert complaints == []
