"""An authorizer in a cluster of three: ACLs reach all nodes, and forwarded requests are decided.

All clients and nodes are the same principal here, a super user. The rights of other clients in envelopes are
in `tests/broker/handlers/test_rights.py`.
"""

from collections.abc import Iterator

import pytest
from tests.broker.rights_cases import TOPIC, error_codes
from tests.broker.rights_matrix import ALLOW, LITERAL, READ
from tests.broker.test_rights_like_apache import ADMIN, CONFIG, Client
from tests.broker.transactions.story import until

from gralha.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from gralha.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from gralha.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from gralha.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from gralha.testing import GralhaCluster

EVERY = (1, None, 1, None, None, 1, 1)


@pytest.fixture(scope="module")
def clients() -> Iterator[list[Client]]:
    with GralhaCluster(brokers=3, config={**CONFIG, "super.users": "User:ANONYMOUS"}) as cluster:
        made = [Client(f"127.0.0.1:{port}", ADMIN) for port in cluster.ports.values()]
        yield made
        for client in made:
            client.close()


def names(client: Client) -> list[str]:
    response = client.ask(DescribeAclsRequest(*EVERY))
    assert isinstance(response, DescribeAclsResponse)
    return sorted(resource.resource_name for resource in response.resources)


def test_every_broker_takes_and_shows_acls_and_creates_topics(clients: list[Client]) -> None:
    wanted = []
    for number, client in enumerate(clients):
        creation = AclCreation(TOPIC, f"t{number}", LITERAL, "User:bob", "*", READ, ALLOW)
        assert error_codes(client.ask(CreateAclsRequest([creation]))) == [0]
        created = client.ask(CreateTopicsRequest([CreatableTopic(f"t{number}", 1, 3)], 20_000))
        assert set(error_codes(created)) == {0}, created
        wanted.append(f"t{number}")
        for other in clients:
            until(lambda other=other: names(other) == wanted, f"{wanted} are not everywhere")  # type: ignore[misc]
    assert set(error_codes(clients[1].ask(DeleteAclsRequest([DeleteAclsFilter(*EVERY)])))) == {0}
    for other in clients:
        until(lambda other=other: names(other) == [], "removed ACLs are still there")  # type: ignore[misc]
