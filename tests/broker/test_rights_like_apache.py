"""The matrix of rights beside Apache Kafka: the same rules, the same requests, the same answers."""

import socket
from collections import Counter
from collections.abc import Iterator

import pytest

from gralha.protocol import apis
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from gralha.protocol.messages.find_coordinator import FindCoordinatorRequest
from gralha.protocol.messages.init_producer_id import InitProducerIdRequest
from gralha.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from gralha.protocol.primitives import Reader
from gralha.testing import GralhaCluster
from tests.apache.kafka import ApacheKafka
from tests.broker.handlers import group_messages
from tests.broker.handlers.door import frame
from tests.broker.rights_cases import CASES, GROUP, NEWEST, TOPIC, TRANSACTIONAL_ID, Case, Ids, error_codes
from tests.broker.rights_matrix import ALL, ALLOW, LITERAL, Rules, host_of, matrix, rule_sets
from tests.broker.transactions.story import until

CONFIG = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Until the first rules are there, which are for the address of the brokers and of the administrator.
    "allow.everyone.if.no.acl.found": "true",
    "group.initial.rebalance.delay.ms": "0",
    "max.connections.per.ip": "1000",
}
ADMIN = "127.0.0.1"
PATIENCE_S = 30
CASES_MIN = 2_000


class Client:
    """A client at an address of its own."""

    def __init__(self, bootstrap: str, host: str) -> None:
        name, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((name, int(port)), PATIENCE_S, (host, 0))

    def ask(self, request: Message, version: int = NEWEST) -> Message:
        api = apis.APIS[request.API_KEY]
        version = api.max_version if version == NEWEST else version
        self._socket.sendall(frame(request, version))
        size = int.from_bytes(self._read(4))
        reader = Reader(self._read(size), 4)
        if apis.response_header_version(api.key, version) == 1:
            reader.tagged_fields()
        return api.response.decode(reader, version)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            assert part, "the broker has closed the connection"
            data += part
        return data

    def close(self) -> None:
        self._socket.close()


class Side:
    """A cluster with the rules of the matrix, a topic and a group with an offset."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._clients: dict[int, Client] = {}
        self._add_rules()
        admin = Client(bootstrap, ADMIN)
        # The records of the requests are old, and must stay.
        kept = [CreatableTopicConfig("retention.ms", "-1")]
        topic = CreateTopicsRequest([CreatableTopic("a", 1, 1, [], kept)], 20_000)
        created = admin.ask(topic)
        assert set(error_codes(created)) == {0}, created
        self._make_coordinators(admin)
        found = admin.ask(MetadataRequest([MetadataRequestTopic(name="a")], False))
        assert isinstance(found, apis.APIS[3].response)
        self.ids = Ids(found.topics[0].topic_id)  # type: ignore[attr-defined]
        self._wait_for_verification(admin)
        admin.close()

    def _add_rules(self) -> None:
        everything = [
            AclCreation(kind, name, LITERAL, "User:ANONYMOUS", ADMIN, ALL, ALLOW)
            for kind, name in ((4, "kafka-cluster"), (TOPIC, "*"), (GROUP, "*"), (TRANSACTIONAL_ID, "*"))
        ]
        admin = Client(self.bootstrap, ADMIN)
        for creations in (
            everything,
            [rule.creation(host_of(n)) for n, rules in enumerate(rule_sets()) for rule in rules],
        ):
            response = admin.ask(CreateAclsRequest(creations))
            assert set(error_codes(response)) == {0}, response
        admin.close()

    def _make_coordinators(self, admin: Client) -> None:
        """Creates the topics of the coordinators, and a group with an offset."""
        requests: list[tuple[Message, int]] = [
            (FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]), 4) for kind in (0, 1)
        ]
        requests.append((InitProducerIdRequest(None, 1000), 4))
        for request, version in [*requests, (group_messages.offset_commit(9, bytes(16)), 9)]:
            until(lambda: set(error_codes(admin.ask(request, version))) == {0}, "no coordinator")  # noqa: B023

    def _wait_for_verification(self, admin: Client) -> None:
        """The coordinator has loaded, so it knows that there is no transaction."""
        case = next(one for one in CASES if one.name == "Produce in a transaction")
        until(
            lambda: (
                ErrorCode.NOT_ENOUGH_REPLICAS not in error_codes(admin.ask(case.make(self.ids), case.version))
            ),
            "no transaction is verified",
        )

    def answer(self, case: Case, number: int) -> tuple[list[int], object]:
        client = self._clients.get(number)
        if client is None:
            client = self._clients[number] = Client(self.bootstrap, host_of(number))
        response = client.ask(case.make(self.ids), case.version)
        return error_codes(response), case.seen(response)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


@pytest.fixture(scope="module")
def sides() -> Iterator[tuple[Side, Side]]:
    """Apache Kafka and Gralha."""
    with ApacheKafka(CONFIG) as apache, GralhaCluster(config=CONFIG) as gralha:
        pair = Side(apache.bootstrap), Side(gralha.bootstrap)
        yield pair
        for side in pair:
            side.close()


@pytest.mark.timeout(600)
def test_every_api_with_every_right(sides: tuple[Side, Side]) -> None:
    apache, gralha = sides
    differences: list[tuple[str, Rules, object, object]] = []
    answers: Counter[str] = Counter()
    count = 0
    for case, number, rules in matrix():
        expected, found = apache.answer(case, number), gralha.answer(case, number)
        count += 1
        answers["denied" if set(expected[0]) & {29, 30, 31, 53} else "allowed"] += 1
        if expected != found:
            differences.append((case.name, rules, expected, found))
    assert not differences, (len(differences), differences[:20])
    assert count >= CASES_MIN, count
    assert min(answers["denied"], answers["allowed"]) > count // 5, answers
