"""ApiVersions promises what the table of handlers serves, in a form that every client understands."""

import pytest

from gralha.broker.handlers import APIS
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.primitives import Reader, Writer

CLIENT = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")


@pytest.mark.parametrize("version", range(5))
async def test_what_is_served_is_advertised(client, version):
    response = await client.ask(ApiVersionsRequest() if version < 3 else CLIENT, version)
    advertised = {one.api_key: (one.min_version, one.max_version) for one in response.api_keys}
    served = {key: (api.min_version, api.max_version) for key, api in APIS.items()}
    assert served[0] == (3, 13)
    served[0] = (0, 13)  # KAFKA-18659
    assert advertised == served


async def test_an_unknown_version_is_answered_in_version_0_with_the_known_ones(client):
    writer = Writer()
    writer.begin_frame()
    writer.write_int16(18)
    writer.write_int16(99)
    writer.write_int32(7)
    writer.write_nullable_string("a client from the future")
    writer.write_int64(-1)  # whatever its body may be
    writer.end_frame()
    response = ApiVersionsResponse.decode(Reader(await client.send(writer.to_bytes()), 8), 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(one.api_key, one.min_version, one.max_version) for one in response.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("apache-kafka-java", 0),
        ("a", 0),
        ("", ErrorCode.INVALID_REQUEST),
        ("-a", ErrorCode.INVALID_REQUEST),
        ("a.", ErrorCode.INVALID_REQUEST),
        ("two words", ErrorCode.INVALID_REQUEST),
        ("ção", ErrorCode.INVALID_REQUEST),
        ("a\n", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_the_name_of_the_software_must_be_a_name(client, name, code):
    request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    assert (await client.ask(request)).error_code == code
    request = ApiVersionsRequest(client_software_name="a", client_software_version=name)
    assert (await client.ask(request, 3)).error_code == code


async def test_features_are_those_of_the_cluster(broker, client):
    response = await client.ask(CLIENT)
    assert [(one.name, one.min_version, one.max_version) for one in response.supported_features] == [
        ("eligible.leader.replicas.version", 0, 1),
        ("group.version", 0, 1),
        ("kraft.version", 0, 1),
        ("metadata.version", 30, 30),
        ("transaction.version", 0, 2),
    ]
    assert response.finalized_features_epoch == broker.image.offset
    assert {one.name: one.max_version_level for one in response.finalized_features} == broker.image.features


async def test_features_with_level_0_are_kept_from_old_clients(client, monkeypatch):
    monkeypatch.setattr("gralha.broker.handlers.api_versions.SUPPORTED_FEATURES", {"a": (0, 1), "b": (1, 1)})
    assert [one.name for one in (await client.ask(CLIENT, 4)).supported_features] == [
        "a",
        "b",
        "kraft.version",
    ]
    assert [one.name for one in (await client.ask(CLIENT, 3)).supported_features] == ["b"]
