"""kafka-configs for quotas: ours beside Apache's, on Apache Kafka's broker and on ours."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gralha.cli import configs
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka, run_tool
from tests.cli.commands import written


@pytest.fixture(scope="module", params=["apache", "gralha"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    kind: type[ApacheKafka] | type[GralhaCluster] = (
        ApacheKafka if request.param == "apache" else GralhaCluster
    )
    with kind() as cluster:
        yield cluster.bootstrap


# Alterations, each done by one tool and undone by the other.
USER = ("--entity-type", "users", "--entity-name", "alice")
BOTH = ("--entity-type", "clients", "--entity-name", "app", "--entity-type", "users", "--entity-default")
DEFAULTS = ("--entity-type", "clients", "--entity-default")
ADDRESS = ("--entity-type", "ips", "--entity-name", "10.0.0.1")


def ours(capfd: pytest.CaptureFixture[str], address: str, *arguments: str) -> tuple[int, list[str], str]:
    written(capfd)
    code = configs.main(["--bootstrap-server", address, *arguments])
    output = written(capfd)
    return code, in_order(output.out), output.err


def theirs(address: str, *arguments: str) -> tuple[int, list[str], str]:
    done = run_tool("kafka-configs", "--bootstrap-server", address, *arguments, check=False)
    return done.returncode, in_order(done.stdout), done.stderr


def in_order(output: str) -> list[str]:
    """Lines, and the quotas in them, in order: Kafka prints them in the order of hash tables."""
    lines = []
    for line in output.splitlines():
        head, separator, quotas = line.partition(" are ")
        lines.append(head + separator + ", ".join(sorted(quotas.split(", "))))
    return sorted(lines)


CHANGES = (
    (USER, "producer_byte_rate=10485760,request_percentage=12.5"),
    (BOTH, "consumer_byte_rate=1024"),
    (DEFAULTS, "controller_mutation_rate=0.0005"),
    (ADDRESS, "connection_creation_rate=50"),
)
QUESTIONS = (
    ("--entity-type", "clients"),
    ("--entity-type", "clients", "--entity-type", "users"),
    ("--client-defaults",),
    ("--entity-type", "ips"),
    ("--ip", "10.0.0.1"),
    ("--entity-type", "clients", "--entity-name", "nobody"),
)


def test_the_same_quotas_with_both_tools(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    for number, (entity, quotas) in enumerate(CHANGES):
        arguments = ("--alter", *entity, "--add-config", quotas)
        done = ours(capfd, address, *arguments) if number % 2 else theirs(address, *arguments)
        assert done[0] == 0, done
        # The other tool says the same when there is nothing to change.
        again = theirs(address, *arguments) if number % 2 else ours(capfd, address, *arguments)
        assert (again[:2], done[2]) == (done[:2], "")
    said = {question: ours(capfd, address, "--describe", *question) for question in QUESTIONS}
    assert said[QUESTIONS[2]][1] == [
        "Quota configs for the default client-id are controller_mutation_rate=5.0E-4"
    ]
    for question in QUESTIONS:
        assert said[question] == theirs(address, "--describe", *question)
    assert ours(capfd, address, "--describe", *USER)[1][0] == (
        "Quota configs for user-principal 'alice' are producer_byte_rate=1.048576E7, request_percentage=12.5"
    )
    for number, (entity, quotas) in enumerate(CHANGES):
        names = ",".join(one.partition("=")[0] for one in quotas.split(","))
        arguments = ("--alter", *entity, "--delete-config", names)
        done = theirs(address, *arguments) if number % 2 else ours(capfd, address, *arguments)
        assert done[0] == 0, done
        assert ours(capfd, address, "--describe", *entity)[1] == []


FAILURES = (
    ("--alter", *USER, "--add-config", "rate=1"),
    ("--alter", *USER, "--add-config", "producer_byte_rate=much"),
    ("--alter", *USER, "--add-config", "producer_byte_rate=0"),
    ("--alter", *USER, "--delete-config", "producer_byte_rate"),
    ("--alter", *BOTH, "--delete-config", "rate"),
    ("--alter", *ADDRESS, "--add-config", "producer_byte_rate=1"),
    (
        "--alter",
        "--entity-type",
        "ips",
        "--entity-name",
        "no address",
        "--add-config",
        "connection_creation_rate=1",
    ),
    ("--alter", "--entity-type", "users", "--add-config", "producer_byte_rate=1"),
    (
        "--alter",
        "--entity-type",
        "users",
        "--entity-type",
        "clients",
        "--entity-name",
        "a",
        "--add-config",
        "x=1",
    ),
    (
        "--alter",
        "--entity-type",
        "users",
        "--entity-type",
        "ips",
        "--entity-name",
        "a",
        "--add-config",
        "x=1",
    ),
    ("--describe", "--entity-type", "users", "--entity-name", "a", "--entity-name", "b"),
)


def test_the_same_failures(address: str, capfd: pytest.CaptureFixture[str]) -> None:
    differences = []
    for arguments in FAILURES:
        code, _, message = ours(capfd, address, *arguments)
        said = theirs(address, *arguments)
        # Kafka shows collections of Scala.
        heard = re.sub(r"(?:Set|ListBuffer|ArrayBuffer)\((.*?)\)", r"\1", "\n".join([*said[1], said[2]]))
        # Ours names the command line first if the broker has refused something.
        words = message.strip().rpartition("' : ")[2]
        if (code, said[0]) != (1, 1) or words not in heard:
            differences.append((arguments, code, message, said[0], heard[:600]))
    assert differences == []


def test_quotas_as_json(address: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "quotas.properties"
    file.write_text("consumer_byte_rate=5\n")
    ours(capfd, address, "--alter", *BOTH, "--add-config-file", str(file))
    question = ("--describe", "--entity-type", "users", "--entity-type", "clients", "--json")
    expected = (
        '{"version": 1, "quotas": [{"entity": [{"entityType": "user", "entityName": null}, '
        '{"entityType": "client-id", "entityName": "app"}], "values": {"consumer_byte_rate": 5.0}}]}'
    )
    assert ours(capfd, address, *question)[1] == [expected]
