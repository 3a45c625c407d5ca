"""Requests about delegation tokens: connections that may not ask, envelopes, and the audit log.

`test_tokens_like_apache.py` compares all answers with Apache Kafka. Here is what that cannot see.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gralha.broker.broker import Broker
from gralha.broker.controller_channel import ControllerChannel
from gralha.broker.handlers import CONTROLLER_APIS
from gralha.broker.pipeline import Peer, RequestContext
from gralha.metadata.features import METADATA_VERSION_LEVEL
from gralha.metadata.image import METADATA_VERSION
from gralha.protocol import apis
from gralha.protocol.apis import ApiKey
from gralha.protocol.envelopes import open_response, principal_bytes, principal_of, sealed_request
from gralha.protocol.errors import ErrorCode, RequestTimedOutError, UnknownServerError
from gralha.protocol.message import Message
from gralha.protocol.messages.cluster_records import FeatureLevelRecord
from gralha.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from gralha.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from gralha.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from gralha.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from gralha.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.broker.handlers.door import NOW_MS, Client, make_broker

KEY = "the key of this cluster"
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
REQUESTS = (
    CreateDelegationTokenRequest(max_lifetime_ms=-1),
    RenewDelegationTokenRequest(b"secret", -1),
    ExpireDelegationTokenRequest(b"secret", -1),
    DescribeDelegationTokenRequest(None),
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = make_broker(
        tmp_path,
        listeners=(
            "PLAINTEXT://host1:9092,SASL://host1:9094,TLS://host1:9095,SECURE://host1:9096,"
            "CONTROLLER://host1:9093"
        ),
        listener_security_protocol_map=(
            "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,SECURE:SASL_SSL,CONTROLLER:SASL_PLAINTEXT"
        ),
        sasl_enabled_mechanisms="SCRAM-SHA-512",
        sasl_mechanism_controller_protocol="PLAIN",
        **{
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": (
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="n" password="x" user_n="x";'
            ),
        },
        delegation_token_secret_key=KEY,
    )
    broker.controller.commit([FeatureLevelRecord(METADATA_VERSION, METADATA_VERSION_LEVEL)])
    yield broker
    broker.logs.release()


def client(broker: Broker, listener: str = "SASL", principal: str = "User:alice") -> Client:
    return Client(broker, listener=listener, principal=principal)


async def ask_controller(broker: Broker, request: Message, peer: Peer) -> Any:
    answer = CONTROLLER_APIS[request.API_KEY].handle(
        broker, RequestContext(peer, request.MAX_VERSION, None), request
    )
    return answer if isinstance(answer, Message) else await answer  # type: ignore[misc]


def controller_peer(principal: str, listener: str = "CONTROLLER") -> Peer:
    return Peer("host", 1, listener, principal, CONTROLLER_APIS)


async def test_requests_are_allowed_where_a_client_has_proved_who_it_is(broker: Broker) -> None:
    secured = (("SASL", "User:alice"), ("SECURE", "User:alice"), ("TLS", "User:CN=alice"))
    for count, (listener, principal) in enumerate(secured, 1):
        made = await client(broker, listener, principal).ask(REQUESTS[0])
        assert (made.error_code, f"{made.principal_type}:{made.principal_name}") == (0, principal)
        # Without an authorizer everybody may see all tokens.
        assert len((await client(broker, listener, principal).ask(REQUESTS[3])).tokens) == count
    open_ones = (("PLAINTEXT", "User:ANONYMOUS"), ("TLS", "User:ANONYMOUS"), ("PLAINTEXT", "User:x"))
    for listener, principal in open_ones:
        for request in REQUESTS:
            answer = await client(broker, listener, principal).ask(request)
            assert answer.error_code == NOT_ALLOWED, (listener, request)


async def test_a_controller_listener_has_the_same_rule(broker: Broker) -> None:
    made = await ask_controller(broker, REQUESTS[0], controller_peer("User:node"))
    assert made.error_code == 0
    for request in REQUESTS[:3]:
        with_token = controller_peer("User:node")
        with_token.is_token_authenticated = True
        for peer in (controller_peer("User:node", "PLAINTEXT"), with_token):
            answer = await ask_controller(broker, request, peer)
            assert answer.error_code == NOT_ALLOWED


async def enveloped(broker: Broker, request: Message, *, has_token: bool) -> Any:
    """The answer to a request that another broker has forwarded on a listener without encryption."""
    sealed = EnvelopeRequest(
        sealed_request(request, request.MAX_VERSION, "test"),
        principal_bytes("User:alice", has_token),
        bytes([10, 0, 0, 1]),
    )
    answer = await ask_controller(broker, sealed, controller_peer("User:broker", "PLAINTEXT"))
    assert isinstance(answer, EnvelopeResponse)
    assert answer.error_code == 0
    assert answer.response_data is not None
    return open_response(answer.response_data, apis.APIS[request.API_KEY], request.MAX_VERSION)


async def test_an_envelope_says_whether_the_client_has_only_a_token(broker: Broker) -> None:
    made = await enveloped(broker, REQUESTS[0], has_token=False)
    assert (made.error_code, made.principal_name) == (0, "alice")
    for request in REQUESTS[:3]:
        refused = await enveloped(broker, request, has_token=True)
        assert refused.error_code == NOT_ALLOWED
    assert len(broker.image.delegation_tokens) == 1


async def test_a_broker_tells_the_controller_that_its_client_has_only_a_token() -> None:
    sent: list[EnvelopeRequest] = []

    class Controllers:
        async def ask(self, node_id: int, request: Message, **_options: object) -> Message:
            assert isinstance(request, EnvelopeRequest)
            sent.append(request)
            return EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    class Quorum:
        is_active = False
        leader_id = 2
        foreign_cluster = None

    channel = ControllerChannel(Quorum(), Controllers(), lambda request: request)
    for has_token in (False, True):
        peer = Peer("127.0.0.1", 1, "SASL", "User:alice", {})
        peer.is_token_authenticated = has_token

        async def never() -> Message:
            raise AssertionError

        with pytest.raises(UnknownServerError):
            await channel.forward(REQUESTS[0], RequestContext(peer, 3, None), never, timeout_ms=1000)
    told = [principal_of(one.request_principal or b"").token_authenticated for one in sent]
    assert told == [False, True]


async def test_the_audit_log_has_each_change_and_no_secret(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    alice = client(broker)
    with caplog.at_level("INFO"):
        made = await alice.ask(REQUESTS[0])
        renewed = await alice.ask(RenewDelegationTokenRequest(made.hmac, 5000))
        expired = await alice.ask(ExpireDelegationTokenRequest(made.hmac, -1))
        assert (await alice.ask(RenewDelegationTokenRequest(made.hmac, 5000))).error_code
    lines = [json.loads(one.getMessage()) for one in caplog.records if one.name == "gralha.audit"]
    assert [(one["event"], one["token_id"], one["owner"], one["principal"]) for one in lines] == [
        (f"delegation token {what}", made.token_id, "User:alice", "User:alice")
        for what in ("created", "renewed", "expired")
    ]
    assert [one.get("expires_ms") for one in lines] == [None, NOW_MS + 5000, NOW_MS]
    assert (renewed.expiry_timestamp_ms, expired.expiry_timestamp_ms) == (NOW_MS + 5000, NOW_MS)
    for secret in (KEY, base64.b64encode(made.hmac).decode(), made.hmac.hex()):
        assert secret not in caplog.text


async def test_an_owner_has_a_type(broker: Broker) -> None:
    for request in (
        CreateDelegationTokenRequest(None, "alice"),
        CreateDelegationTokenRequest(None, "bob"),
    ):
        answer = await client(broker).ask(request)
        assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert (await client(broker).ask(CreateDelegationTokenRequest(None, ""))).error_code == 0
    assert (await client(broker).ask(CreateDelegationTokenRequest(None, None))).error_code == 0


async def test_a_failure_on_the_way_to_the_controller_names_nobody(broker: Broker) -> None:
    broker.controller.failure = RequestTimedOutError("too late")  # type: ignore[attr-defined]
    for request in REQUESTS[:3]:
        answer = await client(broker).ask(request)
        assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
        if request.API_KEY == ApiKey.CREATE_DELEGATION_TOKEN:
            assert (answer.principal_name, answer.max_timestamp_ms) == ("ANONYMOUS", -1)
