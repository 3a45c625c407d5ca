"""Commands that log in: users of SCRAM, and every command's --command-config."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from gralha.cli import configs, topics
from tests.sasl_cluster import MECHANISMS, PASSWORD, PLAIN_MODULE, SCRAM_MODULE, USER, SaslCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[SaslCluster]:
    with SaslCluster() as running:
        yield running


def client_file(folder: Path, mechanism: str, user: str = USER, password: str = PASSWORD) -> str:
    """A properties file as for Java's clients."""
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    file = folder / f"{mechanism}-{user}.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={module} required username="{user}" password="{password}";\n'
    )
    return str(file)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_command_logs_in(
    cluster: SaslCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], mechanism: str
) -> None:
    connection = ["--bootstrap-server", cluster.bootstrap, "--command-config"]
    topic = f"of.{mechanism}"
    arguments = [*connection, client_file(tmp_path, mechanism), "--create", "--topic", topic]
    assert topics.main(arguments) == 0
    assert f"Created topic {topic}." in capsys.readouterr().out


def test_a_command_without_a_login_says_what_is_missing(
    cluster: SaslCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert topics.main(["--bootstrap-server", cluster.bootstrap, "--list"]) == 1
    assert "closed the connection. Check that it is a PLAINTEXT listener" in capsys.readouterr().err
    wrong = client_file(tmp_path, "SCRAM-SHA-256", password="wrong")
    assert topics.main(["--bootstrap-server", cluster.bootstrap, "--command-config", wrong, "--list"]) == 1
    error = capsys.readouterr().err
    assert (
        "does not accept the login with SCRAM-SHA-256: Authentication failed during authentication" in error
    )
    assert "wrong" not in error


def test_users_are_added_described_changed_and_removed(
    cluster: SaslCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = ["--bootstrap-server", cluster.bootstrap, "--command-config"]
    admin = client_file(tmp_path, "PLAIN")
    users = [*connection, admin, "--entity-type", "users"]

    def change(*arguments: str) -> str:
        assert configs.main([*users, "--entity-name", "bob", "--alter", *arguments]) == 0
        return capsys.readouterr().out

    def can_log_in(mechanism: str, password: str) -> bool:
        file = client_file(tmp_path, mechanism, "bob", password)
        result = topics.main([*connection, file, "--list"])
        capsys.readouterr()
        return result == 0

    added = change("--add-config", "SCRAM-SHA-512=[iterations=8192,password=first pass]")
    assert added == "Completed updating config for user bob.\n"
    assert can_log_in("SCRAM-SHA-512", "first pass")
    assert not can_log_in("SCRAM-SHA-256", "first pass")
    change("--add-config", "SCRAM-SHA-512=[password=second]")
    assert not can_log_in("SCRAM-SHA-512", "first pass")
    assert can_log_in("SCRAM-SHA-512", "second")

    assert configs.main([*users, "--describe", "--entity-name", "bob"]) == 0
    assert capsys.readouterr().out == (
        "SCRAM credential configs for user-principal 'bob' are SCRAM-SHA-512=iterations=4096\n"
    )
    assert configs.main([*users, "--describe", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)["users"]
    assert [one["user"] for one in described] == ["alice", "bob", "broker"]

    change("--delete-config", "SCRAM-SHA-512")
    assert not can_log_in("SCRAM-SHA-512", "second")
    assert configs.main([*users, "--describe", "--entity-name", "bob"]) == 0
    assert capsys.readouterr().err == "The user 'bob' has no SCRAM credentials.\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--delete-config", "SCRAM-SHA-256"], "Attempt to delete a user credential that does not exist"),
        (["--add-config", "SCRAM-SHA-256=[iterations=4095,password=hidden]"], "less than the minimum 4096"),
        (["--add-config", "SCRAM-SHA-256=[iterations=16385,password=hidden]"], "Too many iterations"),
        (["--add-config", "SCRAM-SHA-256=[hidden]"], "Invalid credential property SCRAM-SHA-256=..."),
        (["--add-config", "SCRAM-SHA-1=[password=hidden]"], "Unexpected config names: SCRAM-SHA-1"),
        (
            ["--add-config", "producer_byte_rate=1,SCRAM-SHA-256=[password=hidden]"],
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users'",
        ),
    ],
)
def test_mistakes_show_no_password(
    cluster: SaslCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    error: str,
) -> None:
    connection = ["--bootstrap-server", cluster.bootstrap, "--command-config", client_file(tmp_path, "PLAIN")]
    assert configs.main([*connection, "--user", "nobody", "--alter", *arguments]) == 1
    told = capsys.readouterr().err
    assert error in told
    assert "hidden]" not in told.replace("[hidden]", "")


def test_a_command_logs_in_with_a_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    public = {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "one"}
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [public]}))
    token, client = tmp_path / "token", tmp_path / "client.properties"
    client.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.oauthbearer.token.endpoint.url={token.as_uri()}\n"
    )
    prefix = "listener.name.sasl.oauthbearer.sasl.oauthbearer"
    config = {
        "listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
        f"{prefix}.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.expected.audience": "kafka",
    }

    def list_topics(cluster: SaslCluster, **claims: object) -> tuple[int, str]:
        values = {"sub": "ana", "aud": "kafka", "exp": time.time() + 600, **claims}
        token.write_text(jwt.encode(values, key, algorithm="ES256", headers={"kid": "one"}))
        arguments = ["--bootstrap-server", cluster.bootstrap, "--command-config", str(client), "--list"]
        return topics.main(arguments), capsys.readouterr().err

    with SaslCluster(config=config) as cluster:
        assert list_topics(cluster) == (0, "")
        for wrong in ({"aud": "others"}, {"exp": time.time() - 600}):
            result, error = list_topics(cluster, **wrong)
            assert result == 1
            assert 'login with OAUTHBEARER: {"status":"invalid_token"}' in error
