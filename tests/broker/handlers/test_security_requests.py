"""Requests of security through the pipeline of a broker."""

import pytest

from gralha.broker.broker import Broker
from gralha.protocol.errors import ErrorCode
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest
from gralha.security.sasl.scram import new_credential, salted_password
from tests.broker.handlers.door import Client


async def test_a_login_on_a_plaintext_listener_is_refused_with_advice(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="gralha.broker"):
        for _ in range(2):
            answer = await client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    lines = [one for one in caplog.records if "wants to log in with SASL. The listener" in one.getMessage()]
    assert [one.levelname for one in lines] == ["WARNING", "INFO"]
    answer = await client.ask(SaslAuthenticateRequest(auth_bytes=b"\0a\0b"), 2)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"


async def test_a_salted_password_becomes_keys(broker: Broker, client: Client) -> None:
    salted = salted_password("sha512", "secret", b"salt", 8192)
    request = AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion("nobody", 1)],
        upsertions=[
            ScramCredentialUpsertion("alice", 2, 8192, b"salt", salted),
            ScramCredentialUpsertion("bob", 9, 8192, b"salt", salted),
        ],
    )
    answer = await client.ask(request, 0)
    assert {one.user: one.error_code for one in answer.results} == {
        "nobody": ErrorCode.RESOURCE_NOT_FOUND,
        "alice": 0,
        "bob": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    }
    stored = broker.image.scram["alice", 2]
    assert tuple(stored) == tuple(new_credential("SCRAM-SHA-512", "secret", b"salt", 8192))
    described = await client.ask(DescribeUserScramCredentialsRequest(users=None), 0)
    assert [(one.user, one.credential_infos[0].mechanism) for one in described.results] == [("alice", 2)]
