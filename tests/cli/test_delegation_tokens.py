"""kafka-delegation-tokens: its options, and its words beside Apache Kafka's on the same broker."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gralha.cli import delegation_tokens
from gralha.cli.delegation_tokens import _date, main, parse_options
from tests.apache.kafka import run_tool
from tests.cli.test_json import manual
from tests.sasl_cluster import PASSWORD, PLAIN_MODULE, USER, SaslCluster

OWNER = f"User:{USER}"
SERVER = ("--bootstrap-server", "localhost:1", "--command-config", "alice.properties")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--create", 'Missing required argument "[max-life-time-period]"'),
        ("--renew --hmac x", 'Missing required argument "[renew-time-period]"'),
        ("--expire --expiry-time-period 1", 'Missing required argument "[hmac]"'),
        ("--create --max-life-time-period 1 --hmac x", '"[create]" can\'t be used with option "[hmac]"'),
        (
            "--renew --hmac x --renew-time-period 1 --owner-principal User:a",
            '"[renew]" can\'t be used with option "[owner-principal]"',
        ),
        ("--describe --hmac x", '"[describe]" can\'t be used with option "[hmac]"'),
        ("--describe --create", "Command must include exactly one action: --create, --renew, --expire or"),
        ("--json", "Command must include exactly one action: --create, --renew, --expire or --describe"),
        ("--describe --owner-principal bob", "expected a string in format principalType:principalName but"),
        (
            "--create --max-life-time-period 1 --owner-principal User:a --owner-principal User:b",
            "A token has one owner: give --owner-principal only once",
        ),
    ],
)
def test_mistakes(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER, *arguments.split()]) == 1
    assert message in capsys.readouterr().err


def test_the_file_of_the_client_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SERVER[:2], "--describe"]) == 1
    assert 'Missing required argument "[command-config]"' in capsys.readouterr().err


def test_a_secret_that_is_none_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.properties"
    file.touch()
    words = ["--renew", "--hmac", "no base64!", "--renew-time-period", "-1"]
    assert main([*SERVER[:3], str(file), *words]) == 1
    captured = capsys.readouterr()
    assert "--hmac is not base64" in captured.err
    assert "no base64!" not in captured.err + captured.out


def test_periods_may_be_negative_and_principals_many() -> None:
    words = "--create --max-life-time-period -1 --renewer-principal User:a --renewer-principal User:b"
    options = parse_options([*SERVER, *words.split()])
    assert (options.max_life_time_period, options.renewer_principal) == (-1, ["User:a", "User:b"])


def test_a_time_after_the_end_of_calendars_is_a_number() -> None:
    assert _date(2**63 - 1) == str(2**63 - 1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[SaslCluster]:
    with SaslCluster(config={"delegation.token.secret.key": "the key"}) as running:
        yield running


@pytest.fixture(scope="module")
def connection(cluster: SaslCluster, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options of a client that logs in with a password, for both commands."""
    file = tmp_path_factory.mktemp("tokens") / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={PLAIN_MODULE} required username="{USER}" password="{PASSWORD}";\n'
    )
    return ["--bootstrap-server", cluster.bootstrap, "--command-config", str(file)]


def without_own(text: str) -> str:
    """The output without what differs between two tokens and two minutes."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d", "DATE", text)
    text = re.sub(r"[\w+/]{86}==", "HMAC", text)
    return re.sub(r"(?<=[ \n])[\w-]{22}(?=\s)", "ID", text).rstrip()


def test_the_words_are_those_of_apache_kafka(
    connection: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def both(*words: str, hmacs: tuple[str, str] | None = None) -> tuple[str, str]:
        """The output of Apache Kafka's command, and of ours. Each changes a token of its own."""
        theirs = [*connection, *words] + (["--hmac", hmacs[0]] if hmacs else [])
        ours = [*connection, *words] + (["--hmac", hmacs[1]] if hmacs else [])
        printed = run_tool("kafka-delegation-tokens", *theirs).stdout
        assert main(ours) == 0
        found = capsys.readouterr().out
        assert without_own(found) == without_own(printed)
        return printed, found

    renewers = ["--renewer-principal", "User:bob", "--renewer-principal", "User:carl"]
    created = both("--create", "--max-life-time-period", "-1", *renewers)
    first, second = (re.findall(r"[\w+/]{86}==", text)[0] for text in created)
    assert first != second
    for owners, count in ((["User:bob"], 2), (["User:nobody"], 0), (["User:nobody", OWNER], 2)):
        words = [word for one in owners for word in ("--owner-principal", one)]
        for shown in both("--describe", *words):
            assert f"Total number of tokens : {count}\n" in shown
            assert re.findall(r"[\w+/]{86}==", shown) == [first, second][:count]
    both("--renew", "--renew-time-period", "60000000", hmacs=(first, second))
    both("--expire", "--expiry-time-period", "600000", hmacs=(first, second))
    both("--expire", "--expiry-time-period", "-1", hmacs=(first, second))
    assert "Total number of tokens : 0\n" in both("--describe")[1]


def test_without_an_owner_all_tokens_are_shown(
    connection: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """As the help of Apache Kafka's command says. The command itself asks for the tokens of no owner."""
    assert main([*connection, "--create", "--max-life-time-period", "-1"]) == 0
    (secret,) = re.findall(r"[\w+/]{86}==", capsys.readouterr().out)
    assert main([*connection, "--describe"]) == 0
    assert secret in capsys.readouterr().out
    assert (
        "Total number of tokens : 0\n"
        in run_tool("kafka-delegation-tokens", *connection, "--describe").stdout
    )
    assert main([*connection, "--expire", "--hmac", secret, "--expiry-time-period", "-1"]) == 0


def test_the_json_is_that_of_the_manual(connection: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def document(*words: str) -> dict[str, Any]:
        assert main([*connection, "--json", *words]) == 0
        made: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert made.pop("version") == 1
        return made

    created = document("--create", "--max-life-time-period", "60000", "--renewer-principal", "User:bob")
    assert document("--describe") == created
    (token,) = created["tokens"]
    described = manual()["kafka-delegation-tokens --describe"]
    assert manual()["kafka-delegation-tokens --create"] == described
    fields = re.findall(r'"(\w+)"', described.partition("{")[2].partition("}")[0])
    assert [one for one in fields if one != "tokens"] == list(token)
    assert (token["owner"], token["requester"], token["renewers"]) == (OWNER, OWNER, ["User:bob"])
    assert token["maxTimestamp"] == token["issueTimestamp"] + 60000
    change = ["--hmac", token["hmac"], "--renew-time-period", "-1"]
    assert document("--renew", *change) == {"expiryTimestamp": token["maxTimestamp"]}
    change = ["--hmac", token["hmac"], "--expiry-time-period", "-1"]
    assert list(document("--expire", *change)) == ["expiryTimestamp"]
    assert document("--describe") == {"tokens": []}


def test_errors_are_one_line(connection: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--expire", "--hmac", "YWJj", "--expiry-time-period", "-1"]
    assert main([*connection, *words]) == 1
    assert capsys.readouterr().err == "There is no such delegation token\n"
    assert delegation_tokens.__doc__
