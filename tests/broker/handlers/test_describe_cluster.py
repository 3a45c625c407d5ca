import pytest

from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.describe_cluster import DescribeClusterRequest
from tests.broker.handlers.door import Client, make_broker


async def test_the_cluster(client):
    response = await client.ask(DescribeClusterRequest(), 0)
    assert (response.error_code, response.cluster_id, response.controller_id) == (0, "a-cluster", 1)
    assert [(one.broker_id, one.host, one.port, one.rack) for one in response.brokers] == [
        (1, "host1", 9092, None)
    ]
    assert response.cluster_authorized_operations == -(1 << 31)


async def test_authorized_operations_are_told_when_asked_for(client):
    response = await client.ask(DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert response.cluster_authorized_operations == 8096  # as Apache Kafka without an authorizer


async def test_fenced_brokers_are_shown_when_asked_for_and_never_as_controller(tmp_path):
    client = Client(make_broker(tmp_path, brokers=3, fenced=(2, 3)))
    response = await client.ask(DescribeClusterRequest())
    assert [one.broker_id for one in response.brokers] == [1]
    response = await client.ask(DescribeClusterRequest(include_fenced_brokers=True))
    assert {one.broker_id: one.is_fenced for one in response.brokers} == {1: False, 2: True, 3: True}
    assert response.controller_id == 1


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (7, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
async def test_this_is_a_broker(client, endpoint_type, code):
    response = await client.ask(DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (response.error_code, response.brokers) == (code, [])
