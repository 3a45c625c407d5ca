import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gralha.client.addresses import Address
from gralha.client.connection import Connection, open_socket
from gralha.client.errors import (
    ConnectionFailedError,
    RequestTimeoutError,
    UnansweredError,
    UnsupportedApiError,
)
from gralha.client.security import ClientSecurity
from gralha.protocol.apis import ApiKey
from gralha.protocol.errors import ErrorCode
from gralha.protocol.message import Message
from gralha.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from gralha.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from gralha.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.client.fake_broker import FakeBroker, Handler, api_keys, frame_of


def connect(broker: FakeBroker, timeout_ms: int = 5000) -> Connection:
    return Connection.open(Address("127.0.0.1", broker.port), request_timeout_ms=timeout_ms)


@contextmanager
def server_that_says(answer: bytes) -> Iterator[Address]:
    """Not a broker: answers with some bytes, then closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Address("127.0.0.1", listener.getsockname()[1])
        thread.join(5)


def test_a_request_goes_out_in_the_highest_version_that_both_know() -> None:
    handlers: dict[int, Handler] = {
        ApiKey.METADATA: lambda request, version: MetadataResponse(cluster_id=f"v{version}")
    }
    versions: dict[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 4), ApiKey.METADATA: (0, 7)}
    with FakeBroker(handlers, versions) as broker, connect(broker) as connection:
        assert connection.send(MetadataRequest(topics=[]), MetadataResponse).cluster_id == "v7"
        assert connection.serves(ApiKey.METADATA)
        assert not connection.serves(ApiKey.FETCH)


def test_a_newer_broker_gets_our_highest_version() -> None:
    handlers: dict[int, Handler] = {
        ApiKey.METADATA: lambda request, version: MetadataResponse(controller_id=version)
    }
    versions: dict[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 9), ApiKey.METADATA: (5, 99)}
    with FakeBroker(handlers, versions) as broker, connect(broker) as connection:
        response = connection.send(MetadataRequest(topics=[]), MetadataResponse)
        assert response.controller_id == MetadataRequest.MAX_VERSION


def test_an_old_broker_that_refuses_our_api_versions_is_asked_in_its_own_version() -> None:
    versions: dict[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 1), ApiKey.METADATA: (0, 3)}

    def answer(request: Message, version: int) -> Message | bytes:
        if version <= 1:
            return ApiVersionsResponse(api_keys=api_keys(versions))
        refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=api_keys(versions))
        return frame_of(refusal, ApiKey.API_VERSIONS, 0, correlation_id=1)

    with FakeBroker({ApiKey.API_VERSIONS: answer}) as broker, connect(broker) as connection:
        assert [version for _, version in broker.requests] == [ApiVersionsRequest.MAX_VERSION, 1]
        assert connection.versions[ApiKey.METADATA] == (0, 3)


def test_an_api_that_the_broker_lacks_is_named() -> None:
    with FakeBroker(versions={ApiKey.API_VERSIONS: (0, 4)}) as broker, connect(broker) as connection:
        with pytest.raises(UnsupportedApiError, match="does not support CREATE_TOPICS"):
            connection.send(CreateTopicsRequest(), CreateTopicsResponse)
        assert not connection.closed


def test_versions_without_overlap_are_named() -> None:
    versions: dict[int, tuple[int, int]] = {ApiKey.API_VERSIONS: (0, 4), ApiKey.CREATE_TOPICS: (0, 1)}
    with (
        FakeBroker(versions=versions) as broker,
        connect(broker) as connection,
        pytest.raises(UnsupportedApiError, match="versions 0 to 1, but this client in versions 2 to 7"),
    ):
        connection.send(CreateTopicsRequest(), CreateTopicsResponse)


def test_a_broker_that_hangs_up_closes_the_connection_for_good() -> None:
    with (
        FakeBroker({ApiKey.METADATA: lambda request, version: None}) as broker,
        connect(broker) as connection,
    ):
        with pytest.raises(UnansweredError, match="closed the connection"):
            connection.send(MetadataRequest(topics=[]), MetadataResponse)
        assert connection.closed


def test_a_silent_broker_runs_into_the_timeout() -> None:
    with FakeBroker({ApiKey.METADATA: lambda request, version: b""}) as broker, connect(broker) as connection:
        with pytest.raises(RequestTimeoutError, match="did not answer within 50 ms"):
            connection.send(MetadataRequest(topics=[]), MetadataResponse, timeout_ms=50)
        assert connection.closed


def test_requests_may_be_begun_before_others_are_answered() -> None:
    def answer(request: Message, _version: int) -> Message:
        assert isinstance(request, MetadataRequest)
        assert request.topics is not None
        return MetadataResponse(controller_id=len(request.topics))

    handlers: dict[int, Handler] = {ApiKey.METADATA: answer}
    with FakeBroker(handlers) as broker, connect(broker) as connection:
        begun = [
            connection.begin(MetadataRequest(topics=[MetadataRequestTopic(name="t")] * count))
            for count in range(4)
        ]
        answers = [connection.complete(each, MetadataResponse).controller_id for each in begun]
        assert answers == [0, 1, 2, 3]


def test_an_answer_of_megabytes_arrives_whole() -> None:
    names = [f"{number:0200}" for number in range(10_000)]
    answer = MetadataResponse(topics=[MetadataResponseTopic(name=name) for name in names])
    handlers: dict[int, Handler] = {ApiKey.METADATA: lambda request, version: answer}
    with FakeBroker(handlers) as broker, connect(broker) as connection:
        response = connection.send(MetadataRequest(topics=[]), MetadataResponse)
        assert [topic.name for topic in response.topics] == names


def test_a_broker_that_stops_within_megabytes_runs_into_the_timeout() -> None:
    half = (1 << 22).to_bytes(4, "big") + bytes(1 << 21)
    with (
        FakeBroker({ApiKey.METADATA: lambda request, version: half}) as broker,
        connect(broker) as connection,
    ):
        with pytest.raises(RequestTimeoutError, match="did not answer within 50 ms"):
            connection.send(MetadataRequest(topics=[]), MetadataResponse, timeout_ms=50)
        assert connection.closed


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x50", b"\0\0\0\2ab", b"\xff" * 8],
)
def test_whatever_is_not_kafka_is_called_so(answer: bytes) -> None:
    with (
        server_that_says(answer) as address,
        pytest.raises(ConnectionFailedError, match="does not use Kafka"),
    ):
        Connection.open(address)


def test_a_malformed_answer_is_an_error_and_not_a_crash() -> None:
    def garbage(request: Message, version: int) -> bytes:
        return b"\0\0\0\x0a" + b"\0\0\0\2" + b"\xff" * 6

    with FakeBroker({ApiKey.METADATA: garbage}) as broker, connect(broker) as connection:
        with pytest.raises(UnansweredError, match="METADATA version 13 is malformed"):
            connection.send(MetadataRequest(topics=[]), MetadataResponse)
        assert connection.closed


def test_an_answer_to_another_request_is_refused() -> None:
    def stale(request: Message, version: int) -> bytes:
        return frame_of(MetadataResponse(), ApiKey.METADATA, version, correlation_id=77)

    with (
        FakeBroker({ApiKey.METADATA: stale}) as broker,
        connect(broker) as connection,
        pytest.raises(UnansweredError, match="correlation id 77, not 2"),
    ):
        connection.send(MetadataRequest(topics=[]), MetadataResponse)


def test_a_refused_connection_says_how_to_start_a_broker() -> None:
    with FakeBroker() as broker:
        pass
    with pytest.raises(ConnectionFailedError, match=f"No broker listens on {broker.address}.*gralha up"):
        connect(broker)


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> socket.socket:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", fail)
    with pytest.raises(ConnectionFailedError, match="'kafka-nowhere' is not known"):
        Connection.open(Address("kafka-nowhere", 9092))


# A TLS 1.2 record with the alert `handshake_failure`: an error, but an answer in TLS.
TLS_ALERT = bytes([21, 3, 3, 0, 2, 2, 40])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (TLS_ALERT, "refused the TLS handshake"),
        (b"", "does not use TLS. Check the port and security.protocol"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not use TLS"),
        (bytes(20), "does not use TLS"),
    ],
)
def test_tls_is_told_from_other_answers(answer: bytes, reason: str) -> None:
    security = ClientSecurity("SSL", (("enable.ssl.certificate.verification", "false"),))
    with server_that_says(answer) as address, pytest.raises(ConnectionFailedError, match=reason):
        open_socket(address, 5000, security)
