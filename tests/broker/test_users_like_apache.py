"""Users of SCRAM and logins: the same codes and words as Apache Kafka's, side by side."""

import socket
import time
from collections.abc import Iterator

import pytest

from gralha.client.cluster import Cluster
from gralha.protocol.apis import request_header_version, response_header_version
from gralha.protocol.message import Message
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from gralha.protocol.messages.header import RequestHeader, ResponseHeader
from gralha.protocol.messages.list_groups import ListGroupsRequest
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from gralha.protocol.primitives import Reader, Writer
from gralha.testing.process import free_ports
from tests.apache.kafka import ApacheKafka
from tests.sasl_cluster import PLAIN_MODULE, SaslCluster

SALTED = bytes(range(32))
Kind = SaslCluster | ApacheKafka


class Pair:
    """Apache Kafka and ours, with a listener for logins each."""

    def __init__(self, apache: ApacheKafka, apache_port: int, gralha: SaslCluster) -> None:
        self.clusters = Cluster(apache.bootstrap), Cluster(f"127.0.0.1:{gralha.ports[1]}")
        self.ports = apache_port, gralha.sasl_ports[1]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    (port,) = free_ports(1)
    apache = ApacheKafka()
    own = apache._node_config()
    users = f'{PLAIN_MODULE} required user_alice="secret";'
    apache.configure(
        {
            "listeners": f"{own['listeners']},SASL://127.0.0.1:{port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{apache.port},SASL://127.0.0.1:{port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl.plain.sasl.jaas.config": users,
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }
    )
    ours = {"listener.name.sasl.plain.sasl.jaas.config": users}
    with apache, SaslCluster(config=ours) as gralha:
        both = Pair(apache, port, gralha)
        yield both
        for cluster in both.clusters:
            cluster.close()


def upsertion(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(name, mechanism, iterations, b"salt", SALTED)


# Each case builds on those before it.
CHANGES = {
    "new users": ([], [upsertion("ana"), upsertion("eva", 2, 16384)]),
    "again": ([], [upsertion("ana", 1, 8192)]),
    "another mechanism": ([], [upsertion("ana", 2)]),
    "few iterations": ([], [upsertion("ana", 1, 4095), upsertion("ida")]),
    "many iterations": ([], [upsertion("ana", 2, 16385)]),
    "unknown mechanism": ([], [upsertion("ana", 3), upsertion("bob", 0)]),
    "no name": ([ScramCredentialDeletion("", 1)], []),
    "no name again": ([], [upsertion("")]),
    "unknown user": ([ScramCredentialDeletion("nobody", 1)], []),
    "not this mechanism": ([ScramCredentialDeletion("eva", 1)], []),
    "unknown mechanism of a user": ([ScramCredentialDeletion("eva", 9)], []),
    "twice": ([ScramCredentialDeletion("ana", 1), ScramCredentialDeletion("ana", 2)], []),
    "removed and set": ([ScramCredentialDeletion("ana", 1)], [upsertion("ana", 1)]),
    "set twice": ([], [upsertion("ana", 1), upsertion("ana", 2)]),
    "removed": ([ScramCredentialDeletion("ida", 1)], []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_have_the_same_results(pair: Pair, name: str) -> None:
    deletions, upsertions = CHANGES[name]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    apache, gralha = (
        sorted(
            (one.user, one.error_code, one.error_message)
            for one in cluster.send_to_controller(request, AlterUserScramCredentialsResponse).results
        )
        for cluster in pair.clusters
    )
    assert gralha == apache


@pytest.mark.parametrize("names", [["ana"], ["ana", "eva"], ["ida"], ["ana", "ana"], ["nobody", "eva"]])
def test_descriptions_are_the_same(pair: Pair, names: list[str]) -> None:
    apache, gralha = pair.clusters
    ours = described(gralha, names)
    deadline = time.monotonic() + 15
    # Apache Kafka answers a change before its broker has applied it.
    while (theirs := described(apache, names)) != ours and time.monotonic() < deadline:
        pass
    assert ours == theirs


def described(cluster: Cluster, names: list[str]) -> list[tuple[object, ...]]:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
    response = cluster.any_connection().send(request, DescribeUserScramCredentialsResponse)
    return sorted(
        (
            one.user,
            one.error_code,
            one.error_message,
            sorted((info.mechanism, info.iterations) for info in one.credential_infos),
        )
        for one in response.results
    )


# Logins: the requests of one connection, each with its version.
PLAIN = (SaslHandshakeRequest(mechanism="PLAIN"), 1)
LOGINS: dict[str, list[tuple[Message, int]]] = {
    "right": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2)],
    "wrong password": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 2)],
    "unknown user": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"\0nobody\0wrong"), 1)],
    "another identity": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"bob\0alice\0secret"), 0)],
    "no name": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"\0\0secret"), 2)],
    "no password": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"\0alice\0"), 2)],
    "two parts": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"alice\0secret"), 2)],
    "no message of SCRAM": [
        (SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1),
        (SaslAuthenticateRequest(auth_bytes=b"hello"), 2),
    ],
    "binding": [
        (SaslHandshakeRequest(mechanism="SCRAM-SHA-512"), 1),
        (SaslAuthenticateRequest(auth_bytes=b"p=tls-unique,,n=ana,r=abc"), 2),
    ],
    "another mechanism": [(SaslHandshakeRequest(mechanism="GSSAPI"), 1)],
    "no handshake": [(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2)],
    "another request": [(ListGroupsRequest(), 3)],
    "two handshakes": [PLAIN, PLAIN],
    "handshake after the login": [PLAIN, (SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2), PLAIN],
    "token after the login": [
        PLAIN,
        (SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2),
        (SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2),
    ],
}


@pytest.mark.parametrize("name", LOGINS)
def test_logins_have_the_same_answers(pair: Pair, name: str) -> None:
    apache, gralha = (_answers(port, LOGINS[name]) for port in pair.ports)
    assert gralha == apache


def _answers(port: int, requests: list[tuple[Message, int]]) -> list[object]:
    """The answer to each request. "closed" after the end of the connection."""
    found: list[object] = []
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        reader = connection.makefile("rb")
        for request, version in requests:
            connection.sendall(_frame(request, version))
            size = reader.read(4)
            if not size:
                return [*found, "closed"]
            found.append(_facts(request, version, reader.read(int.from_bytes(size))))
    return found


def _frame(request: Message, version: int) -> bytes:
    writer = Writer()
    writer.begin_frame()
    header = RequestHeader(request.API_KEY, version, 5, "test")
    header.encode(writer, request_header_version(request.API_KEY, version))
    request.encode(writer, version)
    writer.end_frame()
    return writer.to_bytes()


def _facts(request: Message, version: int, body: bytes) -> object:
    reader = Reader(body)
    ResponseHeader.decode(reader, response_header_version(request.API_KEY, version))
    if isinstance(request, SaslHandshakeRequest):
        handshake = SaslHandshakeResponse.decode(reader, version)
        return handshake.error_code, sorted(handshake.mechanisms)
    answer = SaslAuthenticateResponse.decode(reader, version)
    return answer.error_code, answer.error_message, answer.auth_bytes, answer.session_lifetime_ms
