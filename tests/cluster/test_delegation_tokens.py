"""Delegation tokens in real processes: on every broker, after failures and restarts, until they expire."""

import base64
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster.chaos import active_controller
from tests.sasl_cluster import MECHANISMS, PASSWORD, PLAIN_MODULE, SCRAM_MODULE, USER, SaslCluster

from gralha.cli.metadata_file import read_metadata
from gralha.client.admin import Admin
from gralha.client.cluster import Cluster
from gralha.client.delegation_token_calls import ClientToken
from gralha.client.errors import ClientError, LoginFailedError
from gralha.client.security import ClientSecurity
from gralha.metadata.delegation_tokens import TokenKey
from gralha.protocol.errors import KafkaError

KEY = "the key of this cluster"
CONFIG = {
    "delegation.token.secret.key": KEY,
    "delegation.token.expiry.check.interval.ms": "200",
    # Each record makes a snapshot.
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "super.users": "User:ANONYMOUS;User:broker;User:node",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}
PATIENCE_S = 60.0
pytestmark = pytest.mark.timeout(240)


def until(check: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def with_login(bootstrap: str, mechanism: str, jaas: str) -> Admin:
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{jaas};",
    }
    return Admin(Cluster(bootstrap, security=ClientSecurity.from_kafka(properties)))


def of_user(bootstrap: str) -> Admin:
    return with_login(bootstrap, "PLAIN", f'{PLAIN_MODULE} required username="{USER}" password="{PASSWORD}"')


def of_token(bootstrap: str, token: ClientToken, mechanism: str = MECHANISMS[2]) -> Admin:
    password = base64.b64encode(token.hmac).decode()
    return with_login(
        bootstrap,
        mechanism,
        f'{SCRAM_MODULE} required username="{token.id}" password="{password}" tokenauth=true',
    )


def logs_in(bootstrap: str, token: ClientToken, mechanism: str = MECHANISMS[2]) -> bool:
    """Returns True if the token logs in on a broker, and the login is that of its owner."""
    admin = of_token(bootstrap, token, mechanism)
    try:
        admin.cluster.any_connection()
    except LoginFailedError:
        return False
    finally:
        admin.close()
    return True


def addresses(cluster: SaslCluster) -> list[str]:
    return [f"127.0.0.1:{port}" for port in cluster.sasl_ports.values()]


@pytest.fixture
def three() -> Iterator[SaslCluster]:
    with SaslCluster(3, CONFIG) as running:
        yield running


def test_a_token_survives_controllers_and_restarts(three: SaslCluster) -> None:
    user = of_user(three.bootstrap)
    token = user.create_delegation_token(["User:bob"], max_lifetime_ms=600_000)
    assert token.hmac == TokenKey(KEY).secret(token.id)
    for address in addresses(three):
        for mechanism in MECHANISMS[1:]:
            until(lambda: logs_in(address, token, mechanism), f"{address} does not know the token")  # noqa: B023
        # Each broker forwards to the controller.
        admin = of_user(address)
        assert admin.renew_delegation_token(token.hmac) > token.issue_timestamp_ms
        admin.close()

    controller = active_controller(three)
    three.kill(controller)
    left = [
        address for node, address in zip(three.node_ids, addresses(three), strict=True) if node != controller
    ]
    for address in left:
        until(lambda: logs_in(address, token), "the token is lost")  # noqa: B023
    second = of_user(left[0])
    other = second.create_delegation_token()
    assert second.renew_delegation_token(token.hmac) > token.issue_timestamp_ms
    second.close()

    three.stop()
    snapshots = [
        path
        for node in three.node_ids
        for path in three.data_folder(node).glob("__cluster_metadata-0/*[1-9]-*.checkpoint")
    ]
    assert any(token.id in read_metadata(path).image.delegation_tokens for path in snapshots)
    three.start()
    for address in addresses(three):
        until(lambda: logs_in(address, token), "the token is lost")  # noqa: B023
        until(lambda: logs_in(address, other), "the second token is lost")  # noqa: B023
    _check_secrets(three, [token, other])
    user.close()


def _check_secrets(cluster: SaslCluster, tokens: list[ClientToken]) -> None:
    """No file has a secret of a token, and none but the settings has the key."""
    files = [path for path in Path(cluster.folder).rglob("*") if path.is_file()]
    assert any(path.name == "server.log" and b"delegation token" in path.read_bytes() for path in files)
    for path in files:
        data = path.read_bytes()
        if not path.name.endswith(".properties"):
            assert KEY.encode() not in data, path
        for token in tokens:
            assert token.hmac not in data, path
            assert base64.b64encode(token.hmac) not in data, path
            assert token.hmac.hex().encode() not in data, path


@pytest.fixture(scope="module")
def one() -> Iterator[SaslCluster]:
    with SaslCluster(1, CONFIG) as running:
        yield running


def test_the_controller_removes_an_expired_token(one: SaslCluster) -> None:
    user = of_user(one.bootstrap)
    kept = user.create_delegation_token()
    short = user.create_delegation_token(max_lifetime_ms=1)
    until(lambda: logs_in(one.bootstrap, kept), "the broker does not know the token")
    assert not logs_in(one.bootstrap, short)
    until(
        lambda: [token.id for token in user.describe_delegation_tokens()] == [kept.id],
        "the expired token is still there",
    )
    assert user.expire_delegation_token(kept.hmac) >= kept.issue_timestamp_ms
    assert user.describe_delegation_tokens() == []
    assert not logs_in(one.bootstrap, kept)
    user.close()


def test_a_session_ends_with_its_token_and_goes_on_with_a_renewed_one(one: SaslCluster) -> None:
    """Our client logs in again before the end of its session. After a renewal the next session is longer."""
    user = of_user(one.bootstrap)
    ending, renewed = (user.create_delegation_token() for _ in range(2))
    ends_ms = [user.expire_delegation_token(one.hmac, 3000) for one in (ending, renewed)]
    until(lambda: logs_in(one.bootstrap, renewed), "the broker does not know the token")
    first, second = of_token(one.bootstrap, ending), of_token(one.bootstrap, renewed)
    assert first.describe_cluster().broker_ids == second.describe_cluster().broker_ids == [1]
    assert user.renew_delegation_token(renewed.hmac) > max(ends_ms)

    def has_ended() -> bool:
        assert second.describe_cluster().broker_ids == [1]
        try:
            first.cluster.any_connection()
            first.describe_cluster()
        except (ClientError, KafkaError):
            return True
        return False

    until(has_ended, "the session of an expired token does not end")
    until(lambda: not logs_in(one.bootstrap, ending), "an expired token logs in")
    for admin in (user, first, second):
        admin.close()
