"""Requests of security for the test of every version."""

from gralha.protocol.apis import ApiKey
from gralha.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from gralha.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from gralha.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from gralha.protocol.messages.sasl_handshake import SaslHandshakeRequest

REQUESTS = {
    ApiKey.SASL_HANDSHAKE: lambda version, _: SaslHandshakeRequest(mechanism="PLAIN"),
    ApiKey.SASL_AUTHENTICATE: lambda version, _: SaslAuthenticateRequest(auth_bytes=b"\0a\0b"),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda version, _: DescribeUserScramCredentialsRequest(
        users=[UserName(name="nobody")]
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda version, _: AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name="nobody", mechanism=1)],
        upsertions=[ScramCredentialUpsertion("alice", 2, 4096, b"salt", b"salted")],
    ),
}
