"""kafka-acls: its options without a cluster, and its words beside Apache Kafka's on the same broker."""

import re
from collections.abc import Iterator

import pytest

from gralha.cli import acls
from gralha.cli.acls_options import entries_by_resource, parse_options, resources
from gralha.protocol.acls import Operation, PatternType, Permission, ResourceType
from gralha.testing import GralhaCluster
from tests.apache.kafka import run_tool
from tests.cli.commands import written
from tests.cli.test_json import manual

SERVER = ("--bootstrap-server", "localhost:1")
TOPIC = (ResourceType.TOPIC, "orders", PatternType.LITERAL)
GROUP = (ResourceType.GROUP, "readers", PatternType.LITERAL)
CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def entries(*arguments: str) -> dict[tuple[ResourceType, str, PatternType], list[str]]:
    found = entries_by_resource(parse_options([*SERVER, "--add", *arguments]))
    return {
        resource: [
            f"{permission.name} {principal} {host} {operation.name}"
            for principal, host, operation, permission in made
        ]
        for resource, made in found.items()
    }


def test_a_producer_and_a_consumer_get_the_rights_they_need() -> None:
    producer = entries("--producer", "--topic", "orders", "--allow-principal", "User:bob", "--idempotent")
    cluster = (ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
    assert producer == {
        TOPIC: ["ALLOW User:bob * WRITE", "ALLOW User:bob * DESCRIBE", "ALLOW User:bob * CREATE"],
        cluster: ["ALLOW User:bob * IDEMPOTENT_WRITE"],
    }
    both = entries(
        *("--producer", "--consumer", "--topic", "orders", "--group", "readers"),
        *("--transactional-id", "tx", "--allow-principal", "User:bob", "--allow-host", "10.0.0.1"),
    )
    assert both == {
        TOPIC: [f"ALLOW User:bob 10.0.0.1 {one}" for one in ("WRITE", "DESCRIBE", "CREATE", "READ")],
        (ResourceType.TRANSACTIONAL_ID, "tx", PatternType.LITERAL): [
            f"ALLOW User:bob 10.0.0.1 {one}" for one in ("WRITE", "DESCRIBE")
        ],
        GROUP: ["ALLOW User:bob 10.0.0.1 READ"],
    }


def test_operations_principals_and_hosts_are_combined() -> None:
    made = entries(
        *("--topic", "orders", "--operation", "Read", "--operation", "DescribeConfigs"),
        *(
            "--allow-principal",
            "User:a",
            "--deny-principal",
            "User:b",
            "--deny-host",
            "h1",
            "--deny-host",
            "h2",
        ),
    )
    assert made[TOPIC] == [
        "ALLOW User:a * READ",
        "ALLOW User:a * DESCRIBE_CONFIGS",
        "DENY User:b h1 READ",
        "DENY User:b h2 READ",
        "DENY User:b h1 DESCRIBE_CONFIGS",
        "DENY User:b h2 DESCRIBE_CONFIGS",
    ]
    assert Operation.ALL.name in entries("--group", "g", "--deny-principal", "User:b").popitem()[1][0]
    assert Permission.DENY.name in entries("--group", "g", "--deny-principal", "User:b").popitem()[1][0]


def test_a_pattern_type_counts_for_all_resources() -> None:
    options = parse_options(
        [*SERVER, "--list", "--topic", "a", "--cluster", "--resource-pattern-type", "match"]
    )
    assert resources(options) == [(ResourceType.TOPIC, "a", PatternType.MATCH)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--list",), "One of --bootstrap-server or --bootstrap-controller must be specified"),
        ((*SERVER, "--list", "--add"), "Command must include exactly one action: --list, --add, --remove."),
        ((*SERVER, "--add", "--producer"), "With --producer you must specify a --topic"),
        (
            (*SERVER, "--add", "--idempotent"),
            "The --idempotent option is only available if --producer is set",
        ),
        ((*SERVER, "--add", "--principal", "User:a"), "The --principal option is only available if --list"),
        (
            (*SERVER, "--add", "--consumer", "--topic", "a"),
            "With --consumer you must specify a --topic and a",
        ),
        ((*SERVER, "--add"), "You must provide at least one resource"),
        ((*SERVER, "--add", "--topic", "a"), "You must specify one of: --allow-principal, --deny-principal"),
        (
            (*SERVER, "--add", "--group", "g", "--operation", "Write", "--allow-principal", "User:a"),
            "ResourceType GROUP only supports operations Read, Describe, Delete, DescribeConfigs",
        ),
        (
            (
                *SERVER,
                "--add",
                "--topic",
                "a",
                "--resource-pattern-type",
                "any",
                "--allow-principal",
                "User:a",
            ),
            "A '--resource-pattern-type' value of 'ANY' is not valid when adding acls.",
        ),
    ],
)
def test_a_wrong_command_line_says_why(
    arguments: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert acls.main(list(arguments)) == 1
    assert message in written(capfd).err


def test_a_principal_needs_a_type(capfd: pytest.CaptureFixture[str]) -> None:
    assert acls.main([*SERVER, "--add", "--topic", "a", "--allow-principal", "bob"]) == 1
    assert "expected a string in format principalType:principalName but got bob" in written(capfd).err


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with GralhaCluster(config=CONFIG) as cluster:
        yield cluster.bootstrap


def in_order(output: str) -> list[str]:
    """The lines in order, because Kafka prints ACLs in the order of a hash table."""
    return sorted(line.strip() for line in output.splitlines() if line.strip())


def test_the_same_words_as_apache(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    server = ("--bootstrap-server", address)
    rules = (
        *("--topic", "orders", "--group", "readers", "--allow-principal", "User:bob"),
        *("--deny-principal", "User:eve", "--deny-host", "10.0.0.1", "--operation", "Read"),
    )
    lines: list[tuple[str, ...]] = [
        ("--add", *rules),
        ("--list",),
        ("--list", "--topic", "orders", "--principal", "User:eve"),
        ("--remove", "--topic", "orders", "--allow-principal", "User:bob", "--operation", "Read", "--force"),
        ("--list", "--topic", "orders", "--resource-pattern-type", "match"),
    ]
    for arguments in lines:
        # Adding and removing twice is no error, so the second command prints the same.
        theirs = run_tool("kafka-acls", *server, *arguments)
        assert acls.main([*server, *arguments]) == 0
        output = written(capfd)
        assert (in_order(output.out), output.err) == (in_order(theirs.stdout), ""), arguments
    assert acls.main([*server, "--list", "--json"]) == 0
    printed = written(capfd).out
    described = manual()["kafka-acls --list"]
    assert [name for name in re.findall(r'"(\w+)":', printed) if f'"{name}"' not in described] == ["version"]
    assert '"resourceName": "orders", "patternType": "LITERAL", "principal": "User:eve"' in printed
    assert acls.main([*server, "--remove", "--topic", "orders", "--force", "--json"]) == 0
    assert '"removed": [{"resourceType": "TOPIC"' in written(capfd).out
